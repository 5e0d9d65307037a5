/**
 * Requests to a door of the engine, and its responses (`src/doors/mod.rs`).
 *
 * ```text
 * request   u8 access: 0 signed, 1 str secret, 2 off | str method | str url | uv headers, each: str name, str value | bytes body
 * response  uv status | uv headers, each: str name, str value | bytes body
 * ```
 */

import { Reader } from "./reader.js";

/** Who may pass: whoever signs the request with a key of the instance, everybody, or whoever has this secret of a key. */
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
  readonly body: Uint8Array;
}

const encoder = /* @__PURE__ */ new TextEncoder();
/** A loop writes texts of up to this many characters: a call of the encoder costs more than the loop, and a request has thirty texts. */
const SHORT = 200;
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

/**
 * Writes a request. Of its body at most `most` bytes, or as many UTF-16 units, are passed: a door refuses longer bodies, whatever they
 * are.
 */
export function writeDoorRequest(access: Access, { method, url, headers, body = "" }: DoorRequest, most: number): Uint8Array {
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
  if (typeof body === "string") bytes.text(body.slice(0, most));
  else bytes.binary(body.subarray(0, most));
  return bytes.finish();
}

/** Reads a response. Its body lies in `bytes`. */
export function readDoorResponse(bytes: Uint8Array): DoorResponse {
  const reader = new Reader(bytes);
  const status = reader.uv();
  const headers: (readonly [string, string])[] = [];
  for (let left = reader.uv(); left > 0; left--) headers.push([reader.str(), reader.str()]);
  return { status, headers, body: reader.binary() };
}
