/** Requests to the engine's door of the Azure Table service, and its responses. */

import { BesideChecks } from "../beside.js";
import { type Access, type DoorRequest, readDoorResponse, writeDoorRequest } from "../codec/door.js";
import type { Database } from "../index.js";

export type { Access, DoorRequest } from "../codec/door.js";

/** The names of the methods that pass bytes to the engine and back, and that list tables. All entries know them by this. */
const PASS = Symbol.for("tabstore.azure");
const LIST = Symbol.for("tabstore.foreign");

/** The database as this entry uses it. */
interface Passing {
  [PASS](request: Uint8Array, options?: { readonly signal?: AbortSignal | undefined }): Promise<Uint8Array>;
  [LIST](options?: { readonly signal?: AbortSignal | undefined }): Promise<string[]>;
}

/** A response. */
export interface DoorResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const decoder = /* @__PURE__ */ new TextDecoder();
/** More of a body need not be passed. */
const BODY = 4 * 1024 * 1024 + 1;

/** The door of a database. */
export class Door extends BesideChecks {
  /** Opens it for those who have this access. */
  constructor(
    db: Database,
    private readonly access: Access,
  ) {
    super(db);
  }

  /** Passes a request. */
  async pass(request: DoorRequest, signal?: AbortSignal): Promise<DoorResponse> {
    const bytes = await (this.db as unknown as Passing)[PASS](writeDoorRequest(this.access, request, BODY), { signal });
    const { status, headers, body } = readDoorResponse(bytes);
    return { status, headers, body: body.length === 0 ? "" : decoder.decode(body) };
  }

  /** The names of all tables of accounts: `account/table`. */
  tables(options: { readonly signal?: AbortSignal | undefined }): Promise<string[]> {
    return (this.db as unknown as Passing)[LIST](options);
  }
}

/** The value of a header. */
export function header(response: DoorResponse, name: string): string | undefined {
  return response.headers.find(([other]) => other.toLowerCase() === name)?.[1];
}
