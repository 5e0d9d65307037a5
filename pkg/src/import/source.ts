/** The source of an import: turns bytes into texts, in chunks as they arrive, and detects the format. */

import { shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { ImportFormat } from "../types/writer.js";
import { abortReason, whenAborted } from "../client/signals.js";

/** Bytes to import. */
export type ByteSource = Blob | Response | ReadableStream<Uint8Array>;

/** A source of bytes that has been opened. */
export interface Opened {
  readonly format: ImportFormat;
  /** The separator of a CSV file's fields, if its name says so. */
  readonly delimiter: string | undefined;
  readonly totalBytes: number | undefined;
  readonly stream: ReadableStream<Uint8Array>;
}

const EXTENSIONS: Readonly<Record<string, ImportFormat>> = { csv: "csv", tsv: "csv", json: "json", ndjson: "ndjson", jsonl: "ndjson" };

/** Whether a source delivers bytes, not rows. A `Blob` may be another one than the host's: jsdom has its own. */
export function isBytes(source: unknown): source is ByteSource {
  if (typeof source !== "object" || source === null) return false;
  if (isBlob(source)) return true;
  if (typeof Response !== "undefined" && source instanceof Response) return true;
  return typeof (source as ReadableStream).getReader === "function";
}

function isBlob(source: object): source is Blob {
  if (typeof Blob !== "undefined" && source instanceof Blob) return true;
  // In this order: what is derived from a Map has a 'size' that throws.
  const { type, slice } = source as Partial<Blob>;
  return typeof type === "string" && typeof slice === "function" && typeof (source as Partial<Blob>).size === "number";
}

/** The bytes of a Blob, also of one without `stream`. */
function streamOf(blob: Blob): ReadableStream<Uint8Array> {
  if (typeof blob.stream === "function") return blob.stream() as ReadableStream<Uint8Array>;
  if (typeof blob.arrayBuffer !== "function")
    throw invalid("The file to import has neither stream() nor arrayBuffer(): it is of a simulated browser. Give a Blob of the host, or a ReadableStream.");
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(new Uint8Array(await blob.arrayBuffer()));
      controller.close();
    },
  });
}

/** Says what a file is whose first bytes are not those of UTF-8 text, and what turns it into that. */
function checkStart(bytes: Uint8Array): void {
  const [first, second, third, fourth] = bytes;
  const decoded = (what: string, decoder: string): Error =>
    invalid(`The source to import is ${what}, not UTF-8.`, `Decode it first: file.stream()${decoder}, with the argument format.`);
  const utf16 = (label: string): Error => decoded("UTF-16", `.pipeThrough(new TextDecoderStream("${label}")).pipeThrough(new TextEncoderStream())`);
  if ((first === 0xff && second === 0xfe) || (second === 0 && first !== 0 && fourth === 0)) throw utf16("utf-16le");
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && third === 0)) throw utf16("utf-16be");
  if (first === 0x1f && second === 0x8b) throw decoded("compressed by gzip", '.pipeThrough(new DecompressionStream("gzip"))');
  if (first === 0x50 && second === 0x4b && third === 3 && fourth === 4)
    throw invalid("The source to import is a ZIP archive (spreadsheets are such, too), not text.", "Unpack it, or save the spreadsheet as CSV.");
}

function formatOf(name: string, type: string): ImportFormat | undefined {
  const extension = /\.([a-z]+)$/.exec(name.toLowerCase())?.[1] ?? "";
  if (extension in EXTENSIONS) return EXTENSIONS[extension];
  if (/ndjson|jsonl|json-seq/.test(type)) return "ndjson";
  if (/json/.test(type)) return "json";
  if (/csv|tab-separated/.test(type)) return "csv";
  return undefined;
}

/** Opens a source of bytes. */
export function openSource(source: ByteSource, format: ImportFormat | undefined): Opened {
  if (format !== undefined && !["csv", "json", "ndjson"].includes(format))
    throw invalid(`The argument 'format' is ${shown(format)}; it must be one of csv, json, ndjson.`);
  let name = "";
  let type = "";
  let totalBytes: number | undefined;
  let stream: ReadableStream<Uint8Array> | null;
  if (isBlob(source)) {
    name = (source as Partial<File>).name ?? "";
    ({ type } = source);
    totalBytes = source.size;
    stream = streamOf(source);
  } else if ("getReader" in source) {
    stream = source;
  } else {
    if (!source.ok) throw invalid(`The response to import from, ${source.url || "without an address"}, has the status ${source.status}.`);
    name = source.url.replace(/[?#].*$/, "");
    type = source.headers.get("content-type") ?? "";
    const length = source.headers.get("content-length");
    // The length in transit, which differs from that of the content if it is compressed on the way.
    if (length !== null && source.headers.get("content-encoding") === null) totalBytes = Number(length);
    stream = source.body;
  }
  if (stream === null) throw invalid("The response to import from has no body.");
  const known = format ?? formatOf(name, type);
  if (known === undefined) throw invalid("The format of the source is not known: give the argument 'format' (csv, json or ndjson).");
  return { format: known, delimiter: /\.tsv$/i.test(name) || type.includes("tab-separated") ? "\t" : undefined, totalBytes, stream };
}

/**
 * The texts of a UTF-8 stream, wherever its chunks cut it. `onBytes` gets the size of every chunk. A signal ends it even
 * if no chunk comes.
 */
export async function* texts(
  stream: ReadableStream<Uint8Array>,
  onBytes: (bytes: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = stream.getReader();
  const abort = (): void => void reader.cancel(signal?.reason).catch(() => {});
  const forget = whenAborted(signal, abort);
  let read = 0;
  let done = false;
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw invalid(
        `The source to import is not UTF-8: there is something else between its bytes ${Math.max(0, read - (bytes?.length ?? 0) - 3)} and ${read}.`,
        'Decode it first: file.stream().pipeThrough(new TextDecoderStream("windows-1252")).pipeThrough(new TextEncoderStream()), with the argument format.',
      );
    }
  };
  try {
    for (;;) {
      const chunk = await reader.read();
      if (signal?.aborted) throw abortReason(signal);
      if (chunk.done) break;
      if (read === 0) checkStart(chunk.value);
      read += chunk.value.length;
      const text = decode(chunk.value);
      onBytes(chunk.value.length);
      if (text !== "") yield text;
    }
    done = true;
    const rest = decode();
    if (rest !== "") yield rest;
  } finally {
    forget();
    // A reader that stops early must release the source; otherwise a download would go on.
    if (!done) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}
