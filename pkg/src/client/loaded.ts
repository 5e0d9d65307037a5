/** The rows that a writer has handed to a load. */

import type { PutRowsResults } from "../codec/response.js";
import type { TabStoreError } from "../types/errors.js";

/** A frame of rows to load, and the places of those that were refused. */
export interface Loaded {
  readonly id: number;
  readonly loader: number;
  readonly first: number;
  readonly rows: number;
  readonly bytes: number;
  /** The rows with results of their own; if it is answered, all others were taken. */
  readonly others: Set<number>;
  answer: Promise<PutRowsResults> | undefined;
  answered: boolean;
  /** The bytes that the client keeps of it. */
  kept: number;
  /** The engine's load that took the rows; 0 if none did, or if it is unknown. */
  load: number;
  /** Its rows were asked for before they were taken, so they have to be asked for again. Or the error if that is impossible. */
  late: TabStoreError | boolean;
}
