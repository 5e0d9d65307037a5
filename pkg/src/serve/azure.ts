/** The port of Azure tables. */

import { Door } from "../azure/door.js";
import type { Database } from "../index.js";
import { REFUSALS, type Service } from "./service.js";

/** Bytes of the longest body of the service. */
const BODY = 4 * 1024 * 1024;

/** The codes of Azure for what the server refuses itself. */
const CODES = {
  host: "AuthorizationFailure",
  target: "InvalidUri",
  tooLong: "RequestBodyTooLarge",
  failed: "InternalError",
  closed: "ServerBusy",
  late: "OperationTimedOut",
  syntax: "InvalidInput",
  headers: "InvalidHeaderValue",
} as const;

/** The Azure tables of a database. */
export function azureService(db: Database, auth: "signed" | "off"): Service {
  const door = new Door(db, auth);
  return {
    name: "azure",
    bodyLimit: BODY,
    answersLongBodies: true,
    answer: (request) => door.pass(request),
    refuse(reason) {
      const [status, value] = REFUSALS[reason];
      const body = JSON.stringify({ "odata.error": { code: CODES[reason], message: { lang: "en-US", value } } });
      return { status, headers: [["Content-Type", "application/json;odata=minimalmetadata"]], body };
    },
  };
}
