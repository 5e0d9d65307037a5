/**
 * What the records of a stream say about one row on one side, folded: for each cell the last word of the application, and whether the job
 * itself has undone it since. A stream has the job's own writes too, in the order in which they were done.
 */

import type { StreamRecord } from "../index.js";
import { changedValue, compareValues, isSame, type TypedValue, versionsOf } from "./cells.js";

/** The last word of the application about a cell. */
export interface Opinion {
  /** The value that was put; `undefined`: it was deleted. */
  readonly value: TypedValue | undefined;
  /** When, by the clock of the side. */
  readonly time: number;
  /** Whether a later write of the job says otherwise. */
  readonly isUndone: boolean;
}

/** See the top of the file. */
export class History {
  /** Cells with a word of their own. */
  readonly cells = new Map<string, Map<number, Opinion>>();
  /** When a whole column, and the whole row, was deleted last. Older words of its cells are gone then. */
  private readonly columns = new Map<string, number>();
  private rowDeleted: number | undefined;
  /** The last call that decides whether the row is there without a cell. */
  existence: { readonly exists: boolean; readonly time: number; readonly isUndone: boolean } | undefined;
  /** Whether the application has changed the row. */
  isChanged = false;

  /** Adds a record of the side's stream. `isOwn`: the job has made the change. */
  add(record: StreamRecord, isOwn: boolean): void {
    if (isOwn) this.undo(record);
    else this.take(record);
  }

  private take({ type, cells, timestamp: time }: StreamRecord): void {
    this.isChanged = true;
    if (type !== "UPDATE") {
      this.rowDeleted = time;
      this.columns.clear();
      this.cells.clear();
      this.existence = { exists: type === "PUT", time, isUndone: false };
    }
    for (const cell of cells) {
      if (cell.op === "DELETE_ALL") {
        this.columns.set(cell.name, time);
        this.cells.delete(cell.name);
        continue;
      }
      const value = cell.op === "PUT" ? changedValue(cell) : undefined;
      versionsOf(this.cells, cell.name).set(cell.version, { value, time, isUndone: false });
    }
  }

  /** Notes which words a write of the job contradicts. */
  private undo({ type, cells }: StreamRecord): void {
    // A value that is put makes the row, too.
    const isMade = type === "PUT" || (type === "UPDATE" && cells.some(({ op }) => op === "PUT"));
    if (this.existence !== undefined && (isMade || type === "DELETE")) this.existence = { ...this.existence, isUndone: isMade !== this.existence.exists };
    for (const [name, versions] of this.cells) {
      const written = cells.filter((cell) => cell.name === name);
      const isCleared = type !== "UPDATE" || written.some(({ op }) => op === "DELETE_ALL");
      for (const [version, opinion] of versions) {
        const own = written.find((cell) => cell.op !== "DELETE_ALL" && cell.version === version);
        if (own === undefined && !isCleared) continue;
        const value = own?.op === "PUT" ? changedValue(own) : undefined;
        // Of two values of one version the larger one stays.
        if (value !== undefined && opinion.value !== undefined && compareValues(value, opinion.value) > 0) continue;
        if (!isSame(value, opinion.value)) versions.set(version, { ...opinion, isUndone: true });
        else if (opinion.isUndone) versions.set(version, { ...opinion, isUndone: false });
      }
    }
    // A cell that was deleted with its column or row, and that the job has put again.
    for (const cell of cells) {
      if (cell.op !== "PUT" || this.cells.get(cell.name)?.has(cell.version)) continue;
      const opinion = this.opinion(cell.name, cell.version);
      if (opinion !== undefined) versionsOf(this.cells, cell.name).set(cell.version, { ...opinion, isUndone: true });
    }
  }

  /** The last word about a cell, if there is one. */
  opinion(name: string, version: number): Opinion | undefined {
    const own = this.cells.get(name)?.get(version);
    if (own !== undefined) return own;
    const time = this.columns.get(name) ?? this.rowDeleted;
    return time === undefined ? undefined : { value: undefined, time, isUndone: false };
  }

  /** Whether there is a word about a column, or any cell of it. */
  speaksOf(name: string): boolean {
    return this.rowDeleted !== undefined || this.columns.has(name) || this.cells.has(name);
  }

  /** The columns that it names, without those that only the deletion of the row reaches. */
  get names(): string[] {
    return [...this.cells.keys(), ...this.columns.keys()];
  }
}
