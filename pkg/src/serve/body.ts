/** The body of a request, with a limit. */

import type { IncomingMessage } from "node:http";

/** A body that came, and whether it is all of it. */
export interface Body {
  readonly bytes: Buffer;
  /** It is longer than the limit: these are its first bytes, and one more than the limit. */
  readonly isTooLong: boolean;
}

/** The bytes that a request says it has; `undefined` where it does not say. */
export function toldLength({ headers }: IncomingMessage): number | undefined {
  const told = headers["content-length"];
  if (told !== undefined) return Number(told);
  return headers["transfer-encoding"] === undefined ? 0 : undefined;
}

/** Reads a body of up to `limit` bytes. Gives `undefined` if the connection ended before. */
export function readBody(request: IncomingMessage, limit: number): Promise<Body | undefined> {
  return new Promise((resolve) => {
    // While it waited for room nobody heard that it ended.
    if (request.destroyed) {
      resolve(undefined);
      return;
    }
    const pieces: Buffer[] = [];
    let length = 0;
    request.on("data", (piece: Buffer) => {
      pieces.push(piece);
      length += piece.length;
      if (length <= limit) return;
      // The rest is thrown away: a client that is still writing would not read an answer.
      request.removeAllListeners("data").resume();
      resolve({ bytes: Buffer.concat(pieces).subarray(0, limit + 1), isTooLong: true });
    });
    request.on("end", () => resolve({ bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), isTooLong: false }));
    request.on("close", () => resolve(undefined));
    request.on("error", () => resolve(undefined));
  });
}
