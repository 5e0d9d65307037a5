/** What the tables of one open database share. */

import { Beside } from "../beside.js";
import type { Database } from "../types/database.js";
import type { Double } from "../types/values.js";

/** The database, its errors, and the Doubles of its entry: another entry's are another class. */
export class Context extends Beside {
  /** Takes an open database. */
  constructor(
    db: Database,
    readonly double: (value: number) => Double,
  ) {
    super(db);
  }
}
