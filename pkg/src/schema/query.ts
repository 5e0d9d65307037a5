/** Rows in the order of a key, read when they are asked for. */

import { shown } from "../codec/kinds.js";
import type { CallOptions, KeyValue, PrimaryKey } from "../types/data.js";
import { col, type Filter } from "../types/filter.js";
import type { LiveCount } from "../types/live.js";
import type { Row } from "../types/row.js";
import type { ScanRequest } from "../types/rows.js";
import { EMPTY, LiveRows, ZERO } from "./live-rows.js";
import { keyOfToken, tokenOf } from "./page-token.js";
import { type KeyRange, rangeOf, reversed, wholeRange } from "./range.js";
import type { RowCodec } from "./row-codec.js";
import type { Field, Order } from "./layout.js";
import type { LiveRowsOf, Page, PageOptions } from "./types.js";

/** Rows deleted in one batch, at most [R7]. */
const BATCH = 200;
/** A row that lacks the column is not what was asked for. */
const PRESENT = { passIfMissing: false };

/** What a query asks for. */
export interface Asked {
  readonly range: KeyRange;
  readonly filter?: Filter | undefined;
  readonly isReverse?: boolean;
  readonly limit?: number | undefined;
}

/** The rows of an empty range. */
async function* none(): AsyncGenerator<Row, void, undefined> {}

/** The key of a row of an index or of the table, as the table's key. */
const keyIn = (row: Row, key: readonly Field[]): PrimaryKey => Object.fromEntries(key.map(({ name }) => [name, row.get(name) as KeyValue]));

/** A `Query` of types.ts. Types are checked where it is handed out. */
export class OrderedQuery {
  constructor(
    readonly codec: RowCodec,
    readonly order: Order,
    private readonly asked: Asked = { range: wholeRange(order.key) },
  ) {}

  range(part: unknown): OrderedQuery {
    return this.with({ range: rangeOf(this.codec, this.order.key, part) });
  }

  where(condition: unknown): OrderedQuery {
    const filter = this.filterOf(condition);
    const before = this.asked.filter;
    return this.with({ filter: before === undefined || filter === undefined ? (filter ?? before) : { operator: "AND", filters: [before, filter] } });
  }

  reverse(): OrderedQuery {
    return this.with({ isReverse: !(this.asked.isReverse ?? false) });
  }

  limit(rows: number): OrderedQuery {
    if (!Number.isSafeInteger(rows) || rows < 1) throw this.codec.context.wrong("rows", shown(rows), "an integer of at least 1");
    return this.with({ limit: Math.min(rows, this.asked.limit ?? rows) });
  }

  /** What it asks for, so that two queries can be compared. */
  toJSON(): object {
    return { tableName: this.order.tableName, ...this.asked };
  }

  /** The open database that it belongs to. */
  get owner(): object {
    return this.codec.context;
  }

  /** No generator around the scan's own: each costs a promise a row. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Record<string, unknown>> {
    const { codec, order } = this;
    const rows = this.stored({});
    const made = (next: IteratorResult<Row, unknown>): IteratorResult<Record<string, unknown>, undefined> => {
      if (next.done) return { done: true, value: undefined };
      try {
        return { done: false, value: codec.row(next.value, order) };
      } catch (error) {
        void rows.return?.();
        throw error;
      }
    };
    return {
      next: () => rows.next().then(made),
      return: async () => {
        await rows.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async toArray(options?: CallOptions): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for await (const page of this.pages(options)) for (const row of page) rows.push(this.codec.row(row, this.order));
    return rows;
  }

  async first(options?: CallOptions): Promise<Record<string, unknown> | undefined> {
    return (await this.limit(1).toArray(options))[0];
  }

  async page({ after, limit = 50, signal }: PageOptions = {}): Promise<Page<Record<string, unknown>>> {
    const { limit: most, ...rest } = this.request({ signal });
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > 5000) throw this.codec.context.wrong("limit", shown(limit), "an integer from 1 to 5000");
    if (this.asked.range.isEmpty) return { rows: [], next: null };
    const begun = typeof after === "string" ? keyOfToken(this.codec, this.order, after) : { read: 0, key: undefined };
    const left = most === undefined ? limit : Math.min(limit, most - begun.read);
    const rows: Record<string, unknown>[] = [];
    let start = begun.key ?? rest.start;
    // A call may end early, because of its bytes or of rows that do not pass.
    for (;;) {
      if (left <= rows.length) break;
      const { rows: read, nextStartPrimaryKey } = await this.db.getRange({ ...rest, start, limit: left - rows.length });
      rows.push(...read.map((row) => this.codec.row(row, this.order)));
      if (nextStartPrimaryKey === null) return { rows, next: null };
      start = nextStartPrimaryKey;
    }
    const read = begun.read + rows.length;
    return { rows, next: read === most ? null : tokenOf(this.order, start as PrimaryKey, read) };
  }

  async count(options?: CallOptions): Promise<number> {
    const { limit, range } = this.asked;
    const { signal } = options ?? {};
    if (range.isEmpty || limit !== undefined) {
      let count = 0;
      for await (const page of this.pages(options)) count += page.length;
      return count;
    }
    const { filter } = this.asked;
    const { start, end } = range;
    return (await this.db.count({ tableName: this.order.tableName, start, end, filter, signal })).count;
  }

  async delete(options?: CallOptions): Promise<number> {
    const {
      layout: { name: tableName, key, companion },
    } = this.codec;
    const {
      range: { isEmpty, start, end },
      filter,
      limit,
    } = this.asked;
    const { signal } = options ?? {};
    if (isEmpty) return 0;
    // The engine does it where the range is one of the table. Versions go first: a row can be without them, and not they without it.
    if (limit === undefined && this.order.tableName === tableName && (companion === undefined || filter === undefined)) {
      if (companion !== undefined) await this.db.deleteRange({ tableName: companion.tableName, start, end, signal });
      return (await this.db.deleteRange({ tableName, start, end, filter, signal })).count;
    }
    let count = 0;
    let keys: PrimaryKey[] = [];
    const send = async (): Promise<void> => {
      for (const from of companion === undefined ? [tableName] : [companion.tableName, tableName]) {
        const results = await this.db.batchWriteRow(
          keys.map((primaryKey) => ({ tableName: from, delete: { primaryKey } })),
          options,
        );
        for (const { ok, error } of results) {
          if (!ok) throw error;
          if (from === tableName) count += 1;
        }
      }
      keys = [];
    };
    for await (const row of this.stored(options)) {
      keys.push(keyIn(row, key));
      if (keys.length === BATCH) await send();
    }
    if (keys.length > 0) await send();
    return count;
  }

  watch(options?: CallOptions): LiveRowsOf<Record<string, unknown>> {
    return new LiveRows(this.asked.range.isEmpty ? EMPTY : this.db.watch(this.request(options)), (row) => this.codec.row(row, this.order));
  }

  watchCount(options?: CallOptions): LiveCount {
    const {
      limit,
      filter,
      range: { isEmpty, start, end },
    } = this.asked;
    if (limit !== undefined) throw this.codec.context.error("OTSParameterInvalid", "A live count has no limit.");
    return isEmpty ? ZERO : this.db.watchCount({ tableName: this.order.tableName, start, end, filter, signal: options?.signal });
  }

  /** The rows as they are stored. */
  private stored(options?: CallOptions): AsyncIterableIterator<Row> {
    return this.asked.range.isEmpty ? none() : this.db.scan(this.request(options));
  }

  private async *pages(options?: CallOptions): AsyncGenerator<readonly Row[], void, undefined> {
    if (!this.asked.range.isEmpty) yield* this.db.scanPages(this.request(options));
  }

  private get db(): RowCodec["context"]["db"] {
    return this.codec.context.db;
  }

  private request(options: CallOptions | undefined): ScanRequest {
    const { range, isReverse, filter, limit } = this.asked;
    const { start, end } = isReverse ? reversed(range) : range;
    return { tableName: this.order.tableName, direction: isReverse ? "BACKWARD" : "FORWARD", start, end, filter, limit, signal: options?.signal };
  }

  private with(changed: Partial<Asked>): OrderedQuery {
    return new OrderedQuery(this.codec, this.order, { ...this.asked, ...changed });
  }

  private filterOf(condition: unknown): Filter | undefined {
    const {
      codec,
      order: { fields },
    } = this;
    if (typeof condition === "function")
      return (condition as (columns: object) => Filter)(Object.fromEntries(fields.map((field) => [field.name, this.column(field)])));
    const equal = Object.entries(condition as Readonly<Record<string, unknown>>).map(([name, value]) => {
      // Left out by mistake it would let every row pass, also into a deletion.
      if (value === undefined)
        throw codec.context.error(
          "OTSParameterInvalid",
          `The condition gives '${name}' as undefined.`,
          "Leave the column out, or ask for rows without it by where((columns) => …).",
        );
      const field = fields.find((one) => one.name === name);
      if (field === undefined)
        throw codec.context.error(
          "OTSParameterInvalid",
          `There is no column '${name}' in '${this.order.tableName}'.`,
          `There are: ${fields.map((one) => one.name).join(", ")}.`,
        );
      return col(name).eq(codec.encode(field, value), PRESENT);
    });
    return equal.length > 1 ? { operator: "AND", filters: equal } : equal[0];
  }

  /** A column of a filter: its values have the column's type. */
  private column(field: Field): object {
    const column = col(field.name);
    const compare = (name: "eq" | "ne" | "gt" | "ge" | "lt" | "le") => (value: unknown, options?: object) =>
      column[name](this.codec.encode(field, value), { ...PRESENT, ...options });
    return {
      eq: compare("eq"),
      ne: compare("ne"),
      gt: compare("gt"),
      ge: compare("ge"),
      lt: compare("lt"),
      le: compare("le"),
      exists: () => column.exists(),
      notExists: () => column.notExists(),
    };
  }
}
