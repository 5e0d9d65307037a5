/** Requests that break off before they have come: bad HTTP, headers that are too long, and those that are too slow. */

import { type IncomingMessage, STATUS_CODES, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

import type { RefusalReason, ServiceAnswer } from "./service.js";

/** What Node says of them, by the codes of its errors. All others are of the parser. */
const REASONS: Readonly<Record<string, RefusalReason>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "late",
  HPE_HEADER_OVERFLOW: "headers",
};

/** Why a request broke off. */
export const brokenReason = ({ code }: NodeJS.ErrnoException): RefusalReason => REASONS[code ?? ""] ?? "syntax";

/** An answer as text of HTTP, for a connection that ends with it. */
function bytesOf({ status, headers, body }: ServiceAnswer): Buffer {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const all = [...headers, ["Content-Length", String(bytes.length)], ["Connection", "close"]];
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

/**
 * Ends a connection whose request broke off, with an answer if it can be told whose it is: not while an answer is on its way, nor while an
 * earlier request waits for its own.
 */
export function endBroken(socket: Socket, open: ReadonlyMap<ServerResponse, IncomingMessage>, answer: ServiceAnswer): void {
  const isClear = [...open].every(([response, request]) => open.size === 1 && !response.headersSent && !request.complete);
  if (socket.writable && isClear) socket.write(bytesOf(answer));
  socket.destroy();
}
