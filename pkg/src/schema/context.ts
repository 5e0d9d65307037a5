/** What the tables of one open database share. */

import { Beside } from "../beside.js";
import type { InputPrimaryKey } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { TabStoreError } from "../types/errors.js";
import type { Double } from "../types/double.js";

/** The database, its errors, and the Doubles of its entry: another entry's are another class. */
export class Context extends Beside {
  /** Takes an open database. */
  constructor(
    db: Database,
    readonly double: (value: number) => Double,
  ) {
    super(db);
  }

  /** The error of a condition that the library has set, not the caller: it says of which row, and why. */
  unmet({ code, message, status, requestId }: TabStoreError, tableName: string, key: InputPrimaryKey, why: string): TabStoreError {
    const text = JSON.stringify(key, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    return this.error(code, message, `Table '${tableName}', key ${text}: ${why}`, { status, requestId });
  }
}
