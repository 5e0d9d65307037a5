/** The console's files over HTTP, compressed: for `npx tabstore console` and for Vite's development server. */

import { existsSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".csv": "text/csv; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
/** The quality of brotli's compression. Each file is compressed once, and a person waits for it. */
const QUALITY = 5;

type Encoding = "br" | "gzip" | "identity";

/** The folder of the built console, beside the file that holds this code. */
export const CONSOLE = fileURLToPath(new URL("./console/", import.meta.url));

/** What the browser takes, in our order. A weight of 0 is a refusal. */
function encodingOf(accepted: string | undefined): Encoding {
  const taken = new Set(
    (accepted ?? "")
      .split(",")
      .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
      .map((one) => one.split(";")[0]!.trim()),
  );
  return taken.has("br") ? "br" : taken.has("gzip") ? "gzip" : "identity";
}

function compressed(body: Buffer, encoding: Encoding): Buffer {
  if (encoding === "br") return brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } });
  return encoding === "gzip" ? gzipSync(body) : body;
}

/** The file that a request's target names; `undefined` if there is none in the folder. */
function fileOf(folder: string, target: string): string | undefined {
  let name: string;
  try {
    name = decodeURIComponent(target.replace(/[?#].*$/s, ""));
  } catch {
    return undefined;
  }
  if (name.includes("\0")) return undefined;
  const file = path.join(folder, name.endsWith("/") ? `${name}index.html` : name);
  return file.startsWith(folder) && existsSync(file) && statSync(file).isFile() ? file : undefined;
}

/**
 * Makes what answers requests for the files of `folder`, whose name ends with a separator. It gives `false` for a request that it does not
 * answer. `change` changes the text of pages.
 */
export function filesOf(folder: string, change: (html: string) => string = (html) => html): (request: IncomingMessage, response: ServerResponse) => boolean {
  const kept = new Map<string, Buffer>();
  const bodyOf = (file: string, encoding: Encoding): Buffer => {
    const key = `${encoding} ${file} ${statSync(file).mtimeMs}`;
    let body = kept.get(key);
    if (body === undefined) {
      const read = readFileSync(file);
      body = compressed(file.endsWith(".html") ? Buffer.from(change(read.toString())) : read, encoding);
      kept.set(key, body);
    }
    return body;
  };
  return (request, response) => {
    const file = request.method === "GET" || request.method === "HEAD" ? fileOf(folder, request.url ?? "/") : undefined;
    if (file === undefined) return false;
    const encoding = encodingOf(request.headers["accept-encoding"]);
    const body = bodyOf(file, encoding);
    response.writeHead(200, {
      "Content-Type": TYPES[path.extname(file)] ?? "application/octet-stream",
      "Content-Length": body.length,
      // Names of assets have a digest. Everything else is asked for each time.
      "Cache-Control": path.basename(path.dirname(file)) === "assets" ? "max-age=31536000, immutable" : "no-cache",
      "X-Content-Type-Options": "nosniff",
      Vary: "Accept-Encoding",
      ...(encoding === "identity" ? {} : { "Content-Encoding": encoding }),
    });
    response.end(request.method === "HEAD" ? undefined : body);
    return true;
  };
}
