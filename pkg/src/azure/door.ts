/**
 * Requests to the engine's door of the Azure Table service, and its responses (`src/doors/mod.rs`).
 *
 * ```text
 * request   u8 access: 0 signed, 1 str secret, 2 off | str method | str url | uv headers, each: str name, str value | bytes body
 * response  uv status | uv headers, each: str name, str value | bytes body
 * ```
 */

import { Beside } from "../beside.js";
import { Reader } from "../codec/reader.js";
import type { Database } from "../index.js";

/** The name of the method that passes bytes to the engine and back. All entries know it by this. */
const PASS = Symbol.for("tabstore.azure");

/** The database as this entry uses it. */
interface Passing {
  [PASS](request: Uint8Array, options?: { readonly signal?: AbortSignal | undefined }): Promise<Uint8Array>;
}

/** Who may pass. */
export type Access = "signed" | "off" | { readonly secret: string };

/** A request. */
export interface DoorRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body?: string | Uint8Array | undefined;
}

/** A response. */
export interface DoorResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The door of a database. */
export class Door extends Beside {
  /** Opens it for those who have this access. */
  constructor(db: Database, private readonly access: Access) {
    super(db);
  }

  /** Passes a request. */
  async pass(request: DoorRequest, signal?: AbortSignal): Promise<DoorResponse> {
    const bytes = await (this.db as unknown as Passing)[PASS](this.write(request), { signal });
    const reader = new Reader(bytes);
    const status = reader.uv();
    const headers: (readonly [string, string])[] = [];
    for (let left = reader.uv(); left > 0; left--) headers.push([reader.str(), reader.str()]);
    return { status, headers, body: decoder.decode(reader.binary()) };
  }

  private write({ method, url, headers, body }: DoorRequest): Uint8Array {
    const parts: Uint8Array[] = [];
    const number = (value: number): void => {
      const bytes: number[] = [];
      for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
      parts.push(Uint8Array.of(...bytes, value));
    };
    const text = (value: string | Uint8Array): void => {
      const bytes = typeof value === "string" ? encoder.encode(value) : value;
      number(bytes.length);
      parts.push(bytes);
    };
    const { access } = this;
    parts.push(Uint8Array.of(access === "signed" ? 0 : access === "off" ? 2 : 1));
    if (typeof access === "object") text(access.secret);
    text(method);
    text(url);
    const all = [...headers];
    number(all.length);
    for (const [name, value] of all) {
      text(name);
      text(value);
    }
    text(body ?? "");
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}

/** The value of a header. */
export function header(response: DoorResponse, name: string): string | undefined {
  return response.headers.find(([other]) => other.toLowerCase() === name)?.[1];
}
