/** The HTTP client that the npm package `tablestore` takes. */

import type { FetchFunction, SdkHttpClient, SdkRequest, SdkStream } from "./types.js";

type Listener = (...args: never[]) => void;

/** The stream of a response. The SDK reads it in one of two ways, so it does both. */
class ResponseStream implements SdkStream {
  statusCode: number | undefined = undefined;
  headers: Record<string, string> = {};
  private readonly listeners = new Map<string, Listener[]>();
  private content: Uint8Array | null = null;

  on(event: string, listener: Listener): this {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
    return this;
  }

  /** What has come and was not read. */
  read(): Uint8Array | null {
    const { content } = this;
    this.content = null;
    return content;
  }

  private emit(event: string, ...args: unknown[]): void {
    for (const listener of this.listeners.get(event) ?? []) (listener as (...args: unknown[]) => void)(...args);
  }

  /** Tells a response. */
  tell(status: number, headers: Headers, body: Uint8Array): void {
    this.statusCode = status;
    this.headers = Object.fromEntries(headers);
    this.emit("headers", status, this.headers);
    this.content = body;
    this.emit("data", body);
    this.emit("readable");
    this.emit("end");
  }
}

/** Headers that no script may set, and that say nothing here. */
const OWN = /^(?:host|content-length|user-agent|date|connection)$/i;

async function send(fetch: FetchFunction, { method, path, headers, body, endpoint }: SdkRequest, timeout: number): Promise<[Response, Uint8Array]> {
  const url = `${endpoint.protocol}//${endpoint.hostname}:${endpoint.port}${path}`;
  const own = Object.entries(headers).filter(([name]) => !OWN.test(name));
  const response = await fetch(url, {
    method,
    headers: own.map(([name, value]): [string, string] => [name, String(value)]),
    // Exactly the bytes: the SDK's own client sends all of the buffer that a body lies in.
    body: typeof body === "string" ? body : body.slice(),
    ...(timeout > 0 ? { signal: AbortSignal.timeout(timeout) } : {}),
  });
  return [response, new Uint8Array(await response.arrayBuffer())];
}

/**
 * An HTTP client for the npm package `tablestore`, which sends by a function like `fetch`: that of {@link tablestoreFetch}, so that
 * the SDK works on a database of this page; or the browser's own, in place of the SDK's client, which sends wrong bodies in
 * browsers. It is for all clients of the SDK in the page.
 *
 * An error of `fetch`, and the end of the time in the SDK's `httpOptions.timeout`, become its `NetworkingError`. It repeats reads then.
 *
 * @example
 * ```ts
 * import TableStore from "tablestore";
 * import { tablestoreFetch, tablestoreHttpClient } from "tabstore/tablestore";
 *
 * TableStore.HttpClient.prototype = tablestoreHttpClient(tablestoreFetch(db, { auth: "off" }));
 * ```
 */
export function tablestoreHttpClient(fetch: FetchFunction): SdkHttpClient {
  return {
    handleRequest(request, options, callback, failed) {
      const stream = new ResponseStream();
      callback(stream);
      send(fetch, request, options?.timeout ?? 0).then(
        ([response, body]) => stream.tell(response.status, response.headers, body),
        // The SDK writes into the error that it gets, and a reason of a signal takes no other code.
        (error: Error) => failed(new Error(error.message, { cause: error })),
      );
      return stream;
    },
  };
}
