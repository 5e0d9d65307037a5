/** Makes a request of a line, with the key of its table. */

import type {
  CreateTableRequest,
  DeleteRowRequest,
  Filter,
  GetRowRequest,
  KeyColumn,
  PrimaryKey,
  PutRowRequest,
  ReadOptions,
  ScanRequest,
  UpdateRowRequest,
  UpdateTableRequest,
} from "../index.js";
import { INF_MAX, INF_MIN } from "../types/values.js";
import { ShellError } from "./errors.js";
import { readJson } from "./json.js";
import type { ParsedLine } from "./parse.js";
import type { ToolRow } from "./tool-rows.js";
import { attributesOf, boundOf, countersOf, filterOf, integerOf, keyOf, type MakeDouble, schemaOf, versionsOf } from "./values.js";
import { type Word, within } from "./words.js";

/** A request that a line stands for, by the method of {@link Database} that does it. */
export type ShellRequest =
  | { readonly operation: "createTable"; readonly request: CreateTableRequest }
  | { readonly operation: "updateTable"; readonly request: UpdateTableRequest }
  | { readonly operation: "deleteTable"; readonly request: { readonly tableName: string } }
  | { readonly operation: "putRow"; readonly request: PutRowRequest }
  | { readonly operation: "updateRow"; readonly request: UpdateRowRequest }
  | { readonly operation: "deleteRow"; readonly request: DeleteRowRequest }
  | { readonly operation: "getRow"; readonly request: GetRowRequest }
  | { readonly operation: "scan"; readonly request: ScanRequest };

/** A table as lines need it: its name, and the columns of its key. */
export interface TableKey {
  readonly tableName: string;
  readonly primaryKey: readonly KeyColumn[];
}

/** The values of a line's options. */
export class Options {
  constructor(
    private readonly line: ParsedLine,
    private readonly double: MakeDouble,
  ) {}

  /** The word of an option. */
  word(name: string): Word | undefined {
    return this.line.options.get(name);
  }

  has(name: string): boolean {
    return this.line.options.has(name);
  }

  text(name: string): string | undefined {
    return this.word(name)?.text;
  }

  /** What `read` makes of the word, if the option is given. */
  private given<T>(name: string, read: (word: Word) => T): T | undefined {
    const word = this.word(name);
    return word === undefined ? undefined : read(word);
  }

  /** An integer of at least `least`. */
  integer(name: string, least: number): number | undefined {
    return this.given(name, (word) => {
      const value = /^-?\d+$/.test(word.text) ? Number(word.text) : Number.NaN;
      if (Number.isSafeInteger(value) && value >= least) return value;
      throw new ShellError(`'${word.text}' is no integer${Number.isFinite(least) ? ` of at least ${least}` : ""}`, word);
    });
  }

  /** A time in ms, of 64 bits. */
  time(name: string): number | bigint | undefined {
    return this.given(name, (word) => {
      if (!/^-?\d+$/.test(word.text)) throw new ShellError(`'${word.text}' is no time in ms since 1970`, word);
      return integerOf(word.text, word);
    });
  }

  boolean(name: string): boolean | undefined {
    return this.given(name, (word) => {
      if (!/^(?:true|false)$/i.test(word.text)) throw new ShellError(`'${word.text}' is neither true nor false`, word);
      return word.text.toLowerCase() === "true";
    });
  }

  /** One of the option's words. */
  choice(name: string): string | undefined {
    return this.given(name, (word) => {
      const known = this.line.spec.options.find((option) => option.name === name)!.type as readonly string[];
      if (!known.includes(word.text)) throw new ShellError(`'${word.text}' is none of ${known.join(", ")}`, word);
      return word.text;
    });
  }

  /** Names with commas between. */
  names(name: string): string[] | undefined {
    return this.given(name, (word) => {
      const names = word.text.split(",").map((one) => one.trim());
      const empty = names.indexOf("");
      if (empty < 0) return names;
      const from = names.slice(0, empty).reduce((length, one) => length + one.length + 1, 0);
      throw new ShellError("A name is missing between the commas", word.text === "" ? word : within(word, Math.max(from - 1, 0), Math.max(from, 1)));
    });
  }

  filter(name: string): Filter | undefined {
    return this.given(name, (word) => filterOf(readJson(word), this.double));
  }
}

/** Leaves out what is `undefined`. */
function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** The options and the throughput of a table. */
function settingsOf(options: Options) {
  const [read, write] = [options.integer("read_cu", 0), options.integer("write_cu", 0)];
  return defined({
    timeToLive: options.integer("ttl", -1),
    maxVersions: options.integer("version", 1),
    maxVersionOffset: options.integer("max_version_offset", 1),
    allowUpdate: options.boolean("allow_update"),
    reservedThroughput: read === undefined && write === undefined ? undefined : defined({ read, write }),
  });
}

/** The request of `create`. */
export function createRequest(options: Options): CreateTableRequest {
  options.choice("model");
  const { reservedThroughput, ...settings } = settingsOf(options);
  return {
    tableName: options.text("table")!,
    primaryKey: schemaOf(readJson(options.word("pk")!)),
    ...settings,
    ...(reservedThroughput === undefined ? {} : { reservedThroughput: Object.assign({ read: 0, write: 0 }, reservedThroughput) }),
  };
}

/** The request of `alter`. */
export function alterRequest(line: ParsedLine, options: Options, tableName: string): UpdateTableRequest {
  const settings = settingsOf(options);
  if (Object.keys(settings).length === 0)
    throw new ShellError("'alter' changes nothing without an option: give --ttl, --version, --read_cu or --write_cu", line.place);
  return { tableName, ...settings };
}

const EXISTENCE = { ignore: "IGNORE", exist: "EXPECT_EXIST", not_exist: "EXPECT_NOT_EXIST" } as const;

/** The condition of a write. `ignore` is the default of requests too. */
function conditionOf(options: Options) {
  const existence = options.choice("condition") as keyof typeof EXISTENCE | undefined;
  const column = options.filter("if");
  const condition = defined({ rowExistence: existence === undefined || existence === "ignore" ? undefined : EXISTENCE[existence], column });
  return Object.keys(condition).length === 0 ? {} : { condition };
}

/** What a put or an update of an auto-increment key gives back: the key. */
const returned = (primaryKey: object): { returnContent?: "PRIMARY_KEY" } =>
  Object.values(primaryKey).some((value) => typeof value === "object" && value !== null && "autoIncrement" in value) ? { returnContent: "PRIMARY_KEY" } : {};

/** Which versions and columns to read. */
function readOptions(options: Options): ReadOptions {
  const [start, end, version] = (["start", "end", "specific"] as const).map((name) => options.time(`time_range_${name}`));
  const half = options.word(start === undefined ? "time_range_end" : "time_range_start");
  if (version === undefined && (start === undefined) !== (end === undefined)) throw new ShellError("A range of versions has a start and an end", half!);
  const other = options.word("max_version") ?? half;
  if (version !== undefined && other !== undefined) throw new ShellError("Beside --time_range_specific this has no sense: one version is read", other);
  const timeRange = version !== undefined ? { version } : start !== undefined && end !== undefined ? { start, end } : undefined;
  return defined({
    columnsToGet: options.names("columns"),
    maxVersions: options.integer("max_version", 1),
    timeRange,
    filter: options.filter("filter"),
  });
}

/** The range of `scan` and `export`. */
export function rangeOf(options: Options, { primaryKey }: TableKey, backward: boolean) {
  const [first, last] = backward ? [INF_MAX, INF_MIN] : [INF_MIN, INF_MAX];
  const [begin, end] = [options.word("begin"), options.word("end")];
  return defined({
    start: begin === undefined ? undefined : boundOf(readJson(begin), primaryKey, first),
    end: end === undefined ? undefined : boundOf(readJson(end), primaryKey, last),
  });
}

/** The request of a line about rows. `file` is the row of `-i`: it stands for the key and the columns of the line. */
export function rowRequest(line: ParsedLine, options: Options, table: TableKey, double: MakeDouble, file?: ToolRow): ShellRequest {
  const { tableName, primaryKey: columns } = table;
  const key = (isNew: boolean) => file?.primaryKey ?? keyOf(readJson(options.word("pk")!), columns, isNew);
  const attributes = options.word("attr");
  const written = file?.attributes ?? (attributes === undefined ? undefined : attributesOf(readJson(attributes), double));
  switch (line.command) {
    case "put": {
      const primaryKey = key(true);
      return {
        operation: "putRow",
        request: { tableName, primaryKey, ...(written && { attributes: written }), ...conditionOf(options), ...returned(primaryKey) },
      };
    }
    case "update":
      return { operation: "updateRow", request: updateRequest(options, tableName, key(true), written) };
    case "delete":
      return { operation: "deleteRow", request: { tableName, primaryKey: key(false) as PrimaryKey, ...conditionOf(options) } };
    case "get":
      return { operation: "getRow", request: { tableName, primaryKey: key(false) as PrimaryKey, ...readOptions(options) } };
    case "scan": {
      const backward = options.has("backward");
      const limit = options.integer("limit", 1);
      const range = rangeOf(options, table, backward);
      const direction = backward ? ({ direction: "BACKWARD" } as const) : {};
      return { operation: "scan", request: { tableName, ...direction, ...range, ...readOptions(options), ...(limit === undefined ? {} : { limit }) } };
    }
    default:
      throw new ShellError(`'${line.command}' is no command about one row`, line.place);
  }
}

/** The request of `update`. */
function updateRequest(options: Options, tableName: string, primaryKey: UpdateRowRequest["primaryKey"], put: UpdateRowRequest["put"]): UpdateRowRequest {
  const [versions, counters] = [options.word("delete_versions"), options.word("increment")];
  const increment = counters === undefined ? undefined : countersOf(readJson(counters));
  const changes = defined({
    put,
    deleteColumns: options.names("delete_columns"),
    deleteVersions: versions === undefined ? undefined : versionsOf(readJson(versions)),
    increment,
  });
  const back = increment === undefined ? returned(primaryKey) : { returnContent: { afterModify: Object.keys(increment) } };
  return { tableName, primaryKey, ...changes, ...conditionOf(options), ...back };
}
