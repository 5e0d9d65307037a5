/** A way to the engine's own door of the service, for connections in this process. */

import { Reader } from "../../src/codec/reader.js";
import type { Fetch } from "../../src/cloud/types.js";
import type { Database } from "../../src/index.js";

/** The name of the method that passes a request to the door. */
const PASS = Symbol.for("tabstore.tablestore");
/** Everybody may pass. The answers are signed with the id of the access key as its secret. */
const OFF = 2;
export const DOOR_KEY = { accessKeyId: "testid", accessKeySecret: "testid" };

type Pass = (request: Uint8Array, options?: { readonly signal?: AbortSignal | undefined }) => Promise<Uint8Array>;

const passOf = (db: Database): Pass | undefined => (db as unknown as Readonly<Record<symbol, Pass | undefined>>)[PASS];

/** Whether this build has the door. */
export const hasDoor = (db: Database): boolean => passOf(db) !== undefined;

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

/** Bytes with their length before them. */
const sized = (bytes: Uint8Array): Uint8Array => Buffer.concat([Uint8Array.from(varint(bytes.length)), bytes]);

/** What `connect` takes as its `fetch`: requests go to the door of an instance, without a network. */
export function doorFetch(db: Database): Fetch {
  return async (url, { method, headers, body, signal }) => {
    const all = Object.entries(headers as Readonly<Record<string, string>>);
    const texts = [method!, url].map((text) => sized(Buffer.from(text)));
    const lines = all.flat().map((text) => sized(Buffer.from(text)));
    const request = Buffer.concat([Uint8Array.of(OFF), ...texts, Uint8Array.from(varint(all.length)), ...lines, sized(body as Uint8Array)]);
    const reader = new Reader(await passOf(db)!.call(db, new Uint8Array(request), signal ? { signal } : {}));
    const status = reader.uv();
    const answered: [string, string][] = [];
    for (let left = reader.uv(); left > 0; left--) answered.push([reader.str(), reader.str()]);
    return new Response(reader.binary() as Uint8Array<ArrayBuffer>, { status, headers: answered });
  };
}
