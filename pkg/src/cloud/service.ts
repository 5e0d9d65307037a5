/** Requests to the service over HTTP, and its answers. It knows no operation but by its name. */

import { abortReason, whenAborted } from "../client/signals.js";
import { TabStoreError } from "../types/errors.js";
import { damaged, ofWrite, unreachable } from "./errors.js";
import { ServiceError } from "./messages.js";
import { decode, encode, type Fields, type Message } from "./protobuf.js";
import { mayRepeat, type Retry } from "./retry.js";
import { authorizationOf, md5Of, signed, type Signer } from "./sign.js";
import type { Credentials, Fetch } from "./types.js";

/** Operations that may be done twice. */
const REPEATABLE = new Set([
  "ListTable",
  "DescribeTable",
  "ComputeSplitPointsBySize",
  "GetRow",
  "BatchGetRow",
  "GetRange",
  "ListStream",
  "DescribeStream",
  "GetShardIterator",
  "GetStreamRecord",
]);
/** The headers of an answer that its signature needs. */
const NEEDED = ["x-ots-contentmd5", "x-ots-requestid", "x-ots-date", "x-ots-contenttype"];

/** What a service needs to know. */
export interface ServiceOptions {
  readonly endpoint: string;
  readonly instance: string;
  readonly region: string | undefined;
  readonly credentials: () => Credentials | Promise<Credentials>;
  readonly fetch: Fetch;
  readonly timeout: number;
  readonly retry: Retry;
  readonly verify: "visible" | "always" | "never";
}

/** An answer as it came. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Waits, unless the signal aborts first. */
export function pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const timer = setTimeout(() => {
      end();
      resolve();
    }, delay);
    const end = whenAborted(signal, () => {
      clearTimeout(timer);
      reject(abortReason(signal!));
    });
  });
}

/** An instance of the service. */
export class Service {
  /** How much later its clock is than this one, in milliseconds, at least and at most. A guess until an answer tells: a page may not see it. */
  private ahead = [-5000, 5000];

  /** `options` are checked. */
  constructor(private readonly options: ServiceOptions) {}

  /** The time at the service, by its clock, as its last answer told it, milliseconds since 1970 UTC: the earliest that it may be (0), or the latest (1). */
  now(end: 0 | 1): number {
    return Date.now() + this.ahead[end];
  }

  /** The rules for retries. */
  get retry(): Retry {
    return this.options.retry;
  }

  /** Calls an operation, again and again as the rules for retries say, and gives its answer. */
  async call<Q extends Message, A extends Message>(
    operation: string,
    question: Q,
    request: Fields<Q>,
    answer: A,
    signal: AbortSignal | undefined,
  ): Promise<Fields<A>> {
    const body = encode(question, request);
    for (let tries = 1; ; tries++) {
      try {
        return decode(answer, await this.once(operation, body, signal));
      } catch (error) {
        const repeatable = REPEATABLE.has(operation);
        const delay = error instanceof TabStoreError ? this.options.retry.delay(error, tries, repeatable) : undefined;
        if (delay === undefined) throw repeatable ? error : ofWrite(error);
        await pause(delay, signal);
      }
    }
  }

  /** Asks once. */
  private async once(operation: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { credentials, instance, region, verify } = this.options;
    const signer: Signer = { ...(await credentials()), region };
    const path = `/${operation}`;
    const sent = new Date();
    const date = sent.toISOString();
    const headers = await signed(path, body, instance, signer, date);
    // The caller already has the signal's reason, and takes it that nothing is sent from now on.
    if (signal?.aborted) throw abortReason(signal);
    const answer = await this.exchange(operation, { method: "POST", headers, body }, signal);
    const time = Date.parse(answer.headers.get("x-ots-date") ?? "");
    // It was made at some moment between the two.
    if (!Number.isNaN(time)) this.ahead = [time - Date.now(), time - +sent];
    // Who is not known has no key that could sign.
    if (verify !== "never" && answer.status !== 403) await this.check(path, answer, signer, date);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw this.failure(operation, answer);
  }

  /** Sends a request and reads the answer, unless that takes too long or the signal aborts. */
  private async exchange(operation: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Answer> {
    const { endpoint, fetch, timeout } = this.options;
    const control = new AbortController();
    const end = whenAborted(signal, () => control.abort());
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      control.abort();
    }, timeout);
    try {
      const options: RequestInit = { ...init, signal: control.signal, credentials: "omit", cache: "no-store", redirect: "error" };
      const response = await fetch(`${endpoint}/${operation}`, options);
      return { status: response.status, headers: response.headers, body: new Uint8Array(await response.arrayBuffer()) };
    } catch (cause) {
      if (signal?.aborted) throw abortReason(signal);
      const done = REPEATABLE.has(operation) ? "" : " It is unknown whether the call was done.";
      if (isLate)
        throw unreachable(`The service did not answer ${operation} within ${timeout} ms.${done}`, "The option 'timeout' of connect is this time.", { cause });
      throw unreachable(
        `The service cannot be reached at ${endpoint}: ${cause instanceof Error ? cause.message : String(cause)}.${done}`,
        "In a page the server must also allow the page's origin and the headers of the requests (CORS).",
        { cause },
      );
    } finally {
      clearTimeout(timer);
      end();
    }
  }

  /** Checks MD5 and signature of an answer. */
  private async check(path: string, { status, headers, body }: Answer, signer: Signer, date: string): Promise<void> {
    const demanded = this.options.verify === "always" && status < 300;
    const missing = [...NEEDED, "authorization"].find((name) => !headers.has(name));
    if (missing !== undefined && demanded) throw damaged(`the header ${missing} is missing`);
    const sum = headers.get("x-ots-contentmd5");
    if (sum !== null && sum !== (await md5Of(body))) throw damaged("its body does not match its MD5");
    if (missing === undefined && headers.get("authorization") !== (await authorizationOf(path, headers, signer, date))) throw damaged("its signature is wrong");
  }

  /** The error of an answer. */
  private failure(operation: string, { status, headers, body }: Answer): TabStoreError {
    const requestId = headers.get("x-ots-requestid") ?? headers.get("x-ots-request-id") ?? undefined;
    let code: string | undefined;
    let message: string | undefined;
    try {
      ({ code, message } = decode(ServiceError, body));
    } catch {
      // It is none of the service.
    }
    if (code === undefined || !/^\w+$/.test(code)) {
      return new TabStoreError({
        code: "Unavailable",
        status,
        retryable: status >= 500,
        message: `${this.options.endpoint} answered ${operation} with the status ${status} and no error of the service.`,
        hint: "Is this the endpoint of an instance?",
        requestId,
      });
    }
    return serviceError({ code, message }, status, REPEATABLE.has(operation), requestId);
  }
}

/** An error that the service gives. */
export function serviceError(
  { code = "OTSInternalServerError", message = "" }: Fields<typeof ServiceError>,
  status: number,
  repeatable: boolean,
  requestId?: string,
): TabStoreError {
  const error = { code, status, message, requestId };
  return new TabStoreError({ ...error, retryable: mayRepeat(new TabStoreError({ ...error, retryable: false }), repeatable) });
}
