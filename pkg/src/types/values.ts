/** Values without a literal in JavaScript: the ends of a range, and keys assigned by the store. Doubles without a fraction are in double.ts. */

/** The kind of {@link INF_MIN}. */
export interface InfMin {
  readonly infinity: "min";
}
/** The kind of {@link INF_MAX}. */
export interface InfMax {
  readonly infinity: "max";
}
/** The kind of {@link AUTO_INCREMENT}. */
export interface AutoIncrement {
  readonly autoIncrement: true;
}

/** Smaller than every value of a key column; only for the ends of a range [R3]. */
export const INF_MIN: InfMin = /* @__PURE__ */ Object.freeze({ infinity: "min" });
/** Larger than every value of a key column; only for the ends of a range [R3]. */
export const INF_MAX: InfMax = /* @__PURE__ */ Object.freeze({ infinity: "max" });

/**
 * Stands for the value of an auto-increment key column in a new row. The store assigns a positive integer, larger than
 * all it has given before under the same partition key, but not necessarily the next one [R6]. Only for puts and updates,
 * without a condition; `returnContent: "PRIMARY_KEY"` returns the value.
 *
 * @example
 * ```ts
 * const { row } = await db.putRow({ tableName: "chat", primaryKey: { room: "lobby", id: AUTO_INCREMENT },
 *   attributes: { text: "hello" }, returnContent: "PRIMARY_KEY" });
 * row?.primaryKey.id                                  // 1
 * ```
 */
export const AUTO_INCREMENT: AutoIncrement = /* @__PURE__ */ Object.freeze({ autoIncrement: true });

/** The base of the package's own objects in requests, such as a Double. It is a value, never an object of columns. */
export abstract class Operand {}
