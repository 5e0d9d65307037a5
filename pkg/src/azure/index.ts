/**
 * The Azure Table service on TabStore: accounts, tables, entities and their properties [Z1], [Z2], [Z3].
 *
 * This module is the entry `tabstore/azure`. It works beside each of the other entries, in followers, and in Node. There are two
 * ways in. {@link azure} is for applications that are written for TabStore. {@link azureHttpClient} is for those that use
 * `@azure/data-tables`: they stay as they are. The code of the service is in the engine; it is loaded on first use.
 *
 * @module
 */

export { azure, azureAccounts } from "./account.js";
export { entityChange } from "./changes.js";
export { azureHttpClient } from "./http-client.js";
export type * from "./types.js";
export { odata } from "./values.js";
