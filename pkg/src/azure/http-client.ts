/** The HTTP client that the clients of Azure take. */

import { isBytes } from "../codec/bytes.js";
import { kindOf } from "../codec/kinds.js";
import type { Database } from "../index.js";
import { Door, type DoorResponse } from "./door.js";
import type { AzureHttpClient, HttpClientOptions, HttpHeaders, HttpRequest, HttpResponse } from "./types.js";

/** Headers by their names in lower case, with the names as they came. */
class Headers implements HttpHeaders {
  private readonly all = new Map<string, readonly [string, string]>();

  constructor(pairs: Iterable<readonly [string, string]>) {
    for (const [name, value] of pairs) this.set(name, value);
  }

  get(name: string): string | undefined {
    return this.all.get(name.toLowerCase())?.[1];
  }

  has(name: string): boolean {
    return this.all.has(name.toLowerCase());
  }

  set(name: string, value: string | number | boolean): void {
    this.all.set(name.toLowerCase(), [name, String(value).trim()]);
  }

  delete(name: string): void {
    this.all.delete(name.toLowerCase());
  }

  toJSON({ preserveCase = false }: { preserveCase?: boolean } = {}): Record<string, string> {
    const json: Record<string, string> = {};
    for (const [name, [original, value]] of this.all) json[preserveCase ? original : name] = value;
    return json;
  }

  toString(): string {
    return JSON.stringify(this.toJSON({ preserveCase: true }));
  }

  *[Symbol.iterator](): IterableIterator<[string, string]> {
    for (const [name, [, value]] of this.all) yield [name, value];
  }
}

/** The error of a request that was given up: by its name the clients know it. */
function given(up: string): Error {
  return Object.assign(new Error(up), { name: "AbortError" });
}

/** A body as bytes or text. */
async function bodyOf(body: unknown): Promise<string | Uint8Array | undefined> {
  if (body === undefined || body === null || typeof body === "string" || isBytes(body)) return body ?? undefined;
  if (typeof body === "function") return bodyOf((body as () => unknown)());
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  // Not each browser can iterate over its streams, and each can read them as it reads a response.
  if (body instanceof ArrayBuffer || body instanceof Blob || (typeof ReadableStream !== "undefined" && body instanceof ReadableStream)) {
    return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
  }
  if (Symbol.asyncIterator in (body as object)) {
    const pieces: BlobPart[] = [];
    for await (const piece of body as AsyncIterable<BlobPart>) pieces.push(piece);
    return bodyOf(new Blob(pieces));
  }
  throw new TypeError(`The body of the request is ${kindOf(body)}; it must be a text, bytes, a Blob or a stream.`);
}

/** A response as the clients take it. */
function answered<R extends HttpRequest>(request: R, { status, headers, body }: DoorResponse): HttpResponse<R> {
  return { request, status, headers: new Headers(headers), bodyAsText: body };
}

/**
 * An HTTP client for `@azure/data-tables`, whose requests go to the database and to no network [Z1], [Z3]. Any URL does: the
 * account is the host's first label before `.table.`, else the first part of the path.
 *
 * Without options a request must be signed with an access key of the instance, or carry a shared access signature, else the
 * answer is 403 [I6]. The account key of a client is the base64 of the key's secret. In Node the client signs; in browsers it
 * cannot, so give the secret here or switch this off.
 *
 * @throws `OTSParameterInvalid` for a wrong option.
 * @example
 * ```ts
 * import { TableClient } from "@azure/data-tables";
 * import { azureHttpClient } from "tabstore/azure";
 *
 * const httpClient = azureHttpClient(db, { auth: "off" });
 * const table = new TableClient("https://demo.table.core.windows.net", "readings", { httpClient });
 * await table.createTable();
 * await table.createEntity({ partitionKey: "sea", rowKey: "1", temperature: 12.8 });
 * ```
 */
export function azureHttpClient(db: Database, options?: HttpClientOptions): AzureHttpClient {
  const host = new Door(db, "signed");
  const { auth, key } = host.options(options, ["auth", "key"], "azureHttpClient");
  if (auth !== undefined) host.check(auth, ["off"], "auth");
  if (key !== undefined) host.text(key, "key");
  if (auth !== undefined && key !== undefined) throw host.wrong("key", "a string", "left out with auth 'off'");
  const door = key !== undefined ? new Door(db, { secret: key }) : auth === "off" ? new Door(db, "off") : host;
  return {
    async sendRequest<R extends HttpRequest>(request: R): Promise<HttpResponse<R>> {
      const { method, url, headers, abortSignal, timeout = 0 } = request;
      // Most requests cannot be given up, and a controller costs as much as reading an entity.
      if (timeout === 0 && abortSignal == null) return answered(request, await door.pass({ method, url, headers, body: await bodyOf(request.body) }));
      const timer = new AbortController();
      let up = "The operation was aborted.";
      const abort = (): void => timer.abort();
      const late =
        timeout > 0
          ? setTimeout(
              () => {
                up = `The operation took longer than ${timeout} ms.`;
                abort();
                // A longer one would end at once.
              },
              Math.min(timeout, 2 ** 31 - 1),
            )
          : undefined;
      if (abortSignal?.aborted === true) abort();
      abortSignal?.addEventListener("abort", abort);
      try {
        const body = await bodyOf(request.body);
        if (timer.signal.aborted) throw given(up);
        return answered(request, await door.pass({ method, url, headers, body }, timer.signal));
      } catch (error) {
        throw timer.signal.aborted ? given(up) : error;
      } finally {
        clearTimeout(late);
        abortSignal?.removeEventListener("abort", abort);
      }
    },
  };
}
