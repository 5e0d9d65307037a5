/**
 * A plugin for Vite: the console on the origin of the application, in development.
 *
 * @module tabstore/vite
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import { CONSOLE, filesOf } from "./files.js";

/** Options of {@link tabstore}. */
export interface TabstorePluginOptions {
  /** The path of the console on the development server, below its base; default `"/__tabstore/"`. */
  readonly path?: string | undefined;
}

/** What the plugin uses of Vite's development server, in Vite 7 and 8. */
export interface TabstoreViteServer {
  /** Those of `connect`. */
  readonly middlewares: object;
  readonly config: { readonly base: string; readonly logger: { info(text: string): void } };
  readonly resolvedUrls: { readonly local: string[]; readonly network: string[] } | null;
  printUrls(): void;
}

/** The plugin. Vite takes it as one of its own. */
export interface TabstorePlugin {
  readonly name: "tabstore";
  readonly apply: "serve";
  configureServer(server: TabstoreViteServer): void;
}

type Handle = (request: IncomingMessage & { readonly originalUrl?: string }, response: ServerResponse) => void;

/** What is used of `connect`: its own types are in a package that not every application has. */
interface Middlewares {
  use(path: string, handle: Handle): unknown;
}

/** In development each visit has the network, and a kept console would outlive an update of the package. */
const withoutWorker = (html: string): string => html.replace(/\s*<meta name="service-worker"[^>]*>/, "");

/** A path from the root of the server to a folder: with a slash at both ends. */
function folderOf(path: unknown): string {
  if (typeof path !== "string") throw new TypeError("The option 'path' of tabstore() is a text, as in \"/__tabstore/\".");
  const name = path.replace(/^\/+|\/+$/g, "");
  if (name === "" || /[?#]/.test(name))
    throw new TypeError(`The option 'path' of tabstore() is ${JSON.stringify(path)}; it names a folder, as in "/__tabstore/".`);
  return `/${name}/`;
}

/**
 * Serves the console at `/__tabstore/` of Vite's development server, and prints its address. There it shows the instances of the
 * application, and follows its engine. It adds nothing to a build.
 *
 * ```text
 * // vite.config.ts
 * import { tabstore } from "tabstore/vite";
 *
 * export default { plugins: [tabstore()] };
 * ```
 * @throws `TypeError` for a path that names no folder.
 */
export function tabstore(options: TabstorePluginOptions = {}): TabstorePlugin {
  const folder = folderOf(options.path ?? "/__tabstore/");
  return {
    name: "tabstore",
    apply: "serve",
    configureServer(server) {
      const answer = filesOf(CONSOLE, withoutWorker);
      const { base, logger } = server.config;
      const below = base.startsWith("/") ? base.replace(/\/$/, "") : "";
      const place = below + folder;
      const handle: Handle = (request, response) => {
        // Without the last slash the addresses of the page's files would be those of the folder above.
        if (request.originalUrl?.replace(/[?#].*$/s, "") === place.slice(0, -1)) response.writeHead(302, { Location: place }).end();
        // Behind this Vite would answer with the page of the application.
        else if (!answer(request, response)) response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" }).end("not here\n");
      };
      (server.middlewares as Middlewares).use(place.slice(0, -1), handle);
      const print = server.printUrls.bind(server);
      server.printUrls = () => {
        print();
        for (const local of server.resolvedUrls?.local ?? []) logger.info(`  ➜  TabStore console: ${new URL(place, local).href}`);
      };
    },
  };
}
