/** Which columns of a wide table are in sight: only they are drawn, so each of them has the same width. */

/** The width of an attribute column, in CSS pixels. */
export const COLUMN_WIDTH = 150;
/** The width of a key column. The first one stays in sight. */
export const KEY_WIDTH = 180;
/** Columns that are drawn at either side of those in sight: there the focus goes first. */
const BESIDE = 2;
/** Cells that are drawn within a frame or two. */
const MOST_CELLS = 1200;
/** So many columns are always drawn, each as wide as its values. */
const FEW_COLUMNS = 20;

/** What of a table is in sight. */
export interface Sight {
  /** How far it is scrolled to the right, and how wide the place is in which it scrolls, in CSS pixels. */
  readonly left: number;
  readonly width: number;
  /** Key columns before the others. */
  readonly keys: number;
}

/** Columns by their places, from 0, each range without its end. */
export interface ColumnWindow {
  /** Those that are drawn. */
  readonly first: number;
  readonly end: number;
  /** Those that are in sight, to the last one that is so as a whole. */
  readonly from: number;
  readonly to: number;
}

/** Whether a table has so many cells that only the columns in sight are drawn. */
export function isWide(columns: number, rows: number): boolean {
  return columns > FEW_COLUMNS && columns * rows > MOST_CELLS;
}

/** The window on so many columns. */
export function columnWindow(columns: number, { left, width, keys }: Sight): ColumnWindow {
  const place = Math.round((left - (keys - 1) * KEY_WIDTH) / COLUMN_WIDTH);
  const whole = Math.max(1, Math.floor((width - KEY_WIDTH) / COLUMN_WIDTH));
  const from = Math.min(Math.max(place, 0), Math.max(columns - whole, 0));
  const to = Math.min(from + whole, columns);
  // At either side a part of a column may be in sight too.
  return { from, to, first: Math.max(from - 1 - BESIDE, 0), end: Math.min(to + 1 + BESIDE, columns) };
}

/** How far a table is scrolled when a column is the first one in sight. */
export function leftOf(column: number, keys: number): number {
  return column === 0 ? 0 : column * COLUMN_WIDTH + (keys - 1) * KEY_WIDTH;
}
