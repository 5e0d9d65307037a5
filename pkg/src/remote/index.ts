/**
 * The instance that `npx tabstore serve` has, with all that an instance of this page has: rows, administration, the look inside, access
 * keys. The console of a server works by it. An application that is to talk to the service one day takes `tabstore/cloud` instead.
 *
 * @module
 */

import { Client } from "../client/client.js";
import { BackOff } from "../client/retry.js";
import { SIGNAL, signalOf, unlessAborted } from "../client/signals.js";
import { checkArguments, checkName, oneOf } from "../codec/check.js";
import { kindOf } from "../codec/kinds.js";
import { type PortLike, PortSession } from "../host/session.js";
import { OpenDatabase } from "../open/database.js";
import { spaceOf } from "../open/storage.js";
import { PROTOCOL } from "../tabs/channel.js";
import { within } from "../tabs/lock.js";
import type { Schema, SchemaOptions, TypedDatabase } from "../schema/types.js";
import type { Database } from "../types/database.js";
import { double } from "../types/double.js";
import { invalid, local, type TabStoreError, toError } from "../types/errors.js";
import type { CallOptions, RetryOptions } from "../types/rows.js";
import type { StorageInfo } from "../types/storage.js";
import { type Hello, Incoming, SESSION_PATH, type ToldLife, type ToldTrouble, toWire, type Welcome } from "./wire.js";

/** Options of {@link openRemote}. */
export interface RemoteOptions {
  /** An access key of the instance with all rights; default `"testid"`, which `npx tabstore serve` makes. */
  readonly accessKeyId?: string | undefined;
  /** Its secret; default `"testsecret"`. */
  readonly accessKeySecret?: string | undefined;
  /** As of `open`: `"bigint"` gives all integers as `bigint`; default `"auto"`. */
  readonly integers?: "auto" | "bigint" | undefined;
  /** As of `open`: when refused calls are tried again. */
  readonly retry?: RetryOptions | false | undefined;
  /** Gives the opening up. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `openRemote` with a schema: those of `open` with one that are about the schema. */
export type RemoteSchemaOptions<D extends Schema> = RemoteOptions & Pick<SchemaOptions<D>, "schema" | "migrations">;

/** The method of a schema that makes its tables: see schema/define.ts. */
const ATTACH = Symbol.for("tabstore.schema");
const OPTIONS = new Set(["accessKeyId", "accessKeySecret", "integers", "retry", "signal"]);

/** The address of the socket behind the console's. */
function socketAddress(address: unknown): URL {
  const url = URL.canParse(String(address)) ? new URL(String(address)) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalid(`The argument 'address' is ${kindOf(address)}; it must be the address of a server's console, as in "http://127.0.0.1:7373".`);
  const socket = new URL(SESSION_PATH, url.href.replace(/[?#].*$/s, "").replace(/\/?$/, "/"));
  socket.protocol = url.protocol.replace("http", "ws");
  return socket;
}

function text(value: unknown, name: string, otherwise: string): string {
  const given = value === undefined ? otherwise : value;
  checkName(given, name);
  return given;
}

/** What has come on a socket, one by one. */
class Socket implements PortLike {
  private hear: ((event: MessageEvent) => void) | null = null;
  /** What has come while nobody listened: between the welcome and the session. */
  private readonly unheard: MessageEvent[] = [];
  /** Called when the connection has ended. */
  onEnd: (() => void) | undefined;
  /** Called when something has come. */
  onLife: (() => void) | undefined;

  private readonly incoming = new Incoming(Infinity);

  constructor(private readonly socket: WebSocket) {
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      this.onLife?.();
      let message: unknown;
      try {
        message = this.incoming.take(typeof data === "string" ? data : new Uint8Array(data));
      } catch {
        // It is no server of TabStore.
        return socket.close();
      }
      if (message === undefined) return;
      const event = { data: message } as MessageEvent;
      if (this.hear === null) this.unheard.push(event);
      else this.hear(event);
    };
    // Node's own and those of packages emit it: who waits hears of the end.
    socket.onerror = () => {};
    socket.onclose = () => this.onEnd?.();
  }

  get onmessage(): ((event: MessageEvent) => void) | null {
    return this.hear;
  }

  set onmessage(hear: ((event: MessageEvent) => void) | null) {
    this.hear = hear;
    if (hear !== null) for (const event of this.unheard.splice(0)) hear(event);
  }

  postMessage(message: unknown): void {
    // What is said behind the end is lost, as on a port. Who waits for an answer hears of the end.
    if (this.socket.readyState !== WebSocket.OPEN) return;
    for (const piece of toWire(message)) this.socket.send(piece);
  }

  close(): void {
    this.socket.close();
  }
}

/** Milliseconds that a server has to answer, and to end a session. */
const PATIENCE = 15_000;
/** Milliseconds between two signs of life that a session asks for. A server that is silent for two of them has gone. */
const LOOK_MS = 15_000;

/** What came is no answer of a server of this release. */
const isAnswer = (data: Partial<Record<string, unknown>>): boolean =>
  data["kind"] === "welcome" ? typeof data["name"] === "string" : data["kind"] === "refused" && typeof data["error"] === "object";

/** Connects, and asks for a session, until the signal aborts. */
async function enter(
  url: URL,
  hello: Hello,
  signal: AbortSignal | undefined,
): Promise<{ readonly socket: Socket; readonly welcome: Extract<Welcome, { kind: "welcome" }> }> {
  if (globalThis.WebSocket === undefined) {
    throw local("Unavailable", "This host has no WebSocket: take Node 22 or newer, or set globalThis.WebSocket.");
  }
  const webSocket = new WebSocket(url);
  const socket = new Socket(webSocket);
  const refused = (why: string): TabStoreError =>
    local("Unavailable", `No session can be had at ${url.host}: ${why}.`, {
      hint: "Start a server by 'npx tabstore serve', and give the address of its console.",
    });
  const answer = new Promise<Extract<Welcome, { kind: "welcome" }>>((resolve, reject) => {
    webSocket.onopen = () => socket.postMessage(hello);
    socket.onmessage = ({ data }: MessageEvent<Welcome>) => {
      socket.onmessage = null;
      if (!isAnswer(data)) reject(refused("who answers is no server of this release"));
      else if (data.kind === "welcome") resolve(data);
      else reject(toError(data.error));
    };
    socket.onEnd = () => reject(refused("nobody answers, it is full, or this page may not ask it"));
  });
  const isLate = setTimeout(() => socket.onEnd?.(), PATIENCE);
  try {
    return { socket, welcome: await unlessAborted(answer, signal) };
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(isLate);
  }
}

/** The handle. The space is that of the server's machine, of which the browser knows nothing. */
class RemoteDatabase extends OpenDatabase {
  override async storage(options?: CallOptions): Promise<StorageInfo> {
    return { ...spaceOf(await this.metrics(options)), used: null, quota: null, persisted: null };
  }

  /** The engine is the server's, so nothing of it is loaded here. */
  override async preload(): Promise<void> {}

  override async persist(options: CallOptions = {}): Promise<boolean> {
    signalOf(checkArguments(options, SIGNAL, "persist"))?.throwIfAborted();
    throw local("Unavailable", "The rows are not in this browser, so it has nothing to keep.");
  }
}

/**
 * Opens the instance of a server that runs, by way of its console's address. The handle has all of {@link Database}. Its `persistence` is
 * `"files"` or `"memory"`, as the server's is, and its `role` is always `"leader"`.
 *
 * When the connection ends, the handle does: calls without an answer reject with `Closed`, and a `health` event tells it. Calls that were
 * under way may have been done. Open it again then.
 *
 * With a schema of `tabstore/schema` it makes the tables that are missing, and gives typed tables, as `open` does.
 *
 * @throws `OTSParameterInvalid` for a wrong argument, `OTSAuthFailed` for a wrong key, `OTSNoPermissionAccess` for one without all rights,
 * `Unavailable` if no server answers, or one of another release.
 * @example
 * ```ts
 * import { openRemote } from "tabstore/remote";
 *
 * const db = await openRemote("http://127.0.0.1:7373");
 * console.log(await db.listTable());
 * await db.close();
 * ```
 */
export function openRemote<D extends Schema>(address: string | URL, options: RemoteSchemaOptions<D>): Promise<TypedDatabase<D>>;
export function openRemote(address: string | URL, options?: RemoteOptions): Promise<Database>;
export async function openRemote(
  address: string | URL,
  options?: RemoteOptions & { readonly schema?: { readonly [ATTACH]?: (attaching: object) => Promise<unknown> } },
): Promise<unknown> {
  const attach = options?.schema?.[ATTACH];
  if (attach === undefined) return session(address, options);
  return attach({ options, double, open: (plain: RemoteOptions) => session(address, plain) });
}

async function session(address: string | URL, options: RemoteOptions = {}): Promise<Database> {
  const url = socketAddress(address);
  const { accessKeyId, accessKeySecret, integers, retry } = checkArguments(options, OPTIONS, "openRemote");
  const bigints = oneOf(integers, "integers", ["auto", "bigint"]) === "bigint";
  const signal = signalOf(options);
  signal?.throwIfAborted();
  const hello: Hello = {
    kind: "hello",
    protocol: PROTOCOL,
    accessKeyId: text(accessKeyId, "accessKeyId", "testid"),
    accessKeySecret: text(accessKeySecret, "accessKeySecret", "testsecret"),
  };
  const backOff = BackOff.from(retry);
  const { socket, welcome } = await enter(url, hello, signal);
  const client = new Client(welcome.client, bigints, backOff);
  let silent = 0;
  const way = new PortSession<ToldTrouble | ToldLife>(socket, client.receive, (message) => {
    if (message.kind === "trouble") client.troubles.add(message.error === null ? null : toError(message.error));
  });
  const end = (): void => {
    clearInterval(timer);
    const error = local("Closed", `The connection to the server at ${url.host} has ended. Calls without an answer may have been done.`);
    way.fail(error);
    client.fail(error);
  };
  const timer = setInterval(() => {
    if (++silent > 2) return end();
    way.ping();
  }, LOOK_MS);
  // In Node it keeps no process alive.
  (timer as { unref?(): void }).unref?.();
  socket.onLife = () => (silent = 0);
  socket.onEnd = end;
  client.attach(way, async () => {
    clearInterval(timer);
    await within(way.close(), PATIENCE);
    socket.close();
  });
  return new RemoteDatabase(welcome.name, welcome.storage, client);
}
