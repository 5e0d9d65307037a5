/**
 * Versions beside indexes. The store keeps an index in step only where each column has one version [T8]. So the versions are in a
 * companion table with the same key, and each write of such a column is one step over both tables.
 *
 * A row may have no companion yet, or one that does not agree with it: an import and the calls of the service write the row alone. So
 * each change of such a column looks at both before.
 *
 * Loaded on first use: it imports types alone, so it shares no code with its entry.
 */

import type { CallOptions, Cell, InputPrimaryKey, InputValue, PrimaryKey, Value } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { Row } from "../types/row.js";
import type {
  BatchWriteItem,
  Condition,
  DeleteRowRequest,
  GetRowRequest,
  GetRowResult,
  PutRowRequest,
  UpdateRow,
  UpdateRowRequest,
  WriteResult,
} from "../types/rows.js";
import type { Context } from "./context.js";
import type { Lanes } from "./lanes.js";
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

  /** `isNew` tells whether the store gives the key. */
  constructor(
    private readonly context: Context,
    private readonly layout: Layout,
    private readonly lanes: Lanes,
    private readonly isNew: (key: InputPrimaryKey) => boolean,
  ) {
    this.db = context.db;
    this.tableName = layout.name;
    this.companion = layout.companion!.tableName;
    this.names = layout.versioned;
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.lanes.read(request.primaryKey, () => this.db.getRow(request));
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.isNew(request.primaryKey) ? this.putNew(request) : this.lanes.run(request.primaryKey, () => this.put(request));
  }

  updateRow({ signal, tableName, ...update }: UpdateRowRequest): Promise<WriteResult> {
    const { primaryKey, put } = update;
    const { versions, names } = this.versionsOf(update);
    // A new row that the store gives its key has no companion to add to.
    if (this.isNew(primaryKey)) return this.putRow({ tableName, primaryKey, attributes: put, signal });
    return this.lanes.run(primaryKey, () =>
      names.length === 0 ? this.db.updateRow({ tableName, ...update, signal }) : this.change(update, versions, names, signal),
    );
  }

  deleteRow({ signal, tableName, ...row }: DeleteRowRequest): Promise<WriteResult> {
    const steps: BatchWriteItem[] = [
      { tableName, delete: row },
      { tableName: this.companion, delete: { primaryKey: row.primaryKey } },
    ];
    return this.lanes.run(row.primaryKey, async () => (await this.db.atomic(steps, callOf(signal)))[0]);
  }

  /** The values of a column, newest first. */
  versions(primaryKey: PrimaryKey, column: string, maxVersions: number, signal: AbortSignal | undefined): Promise<readonly Cell[]> {
    return this.lanes.read(primaryKey, () => this.cells(primaryKey, column, maxVersions, signal));
  }

  /** Takes the newest value of a column back. Gives the one before; `undefined`, and nothing changes, where there is none. */
  undo(primaryKey: PrimaryKey, field: Field, signal: AbortSignal | undefined): Promise<Value | undefined> {
    return this.lanes.run(primaryKey, () => this.takeBack(primaryKey, field, signal));
  }

  /** A write of a step, with that of the companion. */
  async withCompanion(item: BatchWriteItem, signal: AbortSignal | undefined): Promise<BatchWriteItem[]> {
    const tableName = this.companion;
    if (item.put !== undefined) {
      const { primaryKey, attributes } = item.put;
      return this.isNew(primaryKey) ? [item] : [item, { tableName, put: { primaryKey, attributes: part(attributes, this.names) } }];
    }
    if (item.delete !== undefined) return [item, { tableName, delete: { primaryKey: item.delete.primaryKey } }];
    const { versions, names } = this.versionsOf(item.update);
    if (names.length === 0) return [item];
    // Behind operations on the row that were called before.
    const isThere = await this.lanes.read(versions.primaryKey, () => this.mend(versions.primaryKey as PrimaryKey, names, signal));
    return [item, { tableName, update: isThere ? { ...versions, condition: THERE } : versions }];
  }

  /** What of a change the companion gets, and the names of these columns. */
  private versionsOf({ primaryKey, put, deleteColumns, increment }: UpdateRow): { readonly versions: UpdateRow; readonly names: readonly string[] } {
    const versions = {
      primaryKey,
      put: part(put, this.names),
      deleteColumns: deleteColumns?.filter((name) => this.names.has(name)) ?? [],
      increment: part(increment, this.names),
    };
    return { versions, names: [...Object.keys(versions.put), ...versions.deleteColumns, ...Object.keys(versions.increment)] };
  }

  private async put({ signal, tableName, ...put }: PutRowRequest): Promise<WriteResult> {
    const steps: BatchWriteItem[] = [
      { tableName, put },
      { tableName: this.companion, put: { primaryKey: put.primaryKey, attributes: part(put.attributes, this.names) } },
    ];
    return (await this.db.atomic(steps, callOf(signal)))[0];
  }

  /** A row whose key the store gives: the companion comes behind it. Without it the first change begins one. */
  private async putNew({ signal, ...put }: PutRowRequest): Promise<WriteResult> {
    const result = await this.db.putRow({ ...put, returnContent: "PRIMARY_KEY", signal });
    const { primaryKey } = result.row!;
    await this.lanes
      .run(primaryKey, () => this.db.putRow({ tableName: this.companion, primaryKey, attributes: part(put.attributes, this.names), condition: NEW, signal }))
      .catch(() => {});
    return result;
  }

  private async change(update: UpdateRow, versions: UpdateRow, names: readonly string[], signal: AbortSignal | undefined): Promise<WriteResult> {
    for (let tries = 1; ; tries++) {
      const isThere = await this.mend(update.primaryKey as PrimaryKey, names, signal);
      const steps: BatchWriteItem[] = [
        { tableName: this.tableName, update },
        { tableName: this.companion, update: isThere ? { ...versions, condition: THERE } : versions },
      ];
      try {
        return (await this.db.atomic(steps, callOf(signal)))[0];
      } catch (error) {
        // Another writer may have deleted the companion; the row's own condition fails again.
        if (tries === TRIES || !isThere || !this.context.isFailure(error, "OTSConditionCheckFail")) throw error;
      }
    }
  }

  private async cells(primaryKey: PrimaryKey, column: string, maxVersions: number, signal: AbortSignal | undefined): Promise<readonly Cell[]> {
    const [main, companion] = await this.both(primaryKey, signal, { columnsToGet: [column], maxVersions });
    const [now] = main?.columns[column] ?? [];
    if (now === undefined) return [];
    const before = companion?.columns[column] ?? [];
    return before.length > 0 && isSame(before[0].value, now.value) ? before : [now, ...before].slice(0, maxVersions);
  }

  private async takeBack(primaryKey: PrimaryKey, { name, column }: Field, signal: AbortSignal | undefined): Promise<Value | undefined> {
    for (let tries = 1; ; tries++) {
      await this.mend(primaryKey, [name], signal);
      const [newest, before] = await this.cells(primaryKey, name, 2, signal);
      if (newest === undefined || before === undefined) return undefined;
      const value = this.typed(column.stored, newest.value);
      const condition: Condition = { ...THERE, column: { column: name, comparator: "EQUAL", value, passIfMissing: false } };
      const steps: BatchWriteItem[] = [
        { tableName: this.tableName, update: { primaryKey, put: { [name]: this.typed(column.stored, before.value) }, condition } },
        { tableName: this.companion, update: { primaryKey, deleteVersions: { [name]: [newest.version] } } },
      ];
      try {
        await this.db.atomic(steps, callOf(signal));
        return before.value;
      } catch (error) {
        if (tries === TRIES || !this.context.isFailure(error, "OTSConditionCheckFail")) throw error;
      }
    }
  }

  /**
   * Makes the companion agree with the row, before it is added to: another writer may have written the row alone, as an import and the
   * calls of the service do, or a column keeps versions only since a while. Tells whether there is a row.
   */
  private async mend(primaryKey: PrimaryKey, names: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
    const [main, companion] = await this.both(primaryKey, signal, { maxVersions: 1 });
    const tableName = this.companion;
    if (main === null) {
      // The versions of a row that is gone are not those of the next one.
      if (companion !== null) await this.db.deleteRow({ tableName, primaryKey, signal });
      return false;
    }
    const put: Record<string, { value: InputValue; version: number }[]> = {};
    for (const name of companion === null ? this.names : names) {
      const [now] = main.columns[name] ?? [];
      const [last] = companion?.columns[name] ?? [];
      if (now === undefined || (last !== undefined && isSame(last.value, now.value))) continue;
      const version = Math.max(now.version, (last?.version ?? 0) + 1);
      put[name] = [{ value: this.typed(this.layout.byName.get(name)!.column.stored, now.value), version }];
    }
    if (companion === null) {
      await this.db.putRow({ tableName, primaryKey, attributes: put, condition: NEW, signal }).catch((error: unknown) => {
        // Another writer has begun it.
        if (!this.context.isFailure(error, "OTSConditionCheckFail")) throw error;
      });
    } else if (Object.keys(put).length > 0) {
      await this.db.updateRow({ tableName, primaryKey, put, signal });
    }
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
