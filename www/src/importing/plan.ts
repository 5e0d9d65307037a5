/** The plan for a file: which of its columns become which of the table, and which make the key. */

import type { CreateTableRequest, ImportColumn, ImportOptions, ImportPreview, KeyType, TableDescription, ValueType } from "tabstore";

/** The plan for a column of the file. */
export interface ColumnPlan {
  /** Its name in the file. */
  readonly source: string;
  /** Whether it is imported. */
  readonly taken: boolean;
  /** Its name in the table. */
  readonly name: string;
  /** Its type in the table. */
  readonly type: ValueType;
  /** Its place in the key, from 1; 0 for an attribute. */
  readonly key: number;
}

/** The plan for a file. */
export interface ImportPlan {
  readonly tableName: string;
  /** Versions that a new table keeps of each column, as typed. */
  readonly maxVersions: string;
  readonly columns: readonly ColumnPlan[];
  /** Whether a key column is filled with the number of the row. It comes after the columns of the file. */
  readonly numbered: boolean;
  /** The name of that column. */
  readonly numberColumn: string;
  /** The reaction to a row that cannot be stored. */
  readonly onError: "stop" | "skip";
  /** What to do with a row whose key is there; `undefined`: see {@link duplicatesOf}. */
  readonly onDuplicate: Duplicates | undefined;
  /** Whether the key is known to tell all rows of the file apart. */
  readonly knownKey: boolean;
}

/** What an import does with a row whose key is there. */
export type Duplicates = NonNullable<ImportOptions["onDuplicate"]>;

/** The most columns that a key has. */
export const MOST_KEY_COLUMNS = 4;

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;

/** Whether a text is a legal name of a table or column [T2]. */
export function legalName(name: string): boolean {
  return NAME.test(name);
}

/** The type a column has as part of a key, which knows only three. */
export function keyType(type: ValueType): KeyType {
  return type === "INTEGER" || type === "BINARY" ? type : "STRING";
}

/** Whether these columns tell all rows that were looked at apart. */
function unique(preview: ImportPreview, names: readonly string[]): boolean {
  const seen = new Set(preview.rows.map((row) => JSON.stringify(names.map((name) => String(row[name])))));
  return seen.size === preview.rows.length;
}

/**
 * A key that fits: one column that is never empty and never repeats, or else two of the first columns together. If
 * there is none, the row's number has to be the key. A number with a fraction makes a poor key and is passed over.
 */
export function suggestKey(preview: ImportPreview): readonly string[] {
  const fit = preview.columns.filter(({ complete, type }) => complete && type !== "DOUBLE" && type !== "BOOLEAN");
  const alone = fit.find((column) => column.unique);
  if (alone !== undefined) return [alone.source];
  const first = fit.slice(0, 4).map(({ source }) => source);
  for (const [at, one] of first.entries()) {
    for (const other of first.slice(at + 1)) if (unique(preview, [one, other])) return [one, other];
  }
  return [];
}

/** The plan to begin with. */
export function startPlan(preview: ImportPreview, tableName: string, key: readonly string[], knownKey = false): ImportPlan {
  const names = new Set(preview.columns.map(({ name }) => name));
  let numberColumn = "row";
  while (names.has(numberColumn)) numberColumn = `${numberColumn}_number`;
  return {
    tableName,
    maxVersions: "1",
    columns: preview.columns.map(({ source, name, type }) => ({ source, name, type, taken: true, key: key.indexOf(source) + 1 })),
    numbered: key.length === 0,
    numberColumn,
    onError: "stop",
    onDuplicate: undefined,
    knownKey,
  };
}

/**
 * What the import does with a row whose key is there, unless a person has chosen. A key that was proposed, or chosen, may repeat further
 * on in the file, and must not replace a row that the same file has just brought. In a table that exists a row with its key is the
 * newer one.
 */
export function duplicatesOf(plan: ImportPlan, exists: boolean): Duplicates {
  return plan.onDuplicate ?? (exists || plan.knownKey || plan.numbered ? "replace" : "stop");
}

/** The key of the table: the chosen columns in order, then the row's number. */
export function planKey(plan: ImportPlan): CreateTableRequest["primaryKey"] {
  const chosen = plan.columns.filter(({ taken, key }) => taken && key > 0).sort((a, b) => a.key - b.key);
  const columns = chosen.map(({ name, type }) => ({ name, type: keyType(type) }));
  return plan.numbered ? [...columns, { name: plan.numberColumn, type: "INTEGER" as const }] : columns;
}

/** The table that an import makes. */
export function planTable(plan: ImportPlan): CreateTableRequest {
  const maxVersions = Number(plan.maxVersions);
  return { tableName: plan.tableName, primaryKey: planKey(plan), ...(maxVersions === 1 ? {} : { maxVersions }) };
}

/** Makes a column the last of the key, or takes it out; the places of the others close up. */
export function toggleKey(plan: ImportPlan, source: string): ImportPlan {
  const held = plan.columns.filter(({ key }) => key > 0);
  const column = plan.columns.find((one) => one.source === source);
  if (column === undefined) return plan;
  const order = column.key > 0 ? held.filter((one) => one !== column) : [...held, { ...column, key: held.length + 1 }];
  const places = new Map(order.sort((a, b) => a.key - b.key).map((one, at) => [one.source, at + 1]));
  return {
    ...plan,
    knownKey: false,
    columns: plan.columns.map((one) => ({ ...one, key: places.get(one.source) ?? 0, taken: one.taken || places.has(one.source) })),
  };
}

/** The errors of a plan; empty when there are none. `existing` is the table of that name, if there is one. */
export function planErrors(plan: ImportPlan, existing: TableDescription | undefined): string[] {
  const errors: string[] = [];
  if (!legalName(plan.tableName)) errors.push(`“${plan.tableName}” is no name of a table: letters, digits and _, first no digit.`);
  if (existing === undefined && !/^[1-9]\d{0,8}$/.test(plan.maxVersions)) errors.push("Versions kept is a whole number of at least 1.");
  const key = planKey(plan);
  const names = [...plan.columns.filter(({ taken }) => taken).map(({ name }) => name), ...(plan.numbered ? [plan.numberColumn] : [])];
  for (const name of names) if (!legalName(name)) errors.push(`“${name}” is no name of a column: letters, digits and _, first no digit.`);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) errors.push(`Two columns are called ${twice}.`);
  if (key.length === 0) errors.push("Choose a key: columns that tell rows apart, or the row's number.");
  if (key.length > MOST_KEY_COLUMNS) errors.push(`A key has at most ${MOST_KEY_COLUMNS} columns; these are ${key.length}.`);
  if (existing !== undefined && errors.length === 0) {
    const same = JSON.stringify(existing.primaryKey.map(({ name, type }) => [name, type])) === JSON.stringify(key.map(({ name, type }) => [name, type]));
    if (!same)
      errors.push(
        `The table ${plan.tableName} exists with the key ${existing.primaryKey.map(({ name, type }) => `${name} ${type}`).join(", ")}: choose that key, or another name.`,
      );
  }
  return errors;
}

/** The plan as the package's import wants it. */
export function toImportOptions(plan: ImportPlan, exists: boolean): Pick<ImportOptions, "columns" | "rowNumber" | "rename" | "onError" | "onDuplicate"> {
  const columns = Object.fromEntries(
    plan.columns.map(({ source, taken, name, type, key }): [string, ImportColumn | false] => [
      source,
      taken ? { name, type: key > 0 ? keyType(type) : type } : false,
    ]),
  );
  return {
    columns,
    rename: "legal",
    onError: plan.onError,
    onDuplicate: duplicatesOf(plan, exists),
    ...(plan.numbered ? { rowNumber: plan.numberColumn } : {}),
  };
}
