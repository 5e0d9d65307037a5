/** The public types of a connection to the Table Store service. */

import type { CallOptions, RetryOptions } from "../types/rows.js";

/** An access key, with which requests are signed. */
export interface Credentials {
  /** Its id. */
  readonly accessKeyId: string;
  /** Its secret. It is used here, and never sent. */
  readonly accessKeySecret: string;
  /** The token of a temporary access key, as a security token service gives it. */
  readonly stsToken?: string | undefined;
}

/**
 * An access key, or a function that gives one. It is called before each request, so that a temporary access key can be replaced before it
 * expires: keep the key, and ask for the next one in time. What it throws rejects the call.
 */
export type CredentialsSource = Credentials | (() => Credentials | Promise<Credentials>);

/** What sends a request: `fetch`, or a function that behaves like it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The options of `connect`. */
export interface ConnectOptions extends CallOptions {
  /** The instance. By default the first label of the endpoint's host, as in `https://demo.cn-hangzhou.ots.aliyuncs.com`. */
  readonly instanceName?: string | undefined;
  /**
   * The region, as in `cn-hangzhou`: with it requests are signed by V4 (HMAC-SHA256, a key for one day and region), without it by V2
   * (HMAC-SHA1). Both are the service's.
   */
  readonly region?: string | undefined;
  /** What sends the requests; default the host's own `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The longest that one try of a call may take, in milliseconds; default 30,000. It rejects with `Unavailable`. */
  readonly timeout?: number | undefined;
  /**
   * Retries, as the service's own SDKs do them; `false`: none. By default at most 20 after the first try. The first wait is up to
   * `minDelay`, 200 ms (500 ms if the service is throttling), and doubles up to `maxDelay`, 3000 ms; a random part of up to a half is
   * taken off.
   *
   * Every call is tried again when the service refused it with nothing stored: `OTSRowOperationConflict`, `OTSNotEnoughCapacityUnit`,
   * `OTSTableNotReady`, `OTSPartitionUnavailable`, `OTSServerBusy`, `OTSOperationThrottled` and their like. Reads and descriptions are
   * also tried again after `OTSTimeout`, `OTSInternalServerError`, `OTSServerUnavailable`, the statuses 500, 502 and 503, a lost
   * connection, and a damaged answer. A write is not: it may have been done.
   */
  readonly retry?: RetryOptions | false | undefined;
  /** How integers are read, as in `open`: `"auto"` (the default) or always as `"bigint"`. */
  readonly integers?: "auto" | "bigint" | undefined;
  /**
   * Whether the signature and the MD5 of answers are checked. `"visible"` (the default): where their headers can be seen. A page sees only
   * those that the server allows it to see. `"always"`: an answer without them is refused. `"never"`.
   */
  readonly verify?: "visible" | "always" | "never" | undefined;
  /** The wait between two looks for new records of a stream, in milliseconds; default 1000. */
  readonly pollInterval?: number | undefined;
  /** Cancels connecting: with a schema that takes some calls. Later it does nothing. */
  readonly signal?: AbortSignal | undefined;
}
