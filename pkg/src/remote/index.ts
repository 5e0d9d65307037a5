/**
 * The instance that `npx tabstore serve` has, with all that an instance of this page has: rows, administration, the look inside, access
 * keys. The console of a server works by it. An application that is to talk to the service one day takes `tabstore/cloud` instead.
 *
 * @module
 */

import { Client } from "../client/client.js";
import { BackOff } from "../client/retry.js";
import { signalOf, unlessAborted } from "../client/signals.js";
import { checkArguments } from "../codec/check.js";
import { kindOf } from "../codec/kinds.js";
import { type PortLike, PortSession } from "../host/session.js";
import { OpenDatabase } from "../open/database.js";
import { PROTOCOL } from "../tabs/channel.js";
import type { Database } from "../types/database.js";
import { invalid, local, type TabStoreError, toError } from "../types/errors.js";
import type { RetryOptions } from "../types/rows.js";
import type { StorageInfo } from "../types/storage.js";
import { fromWire, SESSION_PATH, type Hello, type ToldTrouble, toWire, type Welcome } from "./wire.js";

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
  if (value !== undefined && typeof value !== "string") throw invalid(`The argument '${name}' is ${kindOf(value)}; it must be a string.`);
  return value ?? otherwise;
}

/** What has come on a socket, one by one. */
class Socket implements PortLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  /** Called when the connection has ended. */
  onEnd: (() => void) | undefined;

  constructor(private readonly socket: WebSocket) {
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      let message: unknown;
      try {
        message = fromWire(typeof data === "string" ? data : new Uint8Array(data));
      } catch {
        // It is no server of TabStore.
        return socket.close();
      }
      this.onmessage?.({ data: message } as MessageEvent);
    };
    // Node's own and those of packages emit it: who waits hears of the end.
    socket.onerror = () => {};
    socket.onclose = () => this.onEnd?.();
  }

  postMessage(message: unknown): void {
    // What is said behind the end is lost, as on a port. Who waits for an answer hears of the end.
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(toWire(message));
  }

  close(): void {
    this.socket.close();
  }
}

/** Connects, and asks for a session. */
function enter(url: URL, hello: Hello): Promise<{ readonly socket: Socket; readonly welcome: Extract<Welcome, { kind: "welcome" }> }> {
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(url);
    const socket = new Socket(webSocket);
    webSocket.onopen = () => socket.postMessage(hello);
    socket.onmessage = ({ data }: MessageEvent<Welcome>) => {
      if (data.kind === "welcome") resolve({ socket, welcome: data });
      else reject(toError(data.error));
    };
    socket.onEnd = () => reject(local("Unavailable", `No server of TabStore answers at ${url.host}. Start it by 'npx tabstore serve'.`));
  });
}

/** The handle. The space is that of the server's machine, of which the browser knows nothing. */
class RemoteDatabase extends OpenDatabase {
  override async storage(): Promise<StorageInfo> {
    const { segments, log, reserve } = await this.metrics();
    const live = segments.bytes - segments.garbage + log.bytes;
    return { live, garbage: segments.garbage, reserve: reserve.bytes, used: null, quota: null, persisted: null };
  }

  /** The engine is the server's, so nothing of it is loaded here. */
  override async preload(): Promise<void> {}

  override async persist(): Promise<boolean> {
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
export async function openRemote(address: string | URL, options: RemoteOptions = {}): Promise<Database> {
  const url = socketAddress(address);
  const { accessKeyId, accessKeySecret, integers, retry } = checkArguments(options, OPTIONS, "openRemote");
  if (integers !== undefined && integers !== "auto" && integers !== "bigint")
    throw invalid(`The argument 'integers' is ${kindOf(integers)}; it must be 'auto' or 'bigint'.`);
  const signal = signalOf(options);
  signal?.throwIfAborted();
  const hello: Hello = {
    kind: "hello",
    protocol: PROTOCOL,
    accessKeyId: text(accessKeyId, "accessKeyId", "testid"),
    accessKeySecret: text(accessKeySecret, "accessKeySecret", "testsecret"),
  };
  const backOff = BackOff.from(retry);
  const entering = enter(url, hello);
  let entered: Awaited<typeof entering>;
  try {
    entered = await unlessAborted(entering, signal);
  } catch (error) {
    entering.then(({ socket }) => socket.close()).catch(() => {});
    throw error;
  }
  const { socket, welcome } = entered;
  const client = new Client(welcome.client, integers === "bigint", backOff);
  const session = new PortSession<ToldTrouble>(socket, client.receive, ({ error }) => client.troubles.add(error === null ? null : toError(error)));
  const end = (error: TabStoreError): void => {
    session.fail(error);
    client.fail(error);
  };
  socket.onEnd = () => end(local("Closed", `The connection to the server at ${url.host} has ended. Calls without an answer may have been done.`));
  client.attach(session, () => session.close());
  return new RemoteDatabase(welcome.name, welcome.storage, client);
}
