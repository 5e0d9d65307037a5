/**
 * What a page and a server say to each other on a WebSocket: the messages of a session, as they go to a worker by a port.
 *
 * A frame of requests or responses is a binary message. All else is text. The page speaks first, and says which key it has.
 */

import { parse, stringify } from "devalue";

import type { FromSession, StorageKind, ToSession } from "../host/host.js";
import type { ErrorRecord } from "../types/errors.js";

/** The path of the socket, below the address of the console. */
export const SESSION_PATH = "_session";

/** The page's first message. */
export interface Hello {
  readonly kind: "hello";
  /** The version of the messages: see tabs/channel.ts. */
  readonly protocol: number;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
}

/** The server's answer: a session is open, or why not. */
export type Welcome =
  | { readonly kind: "welcome"; readonly name: string; readonly storage: StorageKind; readonly client: number }
  | { readonly kind: "refused"; readonly error: ErrorRecord };

/** A message of the server that is no answer: there is trouble that does not end the engine, or it is over. */
export interface ToldTrouble {
  readonly kind: "trouble";
  readonly error: ErrorRecord | null;
}

/** A message of either side. */
export type WireMessage = Hello | Welcome | ToldTrouble | ToSession | FromSession;

/** A message as it is sent. */
export const toWire = (message: unknown): string | Uint8Array<ArrayBuffer> =>
  message instanceof Uint8Array ? (message as Uint8Array<ArrayBuffer>) : stringify(message);

/** A message that came; a frame has bytes of its own. @throws If it is none. */
export function fromWire(data: string | Uint8Array): WireMessage | Uint8Array {
  if (typeof data !== "string") return data;
  const message: unknown = parse(data);
  if (typeof message !== "object" || message === null || typeof (message as WireMessage).kind !== "string") throw new Error("It is no message.");
  return message as WireMessage;
}
