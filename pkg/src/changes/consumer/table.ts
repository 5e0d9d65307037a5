/** The table in which consumer groups keep their progress. */
export const TABLE = "__tabstore_consumers";
