/**
 * A port of the server: HTTP in front of a service.
 *
 * Everything is bounded. A request has a time to come in and its answer a time to go out, a body has a limit, a connection has few
 * requests at a time, and the server holds so many bytes of bodies and so many calls. Whoever finds it full waits.
 */

import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { brokenReason, endBroken } from "./broken.js";
import { readBody, toldLength } from "./body.js";
import { isKnownOrigin } from "./hosts.js";
import { ByteRoom, Room } from "./room.js";
import type { RefusalReason, Service, ServiceAnswer } from "./service.js";

/** The path that tells whether the server runs. No operation and no account is called so. */
export const HEALTH = "/_health";

/** Connections of a port. More of them are dropped. */
const CONNECTIONS = 1024;
/** Requests of one connection that may wait for their answers. A client that sends more without reading is cut off. */
const PIPELINED = 16;
/** How long an idle connection is kept: some clients fail if one is closed just as they use it. */
const IDLE_MS = 600_000;
/** How long an answer may take on its way to a slow reader. */
const ANSWER_MS = 120_000;
/** Bytes of bodies that have come, and calls, of all ports together. The door bounds an answer: one of `BatchGetRow` has up to some 16 MB. */
const BODY_BYTES = 64 * 1024 * 1024;
const CALLS = 64;

/** What the ports of a server share. */
export class Limits {
  readonly bodies = new ByteRoom(BODY_BYTES);
  readonly calls = new Room(CALLS);

  /** With a time in which a request must have come, in milliseconds. */
  constructor(readonly requestTimeoutMs: number) {}
}

/** How a port looks at its requests. */
export interface PortOptions {
  readonly limits: Limits;
  /** Whether a `Host` header names this server. */
  readonly isKnownHost: (host: string | undefined) => boolean;
  /** Whether pages of a host may send requests. */
  readonly isKnownPage: (host: string | undefined) => boolean;
  /** Whether the database is well. */
  readonly isHealthy: () => boolean;
  /** Gets a line about each request. */
  readonly log: ((line: string) => void) | undefined;
  /** Gets what went wrong in the server itself. */
  readonly report: (error: unknown) => void;
}

/** Headers as pairs. */
function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at]!, raw[at + 1]!]);
  return pairs;
}

/** What a line may show of a target: no query, which can hold a signature, and nothing that a terminal would obey. */
const shownPath = (target: string): string =>
  target
    .replace(/\?.*$/s, "")
    .replace(/[^\x21-\x7e]/g, "?")
    .slice(0, 200);

/** A port that serves. */
export class Port {
  private readonly server: Server;
  /** The requests of each connection whose answers are not sent yet. */
  private readonly pending = new WeakMap<Socket, Map<ServerResponse, IncomingMessage>>();
  private isStopping = false;

  /** Takes what it serves. */
  constructor(
    private readonly service: Service,
    private readonly options: PortOptions,
  ) {
    const { requestTimeoutMs } = options.limits;
    this.server = http.createServer(
      {
        requestTimeout: requestTimeoutMs,
        headersTimeout: requestTimeoutMs,
        keepAliveTimeout: IDLE_MS,
        connectionsCheckingInterval: Math.min(1000, requestTimeoutMs / 2),
        noDelay: true,
      },
      (request, response) => void this.serve(request, response),
    );
    this.server.maxConnections = CONNECTIONS;
    // Node's own answers have no body, and clients read an error without a code.
    this.server.on("clientError", (error, socket) =>
      endBroken(socket as Socket, this.pending.get(socket as Socket) ?? new Map(), service.refuse(brokenReason(error))),
    );
  }

  /** Begins to listen. Gives the port. @throws If it is taken. */
  async listen(host: string, port: number): Promise<number> {
    await listen(this.server, host, port);
    return (this.server.address() as AddressInfo).port;
  }

  /** Takes no more connections and requests. Those that have come as a whole are answered. */
  stop(): void {
    this.isStopping = true;
    this.server.close();
  }

  /** Ends the connections that are left. */
  end(): void {
    this.server.closeAllConnections();
  }

  /** Answers a request, whatever happens. */
  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const begin = performance.now();
    const { socket } = request;
    const pending = this.pending.get(socket) ?? new Map<ServerResponse, IncomingMessage>();
    if (pending.size >= PIPELINED) {
      socket.destroy();
      return;
    }
    this.pending.set(socket, pending.set(response, request));
    response.on("close", () => pending.delete(response));
    if (this.options.log !== undefined) response.on("close", () => this.tell(request, response, begin));
    const target = request.url ?? "/";
    const reason = this.refusal(request, target);
    if (reason !== undefined) this.send(request, response, this.service.refuse(reason));
    else if (target === HEALTH && (request.method === "GET" || request.method === "HEAD")) this.send(request, response, this.health());
    else await this.pass(request, response, target);
  }

  /** Why a request is refused before its body is read. */
  private refusal({ headers }: IncomingMessage, target: string): RefusalReason | undefined {
    const { isKnownHost, isKnownPage } = this.options;
    if (!isKnownHost(headers.host) || !isKnownOrigin(headers.origin, isKnownPage)) return "host";
    return target.startsWith("/") ? undefined : "target";
  }

  private health(): ServiceAnswer {
    const isHealthy = this.options.isHealthy() && !this.isStopping;
    const body = `${JSON.stringify({ status: isHealthy ? "ok" : "unavailable" })}\n`;
    return {
      status: isHealthy ? 200 : 503,
      headers: [
        ["Content-Type", "application/json"],
        ["Cache-Control", "no-store"],
      ],
      body,
    };
  }

  /** Reads the body, and passes the request to the service. */
  private async pass(request: IncomingMessage, response: ServerResponse, target: string): Promise<void> {
    const { limits } = this.options;
    const { bodyLimit, answersLongBodies } = this.service;
    if (toldLength(request) > bodyLimit && !answersLongBodies) {
      this.send(request, response, this.service.refuse("tooLong"));
      return;
    }
    const held = limits.bodies.begin();
    try {
      const body = await readBody(request, bodyLimit, held);
      // The client has left, or it was too slow.
      if (body === undefined) return;
      if (body.isTooLong && !answersLongBodies) this.send(request, response, this.service.refuse("tooLong"));
      else await this.call(request, response, target, body.bytes);
    } finally {
      held.leave();
    }
  }

  /** Calls the service. A call has its place until the engine has done it and its answer has been sent. */
  private async call(request: IncomingMessage, response: ServerResponse, target: string, body: Buffer): Promise<void> {
    const place = await this.options.limits.calls.enter();
    let answer: ServiceAnswer;
    try {
      const url = `http://${request.headers.host}${target}`;
      answer = await this.service.answer({ method: request.method ?? "GET", url, headers: pairsOf(request.rawHeaders), body });
    } catch (error) {
      const isClosed = (error as { code?: unknown }).code === "Closed";
      if (!isClosed) this.options.report(error);
      answer = this.service.refuse(isClosed ? "closed" : "failed");
    }
    if (response.closed) {
      place.leave();
      return;
    }
    response.on("close", () => place.leave());
    this.send(request, response, answer);
  }

  /** Sends an answer. What is left of the request's body is thrown away as it comes. */
  private send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: ServiceAnswer): void {
    const all = headers.flat();
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    if (!headers.some(([name]) => name.toLowerCase() === "content-length")) all.push("Content-Length", String(length));
    if (this.isStopping) all.push("Connection", "close");
    const late = setTimeout(() => request.socket.destroy(), ANSWER_MS);
    response.on("close", () => clearTimeout(late));
    response.writeHead(status, all);
    response.end(request.method === "HEAD" ? undefined : body);
  }

  private tell(request: IncomingMessage, response: ServerResponse, begin: number): void {
    const { method, url = "", socket } = request;
    const status = response.writableFinished ? response.statusCode : "cut";
    const ms = (performance.now() - begin).toFixed(1);
    this.options.log?.(`${new Date().toISOString()} ${this.service.name} ${socket.remoteAddress ?? "-"} ${method} ${shownPath(url)} ${status} ${ms} ms`);
  }
}

/** Begins to listen. @throws An error that says what to do, if the port is taken. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new Error(`The port ${port} of ${host} is taken: choose another one.`) : error),
    );
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}
