// The web server on loopback, for built files and the package as it is shipped. It remembers the requested files.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { gzipSync } from "node:zlib";

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".data": "application/octet-stream" };

/** Serves `files` by address, and the package in `dist` below `/tabstore/`; `wasm` is served in place of its wasm file. */
export class Server {
  #files;
  #asked = new Set();
  #server;

  constructor(files, { dist, wasm }) {
    this.#files = new Map(files);
    for (const name of readdirSync(dist)) {
      const file = name === "tabstore_bg.wasm" && wasm ? path.resolve(wasm) : path.join(dist, name);
      // Read once, so that a build that runs meanwhile cannot mix two states of it.
      if (statSync(file).isFile()) this.#files.set(`/tabstore/${name}`, readFileSync(file));
    }
  }

  /** Listens. Nothing may be kept by the browser: loading is measured. */
  async start() {
    this.#server = http.createServer(({ url }, response) => {
      const { pathname } = new URL(url, "http://localhost");
      const body = this.#files.get(pathname);
      if (body !== undefined) this.#asked.add(pathname);
      response.writeHead(body === undefined ? 404 : 200, {
        "content-type": TYPES[path.extname(pathname)] ?? "text/html; charset=utf-8",
        "cache-control": "no-store",
      });
      response.end(body ?? "not found");
    });
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get port() {
    return this.#server.address().port;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** The size of a database's files, `gzip -9`: of ours those that every page loads, of the others the requested ones. */
  gzipBytes(engine) {
    const names = engine === "tabstore" ? this.#core() : [...this.#asked].filter((name) => name.startsWith(`/lib/${engine}/`));
    return names.reduce((sum, name) => sum + gzipSync(this.#files.get(name), { level: 9 }).length, 0);
  }

  /** The wasm file, the two entries, and what they import at once. */
  #core() {
    const core = new Set(["tabstore_bg.wasm"]);
    // A set gives the names that are added while it is walked.
    const scripts = new Set(["index.js", "worker.js"]);
    for (const name of scripts) {
      core.add(name);
      const text = this.#files.get(`/tabstore/${name}`).toString();
      // A dynamic import has a parenthesis.
      for (const [, imported] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) scripts.add(imported);
    }
    return [...core].map((name) => `/tabstore/${name}`);
  }

  /** Bytes of our wasm file. */
  get wasmBytes() {
    return this.#files.get("/tabstore/tabstore_bg.wasm").length;
  }
}

/** Names the missing files, if the package has not been built. */
export function checkBuilt(dist) {
  if (!existsSync(path.join(dist, "index.js"))) throw new Error(`${dist} is empty: run \`cargo xtask build\` first`);
}
