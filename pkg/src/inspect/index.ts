/** A look inside the store. Loaded on first use. */

export { getRow, getStoredRow } from "./reads.js";
export { segment, segments } from "./segments.js";
export { followWork, getWorkEvents, pauseWork, resumeWork, stepWork } from "./work.js";
