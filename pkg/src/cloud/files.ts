/** Imports and exports through a connection: the code is that of an instance in this browser. Loaded on first use. */

export { exportRows } from "../export/index.js";
export { exportInstance, importInstance } from "../export/instance.js";
export { importRows } from "../import/index.js";
