/** The arguments of `npx tabstore serve`. */

import { parseArgs } from "node:util";

import { ANY_HOST, isLoopback } from "./hosts.js";

/** The key that clients use where none is given. It is known to everybody, so it is for this machine alone. */
export const DEFAULT_KEY = { id: "testid", secret: "testsecret" };

/** What the server is asked for. */
export interface ServeArguments {
  /** The folder of the instances; without it the instance is in memory. */
  readonly data: string | undefined;
  readonly instance: string;
  /** The address to listen on. */
  readonly host: string;
  /** Names of this server beside those of the loopback interface; `*` stands for all, but not for the pages that may ask. */
  readonly allowedHosts: readonly string[];
  /** The ports of the doors and of the console; 0 takes a free one. */
  readonly ports: Ports;
  /** The access key of the clients, which the instance gets if it has none of this id. */
  readonly key: { readonly id: string; readonly secret: string };
  /** Whether requests need a signature. */
  readonly auth: "signed" | "off";
  /** Milliseconds in which a request must have come. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that calls in flight have when the server stops. */
  readonly stopTimeoutMs: number;
  /** Whether each request is told in a line. */
  readonly verbose: boolean;
  readonly help: boolean;
}

/** Where the server listens. */
export interface Ports {
  readonly tablestore: number;
  readonly azure: number;
  readonly console: number;
}

/** The text of `tabstore serve --help`. */
export const SERVE_HELP = `Usage: tabstore serve [--data DIR] [--instance NAME] [--port N] [--azure-port N] [--console-port N] [--verbose]

Serves an instance to the official SDKs of Table Store and of Azure tables, for this machine alone, until it is stopped.

  --data DIR               The folder of the instances. Without it the instance is in memory, and gone at the end
  --instance NAME          The instance; it is created if there is none (default: demo)
  --port N                 The port for the SDKs of Table Store; 0 takes a free one (default: 7371)
  --azure-port N           The port for the SDKs of Azure tables (default: 7372)
  --console-port N         The port of the console (default: 7373)
  --access-key-id ID       The access key of the clients (default: ${DEFAULT_KEY.id}, or TABSTORE_ACCESS_KEY_ID)
  --access-key-secret TEXT Its secret (default: ${DEFAULT_KEY.secret}, or TABSTORE_ACCESS_KEY_SECRET). The account key of Azure's
                           clients is its base64
  --auth off               Lets every request pass, without a signature
  --host ADDRESS           The address to listen on (default: 127.0.0.1). Another one than this machine's own needs
                           --allow-host and a secret
  --allow-host NAME        A name by which clients reach this server, '*' for any; may be repeated. Pages of a
                           name may ask the server, too; '*' lets no page in, and needs a secret
  --request-timeout S      Seconds in which a request must have come (default: 30)
  --stop-timeout S         Seconds that calls in flight have when the server stops (default: 10)
  --verbose                Tells each request in a line
  -h, --help               This

The exit code is 0 after Ctrl+C or SIGTERM, 1 if the server cannot start, and 2 for wrong arguments.`;

/** Reads a port. */
function portOf(name: string, given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) throw new Error(`--${name} ${given} is no port: it is a number from 0 to 65535.`);
  return port;
}

/** Reads seconds, as milliseconds. */
function timeOf(name: string, given: string): number {
  const seconds = /^\d{1,5}(\.\d{1,3})?$/.test(given) ? Number(given) : Number.NaN;
  if (!(seconds >= 0.1 && seconds <= 86_400)) throw new Error(`--${name} ${given} is no time: it is a number of seconds from 0.1 to 86400.`);
  return Math.round(seconds * 1000);
}

/** Whether others than programs and pages of this machine may reach the server: by its address, or by a name that may be anyone's. */
export const isOpen = ({ host, allowedHosts }: Pick<ServeArguments, "host" | "allowedHosts">): boolean => !isLoopback(host) || allowedHosts.includes(ANY_HOST);

/** Refuses to open a server to other machines by mistake. */
function checkHost(host: string, allowedHosts: readonly string[], isOwnSecret: boolean, auth: string): void {
  if (!isOpen({ host, allowedHosts })) return;
  if (allowedHosts.length === 0) {
    throw new Error(`--host ${host} opens the server to other machines: name it as they do with --allow-host, or '*' for any name.`);
  }
  if (auth !== "off" && !isOwnSecret) {
    const option = isLoopback(host) ? `--allow-host '${ANY_HOST}'` : `--host ${host}`;
    throw new Error(`${option} opens the server to others, and everybody knows the default secret: give --access-key-secret.`);
  }
}

/** Reads the arguments behind `serve`. @throws An error with the reason for wrong ones. */
export function serveArguments(given: readonly string[], environment: Readonly<Record<string, string | undefined>> = process.env): ServeArguments {
  const { values } = parseArgs({
    args: [...given],
    options: {
      data: { type: "string" },
      instance: { type: "string", default: "demo" },
      host: { type: "string", default: "127.0.0.1" },
      "allow-host": { type: "string", multiple: true, default: [] },
      port: { type: "string", default: "7371" },
      "azure-port": { type: "string", default: "7372" },
      "console-port": { type: "string", default: "7373" },
      "access-key-id": { type: "string" },
      "access-key-secret": { type: "string" },
      auth: { type: "string", default: "signed" },
      "request-timeout": { type: "string", default: "30" },
      "stop-timeout": { type: "string", default: "10" },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const { data, instance, host, auth, verbose, help, "allow-host": allowedHosts } = values;
  if (auth !== "signed" && auth !== "off") throw new Error(`--auth ${auth} is unknown: it is 'off', or left out.`);
  const id = values["access-key-id"] ?? environment["TABSTORE_ACCESS_KEY_ID"] ?? DEFAULT_KEY.id;
  const secret = values["access-key-secret"] ?? environment["TABSTORE_ACCESS_KEY_SECRET"];
  checkHost(host, allowedHosts, secret !== undefined && secret !== DEFAULT_KEY.secret, auth);
  return {
    data,
    instance,
    host,
    allowedHosts,
    ports: {
      tablestore: portOf("port", values.port),
      azure: portOf("azure-port", values["azure-port"]),
      console: portOf("console-port", values["console-port"]),
    },
    key: { id, secret: secret ?? DEFAULT_KEY.secret },
    auth,
    requestTimeoutMs: timeOf("request-timeout", values["request-timeout"]),
    stopTimeoutMs: timeOf("stop-timeout", values["stop-timeout"]),
    verbose,
    help,
  };
}
