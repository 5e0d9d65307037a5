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

/** The answer to a ping. */
export interface ToldLife {
  readonly kind: "pong";
}

/** The next binary messages are one frame of so many bytes. Some clients take no message of a hundred megabytes. */
export interface LongFrame {
  readonly kind: "long";
  readonly bytes: number;
}

/** Bytes of a message at most; longer frames are cut. */
const PIECE = 16 * 1024 * 1024;

/** A message of either side. */
export type WireMessage = Hello | Welcome | ToldTrouble | ToldLife | LongFrame | ToSession | FromSession;

/** A message as it is sent: in one piece, or a long frame in several. */
export function toWire(message: unknown): (string | Uint8Array<ArrayBuffer>)[] {
  if (!(message instanceof Uint8Array)) return [stringify(message)];
  const frame = message as Uint8Array<ArrayBuffer>;
  if (frame.length <= PIECE) return [frame];
  const pieces = Array.from({ length: Math.ceil(frame.length / PIECE) }, (_, i) => frame.subarray(i * PIECE, (i + 1) * PIECE));
  return [stringify({ kind: "long", bytes: frame.length } satisfies LongFrame), ...pieces];
}

/** A message that came; a frame has bytes of its own. @throws If it is none. */
export function fromWire(data: string | Uint8Array): WireMessage | Uint8Array {
  if (typeof data !== "string") return data;
  const message: unknown = parse(data);
  if (typeof message !== "object" || message === null || typeof (message as WireMessage).kind !== "string") throw new Error("It is no message.");
  return message as WireMessage;
}

/** Reads what comes on a socket, and puts long frames together again. */
export class Incoming {
  private frame: Uint8Array | undefined;
  private at = 0;

  /** `most`: bytes of the longest frame that is taken. */
  constructor(private readonly most: number) {}

  /** Takes what came. Gives `undefined` where more of a frame comes. @throws If it is no message, or a piece is not of its frame. */
  take(data: string | Uint8Array): WireMessage | Uint8Array | undefined {
    const message = fromWire(data);
    if (!(message instanceof Uint8Array)) {
      if (message.kind !== "long") return message;
      if (!(message.bytes <= this.most)) throw new Error("The frame is too long.");
      [this.frame, this.at] = [new Uint8Array(message.bytes), 0];
      return undefined;
    }
    const { frame } = this;
    if (frame === undefined) return message;
    frame.set(message, this.at);
    this.at += message.length;
    if (this.at < frame.length) return undefined;
    this.frame = undefined;
    return frame;
  }
}
