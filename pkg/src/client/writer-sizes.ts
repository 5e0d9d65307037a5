/** How many rows and bytes a writer sends at once, and when. */

/** Rows of a BATCH_WRITE_ROW request [R2]. */
export const BATCH_ROWS = 200;
/** A batch of this size, as the service counts it, leaves at once. */
export const BATCH_BYTES = 1 << 20;
/** A row with a longer key, or with more columns, may be beyond a limit. */
export const MOST_KEY = 1024;
export const MOST_COLUMNS = 1024;
/** The most bytes of a batch [R2]. Our count is a little higher than the service's, so it errs on the safe side. */
export const BATCH_LIMIT = 4_000_000;
export const KEPT_FAILURES = 1000;
/** The first rows or bytes, which go in batches. Later ones may be loaded. */
export const FEW = 2000;
export const FEW_BYTES = 256 << 10;
/**
 * If a load had to be stored before it reached a fourth of these, this many rows or bytes go in batches: small segments
 * bring no gain.
 */
export const MANY = 20_000;
export const MANY_BYTES = 2 << 20;
/** The approximate rows and bytes of a PUT_ROWS request. */
export const LOAD_ROWS = 4096;
export const LOAD_BYTES = 256 << 10;
/** The bytes of a load before it is stored; the first loads have fewer, to show progress. */
export const STORE_BYTES = 8 << 20;
export const FIRST_STORE_BYTES = 1 << 20;
/** The wait of taken rows for others, in ms; longer while more keep coming. */
export const STORE_AFTER = 300;
