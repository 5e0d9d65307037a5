/** The types of the entry `tabstore/tablestore`. */

/** Options of {@link tablestoreFetch} and {@link serveTablestore}. */
export interface TablestoreDoorOptions {
  /**
   * `"off"` lets every request pass. Without it a request must be signed with an access key of the instance
   * ({@link Database.createAccessKey}), else the answer is 403 `OTSAuthFailed` [I6].
   */
  readonly auth?: "off" | undefined;
}

/** A function that is called as `fetch` is. */
export type FetchFunction = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

/** A request of the SDK, as its HTTP clients get it. */
export interface SdkRequest {
  readonly method: string;
  /** The path, such as `/GetRow`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Uint8Array | string;
  readonly endpoint: { readonly protocol: string; readonly hostname: string; readonly port: number };
}

/** A stream of the SDK: it tells `headers`, `data` or `readable`, and `end`. */
export interface SdkStream {
  statusCode: number | undefined;
  headers: Record<string, string>;
  on(event: string, listener: (...args: never[]) => void): this;
  read(): Uint8Array | null;
}

/** An HTTP client of the SDK. */
export interface SdkHttpClient {
  /** Sends a request. `callback` gets the stream of the response, `failed` the error if there is no response. */
  handleRequest(
    request: SdkRequest,
    options: { readonly timeout?: number | undefined } | undefined,
    callback: (stream: SdkStream) => void,
    failed: (error: Error) => void,
  ): SdkStream;
}
