/**
 * Requests to the engine's door of the Azure Table service, and its responses (`src/doors/mod.rs`).
 *
 * ```text
 * request   u8 access: 0 signed, 1 str secret, 2 off | str method | str url | uv headers, each: str name, str value | bytes body
 * response  uv status | uv headers, each: str name, str value | bytes body
 * ```
 */

import { BesideChecks } from "../beside.js";
import { Reader } from "../codec/reader.js";
import type { Database } from "../index.js";

/** The names of the methods that pass bytes to the engine and back, and that list tables. All entries know them by this. */
const PASS = Symbol.for("tabstore.azure");
const LIST = Symbol.for("tabstore.foreign");

/** The database as this entry uses it. */
interface Passing {
  [PASS](request: Uint8Array, options?: { readonly signal?: AbortSignal | undefined }): Promise<Uint8Array>;
  [LIST](options?: { readonly signal?: AbortSignal | undefined }): Promise<string[]>;
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

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();
/** A loop writes texts of up to this many characters: a call of the encoder costs more than the loop, and a request has thirty texts. */
const SHORT = 200;
/** The door refuses longer bodies, whatever they are: more of them need not be passed. In bytes or UTF-16 units, which are as many bytes at least. */
const BODY = 4 * 1024 * 1024 + 1;

/** The bytes of a request, while they are written. */
class Bytes {
  private bytes = new Uint8Array(1024);
  private at = 0;

  private grow(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const larger = new Uint8Array(2 * (this.at + more));
    larger.set(this.bytes);
    this.bytes = larger;
  }

  number(value: number): void {
    this.grow(5);
    for (; value > 127; value >>>= 7) this.bytes[this.at++] = (value & 127) | 128;
    this.bytes[this.at++] = value;
  }

  binary(value: Uint8Array): void {
    this.number(value.length);
    this.grow(value.length);
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  text(value: string): void {
    const { length } = value;
    if (length <= SHORT) {
      const start = this.at;
      this.number(length);
      this.grow(length);
      const { bytes, at } = this;
      let read = 0;
      for (; read < length; read++) {
        const code = value.charCodeAt(read);
        if (code > 127) break;
        bytes[at + read] = code;
      }
      this.at = read === length ? at + length : start;
      if (read === length) return;
    }
    this.binary(encoder.encode(value));
  }

  finish(): Uint8Array {
    return this.bytes.subarray(0, this.at);
  }
}

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
    const bytes = await (this.db as unknown as Passing)[PASS](this.write(request), { signal });
    const reader = new Reader(bytes);
    const status = reader.uv();
    const headers: (readonly [string, string])[] = [];
    for (let left = reader.uv(); left > 0; left--) headers.push([reader.str(), reader.str()]);
    const length = reader.uv();
    reader.need(length);
    return { status, headers, body: length === 0 ? "" : decoder.decode(bytes.subarray(reader.at, reader.at + length)) };
  }

  /** The names of all tables of accounts: `account/table`. */
  tables(options: { readonly signal?: AbortSignal | undefined }): Promise<string[]> {
    return (this.db as unknown as Passing)[LIST](options);
  }

  private write({ method, url, headers, body = "" }: DoorRequest): Uint8Array {
    const { access } = this;
    const bytes = new Bytes();
    bytes.number(access === "signed" ? 0 : access === "off" ? 2 : 1);
    if (typeof access === "object") bytes.text(access.secret);
    bytes.text(method);
    bytes.text(url);
    const all = [...headers];
    bytes.number(all.length);
    for (const [name, value] of all) {
      bytes.text(name);
      bytes.text(value);
    }
    if (typeof body === "string") bytes.text(body.slice(0, BODY));
    else bytes.binary(body.subarray(0, BODY));
    return bytes.finish();
  }
}

/** The value of a header. */
export function header(response: DoorResponse, name: string): string | undefined {
  return response.headers.find(([other]) => other.toLowerCase() === name)?.[1];
}
