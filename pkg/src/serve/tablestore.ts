/** The port of Table Store. */

import type { Database } from "../index.js";
import { passTableStore } from "../tablestore/door.js";
import { errorAnswer, otherInstance } from "../tablestore/errors.js";
import { REFUSALS, type Service } from "./service.js";

/** Bytes of the longest body that the door takes. */
const BODY = 5 * 1024 * 1024;

/** The codes of Table Store for what the server refuses itself. */
const CODES = {
  host: "OTSNoPermissionAccess",
  target: "OTSParameterInvalid",
  tooLong: "OTSRequestBodyTooLarge",
  failed: "OTSInternalServerError",
  closed: "OTSServerUnavailable",
} as const;

/** The tables of a database. */
export function tablestoreService(db: Database, auth: "signed" | "off"): Service {
  return {
    name: "tablestore",
    bodyLimit: BODY,
    answersLongBodies: false,
    answer: async (request) => otherInstance(request.headers, db.name) ?? passTableStore(db, auth, request),
    refuse(reason) {
      const [status, text] = REFUSALS[reason];
      return errorAnswer(status, CODES[reason], text);
    },
  };
}
