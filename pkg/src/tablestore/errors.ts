/** Errors of the protocol that are made before the door: `Error { required string code = 1; optional string message = 2 }`. */

import type { DoorResponse } from "../codec/door.js";

const encoder = /* @__PURE__ */ new TextEncoder();

/** A text field of a message. */
function field(number: number, text: string): number[] {
  const bytes = encoder.encode(text);
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return [(number << 3) | 2, ...length, rest, ...bytes];
}

/** An answer with an error. Clients read a body of any other kind as an error without a code. */
export function errorAnswer(status: number, code: string, message: string): DoorResponse {
  const headers = [
    ["x-ots-requestid", crypto.randomUUID()],
    ["x-ots-contenttype", "protocol buffer"],
  ] as const;
  return { status, headers, body: Uint8Array.from([...field(1, code), ...field(2, message)]) };
}

/**
 * The answer to a request that names another instance than `name`, in any case [I2]; `undefined` if it names this one, or none, which the
 * door refuses.
 */
export function otherInstance(headers: Iterable<readonly [string, string]>, name: string): DoorResponse | undefined {
  for (const [header, value] of headers) {
    if (header.toLowerCase() !== "x-ots-instancename") continue;
    if (value.toLowerCase() !== name.toLowerCase()) return errorAnswer(403, "OTSAuthFailed", "The instance is not found.");
  }
  return undefined;
}
