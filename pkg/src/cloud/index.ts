/**
 * An instance of the Table Store service, by the interface of an instance in this browser: the entry `tabstore/cloud`.
 *
 * Each call is a request of the service's own protocol (API version 2015-12-31: protocol buffers and PlainBuffer over HTTPS, signatures
 * V2 and V4), to the service itself or to `tabstore serve`. So an application moves to the service by changing the line that opens the
 * database.
 *
 * @module
 */

import type { Schema, SchemaOptions, TypedDatabase } from "../schema/types.js";
import { checkArguments, checkName, count, oneOf } from "../codec/check.js";
import { kindOf } from "../codec/kinds.js";
import { double } from "../types/double.js";
import { invalid, wrongArgument } from "../types/errors.js";
import type { Database } from "../types/database.js";
import { signalOf } from "../client/signals.js";
import { Connection } from "./connection.js";
import { CloudDatabase } from "./database.js";
import { Retry } from "./retry.js";
import { Service } from "./service.js";
import type { ConnectOptions, Credentials, CredentialsSource } from "./types.js";

export { Double, double } from "../types/double.js";
export { TabStoreError } from "../types/errors.js";
export { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../types/values.js";
export { WriterError } from "../types/writer-error.js";
export type { ConnectOptions, Credentials, CredentialsSource, Fetch } from "./types.js";
export type { Database } from "../types/database.js";

/** The method of a schema that makes its tables: see schema/define.ts. */
const ATTACH = Symbol.for("tabstore.schema");

const OPTIONS = new Set(["instanceName", "region", "fetch", "timeout", "retry", "integers", "verify", "pollInterval", "signal"]);
const CREDENTIALS = new Set(["accessKeyId", "accessKeySecret", "stsToken"]);
/** The longest time of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** The options of `connect` with a schema: those of `open` with one that are about the schema. */
export type ConnectSchemaOptions<D extends Schema> = ConnectOptions & Pick<SchemaOptions<D>, "schema" | "migrations">;

function readCredentials(given: Credentials): Credentials {
  const { accessKeyId, accessKeySecret, stsToken } = checkArguments(given, CREDENTIALS, "credentials");
  checkName(accessKeyId, "credentials.accessKeyId");
  checkName(accessKeySecret, "credentials.accessKeySecret");
  if (stsToken !== undefined) checkName(stsToken, "credentials.stsToken");
  return { accessKeyId, accessKeySecret, stsToken };
}

/** An endpoint without a slash at its end, and the instance that its host names. */
function readEndpoint(endpoint: unknown): { readonly endpoint: string; readonly instance: string | undefined } {
  checkName(endpoint, "endpoint");
  let url: URL | undefined;
  try {
    // In a page it may also be a path of the page's own origin, behind which a proxy is.
    url = new URL(endpoint, (globalThis.location as Location | undefined)?.href);
  } catch {
    // It is refused below.
  }
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "" || url.username !== "")
    throw wrongArgument("endpoint", `'${endpoint}'`, "an address of http or https, without a query");
  const [label, ...rest] = url.hostname.split(".");
  const isNamed = rest.length > 1 && /[a-z]/i.test(label!) && /^https?:/i.test(endpoint);
  return { endpoint: url.origin + url.pathname.replace(/\/+$/, ""), instance: isNamed ? label : undefined };
}

function connection(endpoint: string, credentials: CredentialsSource, options: ConnectOptions = {}, typed = false): Database {
  const given = checkArguments(options, OPTIONS, "connect");
  const { instanceName, region, timeout = 30_000, pollInterval = 1000, fetch: own } = given;
  signalOf(given)?.throwIfAborted();
  const { endpoint: address, instance = instanceName } = readEndpoint(endpoint);
  const name = instanceName ?? instance;
  if (name === undefined) throw invalid("The argument 'instanceName' is missing: the endpoint does not name the instance.");
  checkName(name, "instanceName");
  if (region !== undefined) checkName(region, "region");
  if (own !== undefined && typeof own !== "function") throw wrongArgument("fetch", kindOf(own), "a function");
  count(timeout, "timeout", 1);
  count(pollInterval, "pollInterval", 0);
  const fixed = typeof credentials === "function" ? undefined : readCredentials(credentials);
  const service = new Service({
    endpoint: address,
    instance: name,
    region,
    credentials: fixed === undefined ? async () => readCredentials(await (credentials as () => Promise<Credentials>)()) : () => fixed,
    // Browsers want it called as a function of the global object.
    fetch: own ?? ((url, init) => globalThis.fetch(url, init)),
    timeout: Math.min(timeout, LONGEST),
    retry: new Retry(given.retry),
    verify: oneOf(given.verify, "verify", ["visible", "always", "never"]),
  });
  const bigints = oneOf(given.integers, "integers", ["auto", "bigint"]) === "bigint";
  return new CloudDatabase(name, new Connection(service, bigints), Math.min(pollInterval, LONGEST), typed) as unknown as Database;
}

/**
 * Connects to an instance of the Table Store service, or to one of `tabstore serve`. The result has the interface of an open instance, and
 * takes the same calls. It asks the service nothing until the first call.
 *
 * What the service lacks is refused with the code `Unsupported`, and the hint says what to do instead: one step over several partition
 * keys, `deleteRange`, live queries of a table without a stream, consumer groups, `trace` and all other looks into the engine, access keys, tables of the Azure Table
 * service. The guide "A connection to the service" has all of it.
 *
 * In a page the server must allow its origin and the headers of the requests (CORS). A secret in a page can be read by whoever opens the
 * page: give temporary access keys of few rights ({@link CredentialsSource}).
 *
 * @param endpoint The address of the instance, as in `https://demo.cn-hangzhou.ots.aliyuncs.com`. A path in it stands before the names of the
 * operations, for proxies; it is not signed.
 * @param credentials The access key, or a function that gives one before each request.
 * @throws `OTSParameterInvalid` for a wrong argument, or an endpoint that names no instance and no option `instanceName`.
 * @example
 * ```ts
 * import { connect } from "tabstore/cloud";
 *
 * const credentials = { accessKeyId: "id", accessKeySecret: "secret" };
 * const db = await connect("https://demo.cn-hangzhou.ots.aliyuncs.com", credentials);
 * console.log(await db.listTable());
 * ```
 *
 * With a schema of `tabstore/schema` it makes the tables that are missing, and gives typed tables, as `open` does.
 */
export function connect<D extends Schema>(endpoint: string, credentials: CredentialsSource, options: ConnectSchemaOptions<D>): Promise<TypedDatabase<D>>;
export function connect(endpoint: string, credentials: CredentialsSource, options?: ConnectOptions): Promise<Database>;
export async function connect(
  endpoint: string,
  credentials: CredentialsSource,
  options?: ConnectOptions & { readonly schema?: { readonly [ATTACH]?: (attaching: object) => Promise<unknown> } },
): Promise<unknown> {
  const attach = options?.schema?.[ATTACH];
  if (attach === undefined) return connection(endpoint, credentials, options);
  return attach({ options, double, open: async (plain: ConnectOptions) => connection(endpoint, credentials, plain, true) });
}
