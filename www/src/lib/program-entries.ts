/** What a program may import. The page writes it into the program's body, and the worker, which has no parser, gives it. */

/** Entries of the package that a program may import. Its code has no other modules. */
export const ENTRIES = ["tabstore", "tabstore/remote", "tabstore/schema", "tabstore/timeline"] as const;
/** One of them. */
export type Entry = (typeof ENTRIES)[number];

/** The name under which the body gets the function that loads an entry. */
export const LOADER = "loadEntry$";
