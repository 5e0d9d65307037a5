/** The port of Table Store. */

import type { Database } from "../index.js";
import { passTableStore } from "../tablestore/door.js";
import { errorAnswer, otherInstance } from "../tablestore/errors.js";
import { REFUSALS, type Service, type ServiceAnswer, type ServiceRequest } from "./service.js";

/** Bytes of the longest body that the door takes. */
const BODY = 5 * 1024 * 1024;

/** The codes of Table Store for what the server refuses itself. */
const CODES = {
  host: "OTSNoPermissionAccess",
  target: "OTSParameterInvalid",
  tooLong: "OTSRequestBodyTooLarge",
  failed: "OTSInternalServerError",
  closed: "OTSServerUnavailable",
  late: "OTSRequestTimeout",
  syntax: "OTSParameterInvalid",
  headers: "OTSParameterInvalid",
} as const;

/** How long a browser keeps what it is told about other origins, in seconds. */
const KEPT = "600";

/** The value of a header, by its name in lower case. */
const headerOf = ({ headers }: ServiceRequest, name: string): string | undefined => headers.find(([other]) => other.toLowerCase() === name)?.[1];

/** The answer to a browser that asks whether a page may send its request. */
function preflight(request: ServiceRequest, origin: string): ServiceAnswer {
  const headers = [
    ["Access-Control-Allow-Origin", origin],
    ["Access-Control-Allow-Methods", "POST"],
    ["Access-Control-Allow-Headers", headerOf(request, "access-control-request-headers") ?? ""],
    ["Access-Control-Max-Age", KEPT],
    ["Vary", "Origin"],
  ] as const;
  return { status: 204, headers, body: "" };
}

/** The same answer, for a page of another origin. */
const shared = (answer: ServiceAnswer, origin: string): ServiceAnswer => ({
  ...answer,
  headers: [
    ...answer.headers,
    ["Access-Control-Allow-Origin", origin],
    ["Access-Control-Expose-Headers", answer.headers.map(([name]) => name).join(", ")],
    ["Vary", "Origin"],
  ],
});

/** The tables of a database. The service itself knows no pages; those that come here are from a known host, because the port has looked. */
export function tablestoreService(db: Database, auth: "signed" | "off"): Service {
  return {
    name: "tablestore",
    bodyLimit: BODY,
    answersLongBodies: false,
    async answer(request) {
      const origin = headerOf(request, "origin");
      if (origin !== undefined && request.method === "OPTIONS") return preflight(request, origin);
      const answer = otherInstance(request.headers, db.name) ?? (await passTableStore(db, auth, request));
      return origin === undefined ? answer : shared(answer, origin);
    },
    refuse(reason) {
      const [status, text] = REFUSALS[reason];
      return errorAnswer(status, CODES[reason], text);
    },
  };
}
