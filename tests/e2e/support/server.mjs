// A web server on loopback: the built package under /pkg/, our pages at the top, and whatever a test listens for.

import { readdirSync, readFileSync, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".ndjson": "application/x-ndjson",
  ".csv": "text/csv",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Reads a folder into memory once, so that a build that runs meanwhile cannot mix two states of it. */
function snapshot(folder, prefix, into) {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (statSync(file).isDirectory()) snapshot(file, `${prefix}${name}/`, into);
    else into.set(prefix + name, readFileSync(file));
  }
  return into;
}

const script = (name) => readFileSync(new URL(`broken/${name}.js`, import.meta.url), "utf8");

/** A script of `broken/`, whose first lines say what it does, with `whenAsked`. The block keeps their names apart from the package's. */
const broken = (name) => `{\n${script("asked")}\n${script(name)}}\n`;

// Put in front of the package's worker and page where a test wants a browser that lacks something.
const LACKS = {
  "/no-indexeddb/": 'Object.defineProperty(globalThis, "indexedDB", { value: undefined });\n',
  // Some browsers have IndexedDB in private windows, and every use of it fails.
  "/broken-indexeddb/":
    'for (const name of ["open", "deleteDatabase"]) IDBFactory.prototype[name] = () => { throw new DOMException("A mutation operation was attempted on a database that did not allow mutations.", "InvalidStateError"); };\n',
  "/no-worker/": "delete globalThis.Worker;\n",
  "/trapping/": broken("trapping"),
  "/doubting/": broken("doubting"),
  "/no-crypto/": 'Object.defineProperty(globalThis, "crypto", { value: undefined });\n',
};

/** The files of a folder that is built before the tests run. */
export function built(folder, prefix) {
  try {
    return snapshot(path.resolve(root, folder), prefix, new Map());
  } catch (error) {
    throw new Error(`${folder} cannot be read (${error.message}): run \`cargo xtask build\` first`, { cause: error });
  }
}

const ports = new Set();

/** Listens on a port that nothing here has listened on before: a browser still has the data of the old origin. */
async function listenApart(server) {
  for (;;) {
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address();
    if (!ports.has(port)) return ports.add(port);
    await new Promise((resolve) => server.close(resolve));
  }
}

/**
 * Serves files, given by path, with `extra` headers; more can be put into `files`. `listen(path, take)` hands the JSON bodies of
 * posts to `path` to `take`. `asked` has the paths of all requests; those in `failing` are answered with 503, those in `held` once their promise resolves.
 */
export async function serve(given, extra = {}) {
  const files = new Map(given);
  const listeners = new Map();
  const [asked, failing, held] = [[], new Set(), new Map()];
  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url, "http://x");
    if (request.method === "POST") {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        const answer = listeners.get(url.pathname)?.(JSON.parse(Buffer.concat(parts).toString()));
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? null));
      });
      request.on("error", () => {});
      return;
    }
    let name = decodeURIComponent(url.pathname);
    asked.push(name);
    if (failing.has(name)) {
      response.writeHead(503, { "content-type": "text/plain", ...extra }).end("not now");
      return;
    }
    let before = "";
    for (const [prefix, code] of Object.entries(LACKS)) {
      if (!name.startsWith(prefix)) continue;
      name = name.slice(prefix.length - 1);
      if (name === "/pkg/worker.js" || name === "/lacks.js") before = code;
    }
    const body = files.get(name.endsWith("/") ? `${name}index.html` : name);
    // A page that lacks nothing asks for this script too.
    if (body === undefined && !name.endsWith("/lacks.js")) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not here");
      return;
    }
    // A sandboxed frame has an origin of its own.
    const headers = {
      "content-type": TYPES[path.extname(name)] ?? (name.endsWith("/") ? TYPES[".html"] : "application/octet-stream"),
      "cache-control": "no-store",
      "access-control-allow-origin": "*",
      ...extra,
    };
    await held.get(name);
    response.writeHead(200, headers).end(before === "" ? body : before + String(body ?? ""));
  });
  await listenApart(server);
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    files,
    asked,
    failing,
    held,
    listen: (name, take) => listeners.set(name, take),
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

let pages;

let consoleFiles;

/** Serves the built console, and under /package/ the package and our pages, until the end of the test. */
export async function serveConsole(t) {
  consoleFiles ??= new Map([...built("www/dist", "/"), ...built("pkg/dist", "/package/pkg/"), ...built("tests/e2e/pages", "/package/")]);
  const server = await serve(consoleFiles);
  t.after(() => server.stop());
  return { ...server, file: (name) => consoleFiles.get(name) };
}

/** Serves the package and our pages, with `extra` headers, until the end of the test. `dist`: where it was built, in all of a run. */
export async function servePackage(t, extra, dist = "pkg/dist") {
  pages ??= new Map([...built(dist, "/pkg/"), ...built("tests/e2e/pages", "/")]);
  const server = await serve(pages, extra);
  t.after(() => server.stop());
  return server;
}
