/** What a port serves. */

/** A request that has come as a whole. */
export interface ServiceRequest {
  readonly method: string;
  /** The absolute URL, encoded. */
  readonly url: string;
  /** Names and values, as they came. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** Its answer. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | Uint8Array;
}

/** Why the server itself refuses a request. */
export type RefusalReason = "host" | "target" | "tooLong" | "failed" | "closed" | "late" | "syntax" | "headers";

/** The texts and statuses of refusals. */
export const REFUSALS: Readonly<Record<RefusalReason, readonly [status: number, text: string]>> = {
  host: [403, "The server does not answer for this host or for pages of this origin. 'tabstore serve --allow-host NAME' lets it."],
  target: [400, "The target of the request is no path."],
  tooLong: [413, "The size of POST data is too large."],
  failed: [500, "Internal server error."],
  closed: [503, "Server is not available."],
  late: [408, "The request has not come in time."],
  syntax: [400, "The request is no HTTP."],
  headers: [431, "The headers of the request are too long."],
};

/** A protocol behind a port. */
export interface Service {
  /** Its name in the lines of `--verbose`. */
  readonly name: string;
  /** Bytes of the longest body. */
  readonly bodyLimit: number;
  /** Answers a request. @throws Errors of the engine that are no answer, such as `Closed`. */
  answer(request: ServiceRequest): Promise<ServiceAnswer>;
  /** The answer of the server itself, as the clients of the protocol read it. */
  refuse(reason: RefusalReason): ServiceAnswer;
  /** Whether the first bytes of a body that is too long get an answer by {@link answer}, which knows the service's text. */
  readonly answersLongBodies: boolean;
}
