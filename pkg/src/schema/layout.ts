/** A table of a schema as the store needs it: its columns in order, its indexes, and the request that creates it. */

import { ANY_OFFSET } from "../beside-tables.js";
import { shown } from "../codec/kinds.js";
import type { DefinedColumn, CreateTableRequest } from "../types/tables.js";
import type { KeyType } from "../types/data.js";
import type { AnyColumn, Codec } from "./columns.js";
import type { TableSpec } from "./types.js";

/** A column with its name. */
export interface Field {
  readonly name: string;
  readonly column: AnyColumn;
  /** Its codec's. Here, as the next two, because each row asks for them. */
  readonly kind: Codec<unknown>["kind"];
  /** Whether it is in the key of the table. */
  readonly isKey: boolean;
  /** Whether each stored row has it: given, by default, or by the store. */
  readonly isWhole: boolean;
}

/** Rows in an order: of the table, or of an index. */
export interface Order {
  /** The table or the index as the store knows it. */
  readonly tableName: string;
  /** The columns of its key. */
  readonly key: readonly Field[];
  /** All columns of its rows. */
  readonly fields: readonly Field[];
  /** The number of columns that each row has. */
  readonly whole: number;
  /** Columns by their places in a row that was read: the next one mostly has the same. */
  readonly places: Field[];
}

const orderOf = (tableName: string, key: readonly Field[], fields: readonly Field[]): Order => ({
  tableName,
  key,
  fields,
  whole: fields.filter(({ isWhole }) => isWhole).length,
  places: [],
});

/** The most attribute columns that a table may define, and an index may hold [T8]. */
const MOST_DEFINED = 32;
const DAY = 86_400;
const KEYS: ReadonlySet<string> = new Set<KeyType>(["STRING", "INTEGER", "BINARY"]);
const SPEC = ["columns", "key", "indexes", "timeToLive", "changesFor"];

/** The seconds of a time to live. */
function secondsOf(time: number | string): number {
  if (typeof time === "number") return time;
  const [, count, unit] = /^(\d+)([dw])$/.exec(time) ?? [];
  if (count === undefined) throw new TypeError(`The time to live is ${shown(time)}; it must be seconds, or a text such as '30d' or '4w'.`);
  return Number(count) * (unit === "d" ? DAY : 7 * DAY);
}

/** A table of a schema. Wrong declarations are refused here, with a TypeError: they are mistakes of the program. */
export class Layout {
  readonly fields: readonly Field[];
  readonly key: readonly Field[];
  readonly attributes: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  readonly base: Order;
  /** Whether a key is one column, and the store has its values as the program has them. */
  readonly isPlainKey: boolean;
  /** The column of the key whose value the store gives, if there is one. */
  readonly auto: string | undefined;
  readonly indexes: ReadonlyMap<string, Order>;
  readonly request: CreateTableRequest;
  /** The columns that keep versions. */
  readonly versioned: ReadonlySet<string>;
  /** The table of their versions, if the table itself cannot keep them because of its indexes; see history.ts. */
  readonly companion: CreateTableRequest | undefined;

  constructor(
    readonly name: string,
    spec: TableSpec,
  ) {
    const unknown = Object.keys(spec).find((one) => !SPEC.includes(one));
    if (unknown !== undefined) throw this.wrong(`has '${unknown}'; known are: ${SPEC.join(", ")}`);
    const key = typeof spec.key === "string" ? [spec.key] : spec.key;
    this.fields = Object.entries(spec.columns).map(([column, type]) => ({
      name: column,
      column: type,
      kind: type.codec.kind,
      isKey: key.includes(column),
      isWhole: type.presence !== "optional",
    }));
    this.byName = new Map(this.fields.map((field) => [field.name, field]));
    this.key = this.named(key, "its key");
    this.attributes = this.fields.filter(({ isKey }) => !isKey);
    for (const {
      name: column,
      column: { presence },
    } of this.key) {
      if (presence === "optional" || presence === "default")
        throw this.wrong(`has the key column '${column}', which each row must have: it is not optional, and has no default`);
    }
    const [first] = this.key;
    this.isPlainKey = this.key.length === 1 && (first.kind !== undefined || first.column.codec.encode === first.column.codec.decode);
    this.auto = this.key.find(({ column }) => column.presence === "auto")?.name;
    const stray = this.attributes.find(({ column }) => column.presence === "auto");
    if (stray !== undefined) throw this.wrong(`lets the store give '${stray.name}', which is no column of its key`);
    this.base = orderOf(name, this.key, this.fields);
    const specs = Object.entries(spec.indexes ?? {}).map(([index, given]) => {
      const { key, columns } = "key" in given ? given : { key: given, columns: undefined };
      return { index, key: this.named(key, `its index '${index}'`), columns };
    });
    if (specs.length > 0 && spec.timeToLive !== undefined)
      throw this.wrong("has a time to live and indexes: delete old rows by an index of their time instead");
    const orders = new Map<string, Order>();
    const indexes = specs.map(({ index, key, columns }) => {
      const tableName = `${name}_${index}`;
      const all = [...new Set([...key, ...this.key])];
      const fields = columns === undefined ? this.fields : [...new Set([...all, ...this.named(columns, `the columns of its index '${index}'`, false)])];
      orders.set(index, orderOf(tableName, all, fields));
      return {
        indexName: tableName,
        primaryKey: key.map((field) => field.name),
        columns: fields.filter((field) => !all.includes(field)).map((field) => field.name),
      };
    });
    this.indexes = orders;
    const defined = new Set([...indexes.flatMap(({ primaryKey, columns }) => [...primaryKey, ...columns])].filter((column) => !this.byName.get(column)!.isKey));
    if (defined.size > MOST_DEFINED)
      throw this.wrong(`has ${defined.size} columns in its indexes, and the store allows ${MOST_DEFINED}: name fewer, as in { key: [...], columns: [...] }`);
    const definedColumns: DefinedColumn[] = [...defined].map((column) => ({ name: column, type: this.byName.get(column)!.column.stored }));
    this.versioned = new Set(this.attributes.filter(({ column }) => column.keeps > 1).map((field) => field.name));
    const keeps = Math.max(1, ...this.attributes.map(({ column }) => column.keeps));
    const isBeside = keeps > 1 && specs.length > 0;
    if (isBeside && orders.has("versions"))
      throw this.wrong("has an index 'versions', and a table of that name holds its versions: give the index another name");
    this.companion = isBeside
      ? {
          tableName: `${name}_versions`,
          primaryKey: this.key.map(({ name: column, column: { stored } }) => ({ name: column, type: stored as KeyType })),
          maxVersions: keeps,
          // A row that was there before begins with the version that it has.
          maxVersionOffset: ANY_OFFSET,
          timeToLive: -1,
        }
      : undefined;
    this.request = {
      tableName: name,
      primaryKey: this.key.map(({ name: column, column: { stored, presence } }) => ({
        name: column,
        type: stored as KeyType,
        ...(presence === "auto" ? { autoIncrement: true, allowChosen: true } : {}),
      })),
      maxVersions: isBeside ? 1 : keeps,
      timeToLive: spec.timeToLive === undefined ? -1 : secondsOf(spec.timeToLive),
      definedColumns,
      indexes,
      ...(spec.changesFor === undefined ? {} : { stream: { enabled: true, expirationHours: spec.changesFor } }),
    };
  }

  /** The columns of a key by their names. */
  private named(names: readonly string[], where: string, forKey = true): Field[] {
    return names.map((name) => {
      const field = this.byName.get(name);
      if (field === undefined) throw this.wrong(`has no column '${name}', which is in ${where}`);
      if (forKey && !KEYS.has(field.column.stored))
        throw this.wrong(`has the ${field.column.stored} '${name}' in ${where}: a key has texts, integers, dates and bytes`);
      return field;
    });
  }

  private wrong(what: string): TypeError {
    return new TypeError(`The table '${this.name}' ${what}.`);
  }
}
