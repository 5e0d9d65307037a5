/**
 * Sessions of the served instance for pages: the console of the server, and `openRemote` of the package. A page connects by a WebSocket
 * of the console's port, shows an access key with all rights, and has what a tab of the same browser has.
 *
 * Everything is bounded: the connections, the bytes before the key is known, the time until it comes, the bytes of a message, and those
 * that wait for a slow page. A session does not outlive its key.
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import { type RawData, type WebSocket, WebSocketServer } from "ws";

import type { StorageKind } from "../host/host.js";
import { Served } from "../host/serve-session.js";
import type { PortLike } from "../host/session.js";
import type { Database } from "../index.js";
import { newClient } from "../open/options.js";
import type { OpenSession } from "../platform/platform.js";
import { fromWire, type Hello, Incoming, SESSION_PATH, type ToldLife, type ToldTrouble, toWire, type Welcome } from "../remote/wire.js";
import { PROTOCOL } from "../tabs/channel.js";
import { local, toRecord } from "../types/errors.js";
import { isKnownOrigin } from "./hosts.js";

/** Pages that may be connected. */
const CONNECTIONS = 256;
/** Milliseconds that a page has to show its key. */
const HELLO_MS = 10_000;
/** Bytes that may come before the key is known. */
const HELLO_BYTES = 16 * 1024;
/** Milliseconds before a wrong key is answered, since nobody shall try many; and then until the connection is cut off. */
const REFUSED_MS = 500;
/** Bytes of the longest message: rows of a bulk load come in pieces far below. */
const MESSAGE_BYTES = 64 * 1024 * 1024;
/** Bytes that may wait for a page: more than any page asks for at once. One that does not read gives no sign of life, either. */
const WAITING_BYTES = 512 * 1024 * 1024;
/** Milliseconds between two looks at the sessions. A page that was silent for two of them is cut off, and so is one whose key has gone. */
const LOOK_MS = 30_000;

/** What the sessions need to know of the server. */
export interface SessionsOptions {
  readonly isKnownHost: (host: string | undefined) => boolean;
  readonly isKnownPage: (host: string | undefined) => boolean;
  /** Refuses a key that does not have all rights. @throws With the code of the service. */
  readonly checkKey: (id: string, secret: string) => Promise<void>;
  /** Something that went wrong in the server itself. */
  readonly report: (error: unknown) => void;
  /** Milliseconds between two looks at the sessions, for tests. */
  readonly lookMs?: number;
}

/** The bytes of a message, as the engine's side takes them: a slice of a `Buffer` would be no copy. */
function bytesOf(data: RawData): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as Buffer;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A page's socket, as a port. */
class SocketPort implements PortLike {
  onmessage: ((event: MessageEvent) => void) | null = null;

  constructor(private readonly socket: WebSocket) {}

  postMessage(message: unknown): void {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return;
    for (const piece of toWire(message)) socket.send(piece);
    if (socket.bufferedAmount > WAITING_BYTES) socket.terminate();
  }

  close(code = 1001): void {
    this.socket.close(code);
  }
}

/** See the top of the file. */
export class Sessions {
  private readonly server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES });
  private readonly sessions = new Map<SocketPort, { readonly served: Served; readonly hello: Hello }>();
  /** How many looks each page has been silent for. */
  private readonly silent = new WeakMap<WebSocket, number>();
  /** The trouble that all pages should know of. */
  private trouble: ToldTrouble["error"] = null;
  private readonly timer: NodeJS.Timeout;
  private isStopping = false;
  private readonly open: OpenSession;

  /** Serves sessions of an instance of Node's entry. */
  constructor(
    private readonly db: Database,
    private readonly options: SessionsOptions,
  ) {
    this.open = (db as unknown as Record<symbol, OpenSession>)[Symbol.for("tabstore.session")]!;
    db.addEventListener("health", ({ healthy, error }) => {
      // Of its end each session hears by itself.
      if (!healthy) return;
      this.trouble = error && toRecord(error);
      for (const port of this.sessions.keys()) port.postMessage({ kind: "trouble", error: this.trouble } satisfies ToldTrouble);
    });
    this.timer = setInterval(() => this.look(), options.lookMs ?? LOOK_MS);
    this.timer.unref();
  }

  /** Cuts off who gives no sign of life, and whose key may not do everything any more. */
  private look(): void {
    for (const socket of this.server.clients) {
      const silent = this.silent.get(socket) ?? 0;
      this.silent.set(socket, silent + 1);
      if (silent < 2) socket.ping();
      else socket.terminate();
    }
    for (const [port, { hello }] of this.sessions) void this.checkKey(hello).catch(() => port.close(1008));
  }

  private checkKey({ accessKeyId, accessKeySecret }: Hello): Promise<void> {
    return this.options.checkKey(String(accessKeyId), String(accessKeySecret));
  }

  /** Why a request gets no WebSocket: the status of the answer. */
  private refusal({ url, headers }: IncomingMessage): string | undefined {
    const { isKnownHost, isKnownPage } = this.options;
    if (!isKnownHost(headers.host) || !isKnownOrigin(headers.origin, isKnownPage)) return "403 Forbidden";
    if (url !== `/${SESSION_PATH}`) return "404 Not Found";
    return this.isStopping || this.server.clients.size >= CONNECTIONS ? "503 Service Unavailable" : undefined;
  }

  /** Takes a request to become a WebSocket. */
  upgrade(request: IncomingMessage, tcp: Duplex, head: Buffer): void {
    tcp.on("error", () => tcp.destroy());
    const refusal = this.refusal(request);
    if (refusal !== undefined) {
      tcp.end(`HTTP/1.1 ${refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () => tcp.destroy());
      return;
    }
    this.server.handleUpgrade(request, tcp, head, (socket) => {
      socket.on("error", () => socket.terminate());
      const hear = (): void => void this.silent.set(socket, 0);
      socket.on("pong", hear).on("message", hear);
      void this.serve(socket, tcp as Socket).catch((error: unknown) => {
        this.options.report(error);
        socket.terminate();
      });
    });
  }

  /** The first message of a page; `undefined` if it says something else, too much or nothing. */
  private hello(socket: WebSocket, tcp: Socket): Promise<Hello | undefined> {
    return new Promise((resolve) => {
      const end = (hello?: Hello): void => {
        clearTimeout(timer);
        // More is read when the key is known.
        if (socket.readyState === socket.OPEN) socket.pause();
        tcp.off("data", weigh);
        socket.off("message", take).off("close", leave);
        resolve(hello);
      };
      const leave = (): void => end();
      const before = tcp.bytesRead;
      const weigh = (): void => {
        if (tcp.bytesRead - before > HELLO_BYTES) end();
      };
      const take = (data: RawData, isBinary: boolean): void => {
        try {
          const message = isBinary ? undefined : fromWire(String(data));
          end(message !== undefined && !(message instanceof Uint8Array) && message.kind === "hello" ? message : undefined);
        } catch {
          end();
        }
      };
      const timer = setTimeout(end, HELLO_MS);
      tcp.on("data", weigh);
      socket.on("message", take).on("close", leave);
    });
  }

  /** Refuses a page of another release, and a wrong key. */
  private async check(hello: Hello): Promise<void> {
    const { protocol } = hello;
    if (protocol !== PROTOCOL) throw local("Unavailable", "The page and the server are of different releases of TabStore: take the same one for both.");
    try {
      await this.checkKey(hello);
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
      throw error;
    }
  }

  private async serve(socket: WebSocket, tcp: Socket): Promise<void> {
    const hello = await this.hello(socket, tcp);
    if (hello === undefined) return socket.terminate();
    const port = new SocketPort(socket);
    const served = new Served(port);
    const client = newClient();
    try {
      await this.check(hello);
      await served.open(async (onResponses) => {
        const session = await this.open(client, onResponses);
        // A page that does not know the frames of this release ends nobody else's session.
        session.onWrongFrame = () => socket.close(1008);
        return session;
      });
    } catch (error) {
      port.postMessage({ kind: "refused", error: toRecord(error) } satisfies Welcome);
      port.close(1008);
      setTimeout(() => socket.terminate(), REFUSED_MS);
      return;
    }
    const leave = (): void => {
      this.sessions.delete(port);
      served.end().catch(this.options.report);
    };
    if (socket.readyState !== socket.OPEN) return leave();
    this.sessions.set(port, { served, hello });
    socket.on("close", leave);
    served.onLeave = () => socket.close(1000);
    served.onPing = () => port.postMessage({ kind: "pong" } satisfies ToldLife);
    const incoming = new Incoming(MESSAGE_BYTES);
    socket.on("message", (data, isBinary) => {
      try {
        this.take(served, incoming.take(isBinary ? bytesOf(data) : String(data)));
      } catch {
        // A page that sends nonsense is cut off.
        socket.close(1008);
      }
    });
    port.postMessage({ kind: "welcome", name: this.db.name, storage: this.db.persistence as StorageKind, client } satisfies Welcome);
    if (this.trouble !== null) port.postMessage({ kind: "trouble", error: this.trouble } satisfies ToldTrouble);
    socket.resume();
  }

  /** Takes a message of a session. @throws If it is for no session. */
  private take(served: Served, message: ReturnType<Incoming["take"]>): void {
    if (message === undefined) return;
    if (!(message instanceof Uint8Array) && message.kind !== "call" && message.kind !== "ping" && message.kind !== "leave")
      throw new Error("It is no message of a session.");
    served.take(message);
  }

  /** Takes no more pages, and ends the sessions once their calls on rows are answered. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.isStopping = true;
    await Promise.all(
      [...this.sessions].map(async ([port, { served }]) => {
        await served.end().catch(this.options.report);
        port.close();
      }),
    );
  }

  /** Ends the connections that are left. */
  end(): void {
    for (const socket of this.server.clients) socket.terminate();
  }
}
