/** The server: an open instance behind the ports of its doors, and the console beside them. */

import { existsSync } from "node:fs";
import http, { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import path from "node:path";

import { CONSOLE, filesOf } from "../console/files.js";
import type { Database } from "../index.js";
import { azureService } from "./azure.js";
import type { Ports, ServeArguments } from "./arguments.js";
import { hostCheck, originCheck } from "./hosts.js";
import { keyCheck } from "./keys.js";
import { Limits, listen, Port, type PortOptions } from "./port.js";
import type { Service } from "./service.js";
import { Sessions } from "./sessions.js";
import { tablestoreService } from "./tablestore.js";

/** A server that runs. */
export interface RunningServer {
  /** Where it listens. */
  readonly ports: Ports;
  /** Answers the calls in flight, and ends. The database stays open. */
  stop(): Promise<void>;
}

/** The service worker of a console that the same address served before, which would show the instances of the browser: it goes. */
const NO_WORKER = `addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) await caches.delete(name);
  await registration.unregister();
  for (const page of await clients.matchAll()) page.navigate(page.url);
})()));
`;

/** The console's page, which shows the instance of this server. */
const pageOf =
  (instance: string) =>
  (html: string): string =>
    html.replace(/\s*<meta name="service-worker"[^>]*>/, "").replace("</head>", `  <meta name="tabstore-server" content="${instance}">\n  </head>`);

/** Whether this build of the package has the console. */
export const hasConsole = (): boolean => existsSync(path.join(CONSOLE, "index.html"));

/** The console's files, for those who name this server. */
function consoleServer(isKnownHost: (host: string | undefined) => boolean, instance: string): Server {
  const answer = filesOf(CONSOLE, pageOf(instance));
  return http.createServer((request, response) => {
    // A page elsewhere that shows the console in a frame could have a person press what it likes.
    response.setHeader("X-Frame-Options", "SAMEORIGIN").setHeader("Content-Security-Policy", "frame-ancestors 'self'");
    const isKnown = isKnownHost(request.headers.host);
    if (isKnown && request.url === "/service-worker.js") {
      response.writeHead(200, { "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-cache" }).end(NO_WORKER);
      return;
    }
    if (isKnown && answer(request, response)) return;
    const status = !isKnown ? 403 : request.method === "GET" || request.method === "HEAD" ? 404 : 405;
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end("not here\n");
  });
}

/** Answers a request that proposes another protocol, as a client of HTTP/2 does, in this one. */
function answerPlainly(server: Server, request: IncomingMessage, socket: Socket): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("finish", () => socket.end(() => socket.destroy()));
  server.emit("request", request, response);
}

/** Resolves after a time, or once some work is done. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}

/** Whether the database is well, as its events tell. */
function healthOf(db: Database): () => boolean {
  let isHealthy = true;
  db.addEventListener("health", ({ healthy }) => {
    isHealthy = healthy;
  });
  return () => isHealthy;
}

/** Where lines go. */
export interface ServerOutput {
  /** A line about a request. */
  readonly log: ((line: string) => void) | undefined;
  /** Something that went wrong in the server itself. */
  readonly report: (error: unknown) => void;
}

/** Starts the server. @throws If a port is taken; then no port is open. */
export async function startServer(db: Database, asked: ServeArguments, output: ServerOutput): Promise<RunningServer> {
  const isKnownHost = hostCheck(asked.allowedHosts);
  const limits = new Limits(asked.requestTimeoutMs);
  const options: PortOptions = { limits, isKnownHost, isKnownPage: originCheck(asked.allowedHosts), isHealthy: healthOf(db), ...output };
  const port = (service: Service): Port => new Port(service, options);
  const [tablestore, azure] = [port(tablestoreService(db, asked.auth)), port(azureService(db, asked.auth))];
  const files = consoleServer(isKnownHost, asked.instance);
  const sessions = new Sessions(db, { ...options, checkKey: keyCheck(db, asked) });
  files.on("upgrade", (request, socket, head) => {
    if (request.headers.upgrade?.toLowerCase() === "websocket") sessions.upgrade(request, socket, head);
    else answerPlainly(files, request, socket as Socket);
  });
  const end = (): Promise<void> => {
    for (const one of [tablestore, azure]) one.stop();
    files.close();
    return sessions.stop();
  };
  try {
    const ports = {
      tablestore: await tablestore.listen(asked.host, asked.ports.tablestore),
      azure: await azure.listen(asked.host, asked.ports.azure),
      console: await listenTo(files, asked.host, asked.ports.console),
    };
    return {
      ports,
      stop: async () => {
        await within(Promise.all([end(), limits.calls.whenEmpty()]), asked.stopTimeoutMs);
        for (const one of [tablestore, azure, sessions]) one.end();
        files.closeAllConnections();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function listenTo(server: Server, host: string, port: number): Promise<number> {
  await listen(server, host, port);
  return (server.address() as AddressInfo).port;
}
