/** Requests of Table Store's SDKs, as `fetch` has them. */

import { BesideChecks } from "../beside.js";
import type { Database } from "../index.js";
import { passTableStore } from "./door.js";
import { otherInstance } from "./errors.js";
import type { FetchFunction, TablestoreDoorOptions } from "./types.js";

/**
 * A function like `fetch`, whose requests go through the protocol of Table Store to the database, and to no network [I6]. The host
 * of the URL counts for nothing; the path names the operation, as in `/GetRow`, and a header the instance.
 *
 * It resolves with a `Response` for whatever the service would answer, errors too: their status is 400 or more, and their body is
 * the service's error. It rejects if the database cannot answer, as after `close`, and with the reason of the signal if that is
 * aborted; a write may have been done then.
 *
 * @throws `OTSParameterInvalid` for a wrong option.
 * @example
 * ```ts
 * import { tablestoreFetch } from "tabstore/tablestore";
 *
 * const ask = tablestoreFetch(db, { auth: "off" });
 * const response = await ask("http://localhost/ListTable", { method: "POST" });
 * console.log(response.status, new Uint8Array(await response.arrayBuffer()));
 * ```
 */
export function tablestoreFetch(db: Database, options?: TablestoreDoorOptions): FetchFunction {
  const checks = new BesideChecks(db);
  const { auth } = checks.options(options, ["auth"], "tablestoreFetch");
  if (auth !== undefined) checks.check(auth, ["off"], "auth");
  return async (input, init) => {
    const request = new Request(input, init);
    const body = new Uint8Array(await request.arrayBuffer());
    const { method, url, signal } = request;
    const given = [...request.headers];
    const answer = otherInstance(given, db.name) ?? (await passTableStore(db, auth ?? "signed", { method, url, headers: given, body }, signal));
    const headers = answer.headers.map(([name, value]): [string, string] => [name, value]);
    // A view of the answer's bytes would keep all of them.
    return new Response(answer.body.slice(), { status: answer.status, headers });
  };
}
