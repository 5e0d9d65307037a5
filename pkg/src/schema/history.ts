/**
 * Versions beside indexes. The store keeps an index in step only where each column has one version [T8]. So the versions are in a
 * companion table with the same key, and each write of such a column is one step over both tables.
 *
 * A row may have no companion yet: the store gave its key, or an import wrote it. It begins with the first change that needs it.
 */

import { AUTO_INCREMENT } from "../types/values.js";
import type { CallOptions, Cell, InputValue, KeyValue, PrimaryKey, Value } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { Row } from "../types/row.js";
import type {
  Condition,
  DeleteRowRequest,
  GetRowRequest,
  GetRowResult,
  InputPrimaryKey,
  PutRowRequest,
  UpdateRow,
  UpdateRowRequest,
  WriteResult,
} from "../types/rows.js";
import type { Context } from "./context.js";
import type { Field, Layout } from "./layout.js";

/** The calls of the store that rows need: of a database, of a transaction, or of a table with its companion. */
export type Store = Pick<Database, "putRow" | "updateRow" | "deleteRow" | "getRow">;

const NEW: Condition = { rowExistence: "EXPECT_NOT_EXIST" };
const THERE: Condition = { rowExistence: "EXPECT_EXIST" };
/** Tries of a step that other writers keep out. */
const TRIES = 8;

const callOf = (signal: AbortSignal | undefined): CallOptions => (signal === undefined ? {} : { signal });

/** The members of an object that are among some names. */
function part<T>(of: Readonly<Record<string, T>> | undefined, names: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(of ?? {}).filter(([name]) => names.has(name)));
}

function isSame(one: Value, other: Value): boolean {
  if (!(one instanceof Uint8Array && other instanceof Uint8Array)) return one === other;
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Writes rows of a table and their versions in its companion. */
export class HistoryStore implements Store {
  private readonly db: Database;
  private readonly tableName: string;
  private readonly companion: string;
  private readonly names: ReadonlySet<string>;

  constructor(
    private readonly context: Context,
    private readonly layout: Layout,
  ) {
    this.db = context.db;
    this.tableName = layout.name;
    this.companion = layout.companion!.tableName;
    this.names = layout.versioned;
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.db.getRow(request);
  }

  async putRow({ signal, tableName, ...put }: PutRowRequest): Promise<WriteResult> {
    const versions = part(put.attributes, this.names);
    if (Object.values(put.primaryKey).includes(AUTO_INCREMENT)) {
      const result = await this.db.putRow({ tableName, ...put, returnContent: "PRIMARY_KEY", signal });
      // Without it the first change begins the companion.
      await this.db.putRow({ tableName: this.companion, primaryKey: result.row!.primaryKey, attributes: versions, condition: NEW, signal }).catch(() => {});
      return result;
    }
    const [result] = await this.db.atomic(
      [
        { tableName, put },
        { tableName: this.companion, put: { primaryKey: put.primaryKey, attributes: versions } },
      ],
      callOf(signal),
    );
    return result;
  }

  async updateRow({ signal, tableName, ...update }: UpdateRowRequest): Promise<WriteResult> {
    const { primaryKey, put, deleteColumns, increment, condition } = update;
    const versions: UpdateRow = {
      primaryKey,
      put: part(put, this.names),
      deleteColumns: deleteColumns?.filter((name) => this.names.has(name)) ?? [],
      increment: part(increment, this.names),
      condition: THERE,
    };
    if (Object.keys(versions.put!).length + versions.deleteColumns!.length + Object.keys(versions.increment!).length === 0)
      return this.db.updateRow({ tableName, ...update, signal });
    // A new row that the store gives its key has no companion to add to.
    if (Object.values(primaryKey).includes(AUTO_INCREMENT)) return this.putRow({ tableName, primaryKey, attributes: put, signal });
    for (let tries = 1; ; tries++) {
      try {
        const [result] = await this.db.atomic(
          [
            { tableName, update },
            { tableName: this.companion, update: versions },
          ],
          callOf(signal),
        );
        return result;
      } catch (error) {
        if (tries === TRIES || !this.context.isFailure(error, "OTSConditionCheckFail") || !(await this.begin(primaryKey, condition, signal))) throw error;
      }
    }
  }

  async deleteRow({ signal, tableName, ...row }: DeleteRowRequest): Promise<WriteResult> {
    const [result] = await this.db.atomic(
      [
        { tableName, delete: row },
        { tableName: this.companion, delete: { primaryKey: row.primaryKey } },
      ],
      callOf(signal),
    );
    return result;
  }

  /** The values of a column, newest first. */
  async cells(primaryKey: PrimaryKey, column: string, maxVersions: number, signal: AbortSignal | undefined): Promise<readonly Cell[]> {
    const [main, companion] = await this.both(primaryKey, signal, { columnsToGet: [column], maxVersions });
    const [now] = main?.columns[column] ?? [];
    if (now === undefined) return [];
    const before = companion?.columns[column] ?? [];
    return before.length > 0 && isSame(before[0].value, now.value) ? before : [now, ...before].slice(0, maxVersions);
  }

  /** Takes the newest value of a column back. Gives the one before; `undefined` where there is none, and the row must have one. */
  async undo(primaryKey: PrimaryKey, { name, column }: Field, signal: AbortSignal | undefined): Promise<Value | undefined> {
    for (let tries = 1; ; tries++) {
      const [newest, before] = await this.cells(primaryKey, name, 2, signal);
      if (newest === undefined || (before === undefined && column.presence === "required")) return undefined;
      const value = this.typed(column.stored, newest.value);
      const condition: Condition = { ...THERE, column: { column: name, comparator: "EQUAL", value, passIfMissing: false } };
      const back = before === undefined ? { deleteColumns: [name] } : { put: { [name]: this.typed(column.stored, before.value) } };
      try {
        await this.db.atomic(
          [
            { tableName: this.tableName, update: { primaryKey, ...back, condition } },
            { tableName: this.companion, update: { primaryKey, deleteVersions: { [name]: [newest.version] } } },
          ],
          callOf(signal),
        );
        return before?.value;
      } catch (error) {
        if (tries === TRIES || !this.context.isFailure(error, "OTSConditionCheckFail")) throw error;
      }
    }
  }

  /** Begins the companion of a row with the values that the row has. `false`: the row itself does not meet the condition. */
  private async begin(key: InputPrimaryKey, condition: Condition | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    const primaryKey = key as PrimaryKey;
    const [main, companion] = await this.both(primaryKey, signal, { maxVersions: 1 });
    if (main === null && condition?.rowExistence === "EXPECT_EXIST") return false;
    if (companion !== null) return true;
    const attributes: Record<string, { value: InputValue; version: number }[]> = {};
    for (const name of this.names) {
      const [cell] = main?.columns[name] ?? [];
      if (cell !== undefined) attributes[name] = [{ value: this.typed(this.layout.byName.get(name)!.column.stored, cell.value), version: cell.version }];
    }
    await this.db.putRow({ tableName: this.companion, primaryKey, attributes, condition: NEW, signal }).catch((error: unknown) => {
      // Another writer has begun it.
      if (!this.context.isFailure(error, "OTSConditionCheckFail")) throw error;
    });
    return true;
  }

  private async both(
    primaryKey: PrimaryKey,
    signal: AbortSignal | undefined,
    options: { readonly columnsToGet?: readonly string[]; readonly maxVersions: number },
  ): Promise<(Row | null)[]> {
    const results = await this.db.batchGetRow(
      [
        { tableName: this.tableName, primaryKeys: [primaryKey], ...options, maxVersions: 1 },
        { tableName: this.companion, primaryKeys: [primaryKey], ...options },
      ],
      callOf(signal),
    );
    return results.map(([result]) => {
      if (!result.ok) throw result.error;
      return result.row;
    });
  }

  /** A stored value, to be stored again with its type. */
  private typed(stored: string, value: Value): InputValue {
    return stored === "DOUBLE" ? this.context.double(value as number) : value;
  }
}

/** The rows of one transaction. It cannot hold the companion, which is another table. */
export class TransactionStore implements Store {
  constructor(
    private readonly store: Store,
    private readonly context: Context,
    private readonly layout: Layout,
  ) {}

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.store.getRow(request);
  }

  putRow(): Promise<WriteResult> {
    return Promise.reject(this.refused("put or inserted"));
  }

  deleteRow(): Promise<WriteResult> {
    return Promise.reject(this.refused("deleted"));
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    const names = [...Object.keys(request.put ?? {}), ...(request.deleteColumns ?? []), ...Object.keys(request.increment ?? {})];
    const column = names.find((name) => this.layout.versioned.has(name));
    return column === undefined ? this.store.updateRow(request) : Promise.reject(this.refused(`changed in '${column}'`));
  }

  private refused(how: string): Error {
    return this.context.error(
      "OTSDataOutOfRange",
      `A row of '${this.layout.name}' cannot be ${how} in a transaction: its versions are in another table.`,
      "A table with indexes and versions has two tables. Change the row outside of the transaction, or keep the versions in a table without indexes.",
    );
  }
}

/** The key of a row of an index or of the table, as the table's key. */
export const keyIn = (row: Row, key: readonly Field[]): PrimaryKey => Object.fromEntries(key.map(({ name }) => [name, row.get(name) as KeyValue]));
