/** Bytes as texts of base64. */

/** Arguments of one call: a function with many more may overflow the stack. */
const PIECE = 0x8000;

/** Bytes in base64. */
export function toBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE) pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  return btoa(pieces.join(""));
}

/** The bytes of a text in base64. Throws for another text. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
