/** Accounts and tables, in JavaScript. */

import { kindOf, shown } from "../codec/kinds.js";
import type { Database, TabStoreError } from "../index.js";
import { entityChange } from "./changes.js";
import { Door, type DoorResponse, header } from "./door.js";
import type {
  AzureAccount,
  AzureTable,
  CallOptions,
  Entity,
  EntityChange,
  EntityChangesOptions,
  EntityKey,
  EntityPage,
  EntityStreamOptions,
  EntityWritten,
  GetEntityOptions,
  ListEntitiesOptions,
  MatchOptions,
  Selected,
  StoredEntity,
  TransactionAction,
  TransactionError,
  UpdateMode,
} from "./types.js";
import { encoded, entityPath, keysOf, OWN, quoted, read, SYSTEM, write } from "./values.js";

type Headers = (readonly [string, string])[];

const ACCEPT = ["Accept", "application/json;odata=minimalmetadata"] as const;
const JSON_BODY = ["Content-Type", "application/json"] as const;
const NO_CONTENT = ["Prefer", "return-no-content"] as const;

/** An entity that was read, as both kinds of callers see it: those that chose properties, and the others. */
type Read<T extends object> = StoredEntity<T> & StoredEntity<Selected<T>>;

/** The options of a list of entities. */
const LIST = ["filter", "select", "pageSize"];

/** The methods of changes of an entity. */
const METHOD = { Merge: "PATCH", Replace: "PUT" } as const;

/** A change of an entity as a request: of its own, or in a transaction. */
interface Change {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** What calls of an account have in common. */
class Service {
  readonly door: Door;
  readonly account: string;
  readonly url: string;

  constructor(db: Database, account: string) {
    // Whoever has the database has all of it.
    this.door = new Door(db, "off");
    this.door.text(account, "account");
    if (!/^[A-Za-z0-9]{3,24}$/.test(account)) throw this.door.wrong("account", shown(account), "3 to 24 letters and digits");
    this.account = account.toLowerCase();
    this.url = `inproc://${this.account}/`;
  }

  /** Makes a request; rejects with an answer that is an error. */
  async ask(method: string, path: string, headers: Headers, body: string | undefined, { signal }: CallOptions): Promise<DoorResponse> {
    const response = await this.door.pass({ method, url: this.url + path, headers: [ACCEPT, ...headers], body }, signal);
    if (response.status >= 300) throw this.failure(response.status, response.body, header(response, "x-ms-request-id"));
    return response;
  }

  change({ method, path, headers, body }: Change, options: CallOptions): Promise<DoorResponse> {
    return this.ask(method, path, headers, body, options);
  }

  /** The error of an answer. */
  failure(status: number, body: string, requestId: string | undefined): TabStoreError {
    let code = "InternalError";
    let message = body;
    try {
      const { "odata.error": error } = JSON.parse(body) as { "odata.error": { code: string; message: { value: string } } };
      ({ code } = error);
      // Behind the text come the number and the time of the request.
      const { value } = error.message;
      const end = value.lastIndexOf("\nRequestId:");
      message = end < 0 ? value : value.slice(0, end);
    } catch {
      // Not even an error in JSON: the text is all there is.
    }
    return this.door.error(code, message, undefined, { status, retryable: status === 503, requestId });
  }

  /** The same, of a transaction. Its text begins with the place of the action. */
  failedAction(status: number, body: string, requestId: string | undefined): TransactionError {
    const error = this.failure(status, body, requestId);
    return Object.assign(error, { index: Number(/^(\d+):/.exec(error.message)?.[1] ?? 0) }) as TransactionError;
  }

  /** The query of a URL. */
  query(parts: Readonly<Record<string, string | undefined>>): string {
    const given = Object.entries(parts).filter(([, value]) => value !== undefined);
    return given.length === 0 ? "" : `?${given.map(([name, value]) => `${name}=${encoded(this.door, value!, name.replace("$", ""))}`).join("&")}`;
  }

  /** The name of a table, checked as far as it must not become another part of a URL. */
  table(name: string): string {
    this.door.text(name, "name");
    if (!/^[A-Za-z0-9]+$/.test(name) || name.toLowerCase() === "tables") throw this.door.wrong("name", shown(name), "letters and digits, and not 'Tables'");
    return name;
  }
}

class Table<T extends object> implements AzureTable<T> {
  constructor(
    private readonly service: Service,
    readonly name: string,
  ) {}

  async createEntity(entity: Entity<T>, options: CallOptions = {}): Promise<EntityWritten> {
    this.options(options, [], "createEntity");
    return this.written(this.create(entity, "entity"), options);
  }

  async getEntity(partitionKey: string, rowKey: string, options: GetEntityOptions = {}): Promise<Read<T>> {
    const { select } = this.options(options, ["select"], "getEntity");
    const path = this.path({ partitionKey, rowKey }, "key");
    const { body } = await this.service.ask("GET", path + this.service.query({ $select: this.selected(select) }), [], undefined, options);
    return read<T>(JSON.parse(body) as Record<string, unknown>) as Read<T>;
  }

  async updateEntity(entity: Entity<Partial<T>>, mode: UpdateMode = "Merge", options: MatchOptions = {}): Promise<EntityWritten> {
    const { etag = "*" } = this.options(options, ["etag"], "updateEntity");
    return this.written(this.update(entity, mode, etag, "entity"), options);
  }

  async upsertEntity(entity: Entity<Partial<T>>, mode: UpdateMode = "Merge", options: CallOptions = {}): Promise<EntityWritten> {
    this.options(options, [], "upsertEntity");
    return this.written(this.update(entity, mode, undefined, "entity"), options);
  }

  async deleteEntity(partitionKey: string, rowKey: string, options: MatchOptions = {}): Promise<void> {
    const { etag = "*" } = this.options(options, ["etag"], "deleteEntity");
    await this.service.change(this.remove({ partitionKey, rowKey }, etag, "key"), options);
  }

  async *listEntities(options: ListEntitiesOptions = {}): AsyncIterableIterator<Read<T>> {
    let continuation: string | undefined;
    this.options(options, LIST, "listEntities");
    do {
      const page = await this.listPage({ ...options, continuation });
      yield* page.entities;
      ({ continuation } = page);
    } while (continuation !== undefined);
  }

  async listPage(
    options: ListEntitiesOptions & { readonly continuation?: string | undefined } = {},
  ): Promise<EntityPage<T> & { readonly entities: Read<T>[] }> {
    const { door } = this;
    const { filter, select, pageSize, continuation } = this.options(options, [...LIST, "continuation"], "listPage");
    if (filter !== undefined) door.text(filter, "filter");
    if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 1000))
      throw door.wrong("pageSize", shown(pageSize), "an integer from 1 to 1000");
    const [NextPartitionKey, NextRowKey] = this.next(continuation);
    const $top = pageSize === undefined ? undefined : String(pageSize);
    const path = `${this.name}()${this.service.query({ $top, $select: this.selected(select), $filter: filter, NextPartitionKey, NextRowKey })}`;
    const response = await this.service.ask("GET", path, [], undefined, options);
    const { value } = JSON.parse(response.body) as { value: Record<string, unknown>[] };
    const next = header(response, "x-ms-continuation-nextpartitionkey");
    return {
      entities: value.map((json) => read<T>(json) as Read<T>),
      continuation: next === undefined ? undefined : JSON.stringify([next, header(response, "x-ms-continuation-nextrowkey")]),
    };
  }

  async submitTransaction(actions: readonly TransactionAction<T>[], options: CallOptions = {}): Promise<{ readonly etag: string | undefined }[]> {
    this.options(options, [], "submitTransaction");
    const all = this.door.array(actions, "actions").map((action, at) => this.action(action, `actions[${at}]`));
    if (all.length === 0) throw this.door.wrong("actions", "an empty array", "an array of 1 to 100 actions");
    const requests = all.map(({ method, path, headers, body }) => {
      const lines = [`${method} ${this.service.url}${path} HTTP/1.1`, ...[ACCEPT, ...headers].map(([name, value]) => `${name}: ${value}`)];
      return `--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${lines.join("\r\n")}\r\n\r\n${body ?? ""}\r\n`;
    });
    const body = `--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n${requests.join("")}--changeset_1--\r\n--batch_1--\r\n`;
    const response = await this.service.ask("POST", "$batch?$format=json", [["Content-Type", "multipart/mixed; boundary=batch_1"]], body, options);
    // Each answer begins with its status, behind an empty line. No body has a line of its own that does.
    const answers = response.body
      .split("\r\nHTTP/1.1 ")
      .slice(1)
      .map((answer) => ({ status: Number.parseInt(answer, 10), answer }));
    const failed = answers.find(({ status }) => !(status < 300));
    if (failed !== undefined || answers.length !== all.length) {
      const { status, answer } = failed ?? { status: 500, answer: response.body };
      throw this.service.failedAction(status, answer.split("\r\n").find((line) => line.startsWith("{")) ?? answer, header(response, "x-ms-request-id"));
    }
    return answers.map(({ answer }) => ({ etag: /\r\netag: *(.*?)\r\n/i.exec(answer)?.[1] }));
  }

  async enableStream(options: EntityStreamOptions): Promise<void> {
    const { expirationHours, originColumns, signal } = this.options(options, ["expirationHours", "originColumns"], "enableStream");
    // Every change has the keys.
    const stream = { enabled: true, expirationHours, originColumns: this.stored(originColumns, "originColumns", /^(Partition|Row)Key$/) };
    await this.door.db.updateTable({ tableName: this.fullName, stream, signal });
  }

  async disableStream(options: CallOptions = {}): Promise<void> {
    const { signal } = this.options(options, [], "disableStream");
    await this.door.db.updateTable({ tableName: this.fullName, stream: { enabled: false }, signal });
  }

  changes(options: EntityChangesOptions = {}): AsyncIterableIterator<EntityChange<T>> {
    // It begins with its first `next`.
    const changes = this.door.db.changes({ ...options, tableName: this.fullName });
    // A generator alone would end only after its next change.
    return {
      next: async () => {
        this.options(options, ["from", "once"], "changes");
        const next = await changes.next();
        return next.done === true ? next : { done: false, value: entityChange<T>(next.value) };
      },
      return: () => changes.return!() as Promise<IteratorReturnResult<undefined>>,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** Its name among the tables of the database. */
  private get fullName(): string {
    return `${this.service.account}/${this.name}`;
  }

  private get door(): Door {
    return this.service.door;
  }

  private options<O extends object>(options: O, known: readonly string[], what: string): O {
    return this.door.options(options, [...known, "signal"], what);
  }

  private async written(change: Change, options: CallOptions): Promise<EntityWritten> {
    const response = await this.service.change(change, options);
    return { etag: header(response, "etag")! };
  }

  private path(key: EntityKey, path: string): string {
    return entityPath(this.door, this.name, keysOf(this.door, key, path));
  }

  private create(entity: EntityKey, path: string): Change {
    return { method: "POST", path: this.name, headers: [JSON_BODY, NO_CONTENT], body: write(this.door, entity, path) };
  }

  private update(entity: EntityKey, mode: UpdateMode, etag: string | undefined, path: string): Change {
    this.door.check(mode, Object.keys(METHOD), "mode");
    const body = write(this.door, entity, path);
    return { method: METHOD[mode], path: this.path(entity, path), headers: [JSON_BODY, ...this.match(etag)], body };
  }

  private remove(key: EntityKey, etag: string, path: string): Change {
    return { method: "DELETE", path: this.path(key, path), headers: this.match(etag), body: undefined };
  }

  private match(etag: string | undefined): Headers {
    if (etag === undefined) return [];
    this.door.text(etag, "etag");
    // It becomes a line of a transaction.
    if (/[^\x20-\x7e]/.test(etag)) throw this.door.wrong("etag", "a string with other characters", "'*' or the etag of an entity");
    return [["If-Match", etag]];
  }

  private action(action: unknown, path: string): Change {
    const { door } = this;
    const [kind, entity, ...rest] = door.array(action, path) as [TransactionAction["0"], EntityKey, ...unknown[]];
    door.check(kind, ["create", "update", "upsert", "delete"], `${path}[0]`);
    const at = `${path}[1]`;
    const match = (options: unknown, place: number): string => {
      const { etag = "*" } = door.options((options === undefined ? {} : options) as MatchOptions, ["etag"], `${path}[${place}]`);
      return etag;
    };
    const most = { create: 0, delete: 1, update: 2, upsert: 1 }[kind];
    if (rest.length > most) throw door.wrong(`${path}[${most + 2}]`, kindOf(rest[most]), `left out: '${kind}' has none`);
    switch (kind) {
      case "create":
        return this.create(entity, at);
      case "delete":
        return this.remove(entity, match(rest[0], 2), at);
      default:
        return this.update(entity, (rest[0] ?? "Merge") as UpdateMode, kind === "update" ? match(rest[1], 3) : undefined, at);
    }
  }

  private selected(select: readonly string[] | undefined): string | undefined {
    // The answer would have such a name twice, and its null, the later one, hide the service's own value.
    return this.stored(select, "select", /odata\./, SYSTEM)?.join(",");
  }

  /** Names of properties as the service has them, each once. `refused`: those that are none. `more`: those that come in any case. */
  private stored(names: readonly string[] | undefined, path: string, refused: RegExp, more: Iterable<string> = []): string[] | undefined {
    if (names === undefined) return undefined;
    const found = this.door.array(names, path).map((given, at) => {
      this.door.text(given, `${path}[${at}]`);
      const name = OWN.get(given as string) ?? (given as string);
      if (refused.test(name)) throw this.door.wrong(`${path}[${at}]`, shown(given), "the name of a property");
      return name;
    });
    return [...new Set([...more, ...found])];
  }

  private next(continuation: string | undefined): readonly (string | undefined)[] {
    if (continuation === undefined) return [];
    try {
      const next = JSON.parse(continuation) as (string | null)[];
      if (Array.isArray(next) && typeof next[0] === "string") return [next[0], next[1] ?? undefined];
    } catch {
      // Told below.
    }
    throw this.door.wrong("continuation", kindOf(continuation), "the continuation of a page");
  }
}

/**
 * The tables of an account of the Azure Table service [Z1], [Z2], [Z3]. Nothing is asked by this; an account needs no making.
 *
 * Accounts keep their tables apart from each other and from the instance's other tables: `listTable` does not name them.
 *
 * @param account 3 to 24 letters and digits. Case does not distinguish accounts.
 * @throws `OTSParameterInvalid` for a wrong argument.
 * @example
 * ```ts
 * import { azure, odata } from "tabstore/azure";
 *
 * const readings = await azure(db, "demo").createTable<{ temperature: number; wet: boolean }>("readings");
 * const { etag } = await readings.createEntity({ partitionKey: "sea", rowKey: "1", temperature: 12.8, wet: true });
 * await readings.updateEntity({ partitionKey: "sea", rowKey: "1", wet: false }, "Merge", { etag });
 * for await (const one of readings.listEntities({ filter: odata`PartitionKey eq ${"sea"} and temperature gt ${10}` })) {
 *   console.log(one.rowKey, one.temperature, one.timestamp);
 * }
 * ```
 */
export function azure(db: Database, account: string): AzureAccount {
  const service = new Service(db, account);
  const { door } = service;
  return {
    name: service.account,
    async createTable<T extends object>(name: string, options: CallOptions = {}): Promise<AzureTable<T>> {
      door.text(name, "name");
      const body = JSON.stringify({ TableName: name });
      await service.ask("POST", "Tables", [JSON_BODY, NO_CONTENT], body, door.options(options, ["signal"], "createTable"));
      return new Table(service, service.table(name));
    },
    async deleteTable(name, options = {}) {
      door.text(name, "name");
      const path = `Tables(${encoded(door, quoted(name), "name")})`;
      await service.ask("DELETE", path, [], undefined, door.options(options, ["signal"], "deleteTable"));
    },
    async *listTables(options = {}) {
      const { filter, signal } = door.options(options, ["filter", "signal"], "listTables");
      if (filter !== undefined) door.text(filter, "filter");
      let NextTableName: string | undefined;
      do {
        const response = await service.ask("GET", `Tables${service.query({ $filter: filter, NextTableName })}`, [], undefined, { signal });
        for (const { TableName } of (JSON.parse(response.body) as { value: { TableName: string }[] }).value) yield TableName;
        NextTableName = header(response, "x-ms-continuation-nexttablename");
      } while (NextTableName !== undefined);
    },
    table<T extends object>(name: string): AzureTable<T> {
      return new Table(service, service.table(name));
    },
  };
}

/**
 * The names of the accounts that have tables, sorted [Z1].
 *
 * @example
 * ```ts
 * import { azure, azureAccounts } from "tabstore/azure";
 *
 * for (const account of await azureAccounts(db)) {
 *   for await (const table of azure(db, account).listTables()) console.log(account, table);
 * }
 * ```
 */
export async function azureAccounts(db: Database, options: CallOptions = {}): Promise<string[]> {
  const door = new Door(db, "off");
  const tables = await door.tables(door.options(options, ["signal"], "azureAccounts"));
  return [...new Set(tables.map((name) => name.slice(0, name.indexOf("/"))))];
}
