/**
 * Typed tables: the entry `tabstore/schema`, beside any other entry. One declaration gives the tables, their indexes, and the types of
 * rows, keys, changes and filters.
 *
 * @packageDocumentation
 */

export { between, prefix } from "./range.js";
export { type AnyColumn, type Column, type Json, type Presence, t } from "./columns.js";
export { define } from "./define.js";
export type * from "./types.js";
