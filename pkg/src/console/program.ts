/** `npx tabstore console`: serves the console on this machine. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";

import { CONSOLE, filesOf } from "./files.js";

/** The text of `tabstore console --help`. */
export const CONSOLE_HELP = `Usage: tabstore console [--port N] [--open]

Serves the console at http://127.0.0.1, for this machine alone, until it is stopped. What it stores is in the browser, at
this address. It does not see the instances of other addresses, nor those in files of 'tabstore --data'.

  --port N          The port; 0 takes a free one (default: 7373)
  --open            Opens it in the browser
  -h, --help        This`;

interface ConsoleArguments {
  readonly port: number;
  readonly open: boolean;
  readonly help: boolean;
}

/** Reads the arguments behind `console`. @throws An error with the reason for wrong ones. */
export function consoleArguments(given: readonly string[]): ConsoleArguments {
  const { values } = parseArgs({
    args: [...given],
    options: { port: { type: "string", default: "7373" }, open: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
  });
  const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN;
  if (!(port <= 65_535)) throw new Error(`--port ${values.port} is no port: it is a number from 0 to 65535.`);
  return { port, open: values.open, help: values.help };
}

/** Opens an address by the system's own program. Without one the address stands in the terminal. */
function show(address: string): void {
  const [program, ...args] = process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const child = spawn(program!, [...args, address], { stdio: "ignore", detached: true });
  child.on("error", () => console.error(`No browser could be opened: ${program} is not there.`));
  child.unref();
}

/** Whether the request names this machine. A page elsewhere can give its own name the address of this machine. */
const isLocal = (host: string | undefined): boolean => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? "");

/** Serves the console until the process is stopped. @throws If the port is taken. */
export async function serveConsole({ port, open }: ConsoleArguments): Promise<void> {
  if (!existsSync(path.join(CONSOLE, "index.html"))) throw new Error("This build of the package has no console.");
  const answer = filesOf(CONSOLE);
  const server = http.createServer((request, response) => {
    if (isLocal(request.headers.host) && answer(request, response)) return;
    const status = request.method === "GET" || request.method === "HEAD" ? 404 : 405;
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" }).end("not here\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new Error(`The port ${port} is taken: choose another one with --port.`) : error),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  console.log(`The console is at ${address} (stop it with Ctrl+C)`);
  if (open) show(address);
  await new Promise((resolve) => server.once("close", resolve));
}
