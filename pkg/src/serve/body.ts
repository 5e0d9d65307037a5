/** The body of a request, with a limit. */

import type { IncomingMessage } from "node:http";

import type { Share } from "./room.js";

/** A body that came, and whether it is all of it. */
export interface Body {
  readonly bytes: Buffer;
  /** It is longer than the limit: these are its first bytes, and one more than the limit. */
  readonly isTooLong: boolean;
}

/** The bytes that a request says its body has; 0 where it does not say. */
export const toldLength = ({ headers }: IncomingMessage): number => Number(headers["content-length"] ?? 0);

/** Reads a body of up to `limit` bytes, as `share` has room for them. Gives `undefined` if the connection ended before. */
export function readBody(request: IncomingMessage, limit: number, share: Share): Promise<Body | undefined> {
  return new Promise((resolve) => {
    const go = (): void => void request.resume();
    if (!share.mayGrow(go)) request.pause();
    const pieces: Buffer[] = [];
    let length = 0;
    request.on("data", (piece: Buffer) => {
      pieces.push(piece);
      length += piece.length;
      share.add(piece.length);
      if (length <= limit) {
        if (!share.mayGrow(go)) request.pause();
        return;
      }
      // The rest is thrown away: a client that is still writing would not read an answer.
      request.removeAllListeners("data").resume();
      resolve({ bytes: Buffer.concat(pieces).subarray(0, limit + 1), isTooLong: true });
    });
    request.on("end", () => resolve({ bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), isTooLong: false }));
    request.on("close", () => resolve(undefined));
    request.on("error", () => resolve(undefined));
  });
}
