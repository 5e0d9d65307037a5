/** How many columns of a wide table are shown at a time: a page of all of them would take seconds to draw. */

/** Cells that are drawn without a wait that a person notices. */
const MOST_CELLS = 5000;
/** However many rows there are, a row is looked at by so many columns. */
const LEAST_COLUMNS = 20;

/** Columns that are shown: from `first`, counted from 0, and before `end`. */
export interface ColumnPage {
  readonly first: number;
  readonly end: number;
  /** How many are shown at a time. */
  readonly most: number;
}

/** The page of columns that `near` is on, for so many columns in all and so many rows. */
export function columnPage(total: number, rows: number, near: number): ColumnPage {
  const most = Math.max(LEAST_COLUMNS, Math.floor(MOST_CELLS / Math.max(rows, 1)));
  const first = Math.floor(Math.max(0, Math.min(near, total - 1)) / most) * most;
  return { first, end: Math.min(first + most, total), most };
}
