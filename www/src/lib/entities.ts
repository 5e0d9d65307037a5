/**
 * Entities of the Azure Table service as texts with types, and what becomes of them when they are edited.
 *
 * A number of JavaScript does not say whether it is a Double or an Int32, and a `Date` has no steps of 100 ns. So the console
 * keeps each value as the service writes it, with its type: what is written back is what was read.
 */

import { type Difference, differencesOf } from "./differences.ts";

/** The types of properties. */
export const EDM_TYPES = ["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Binary", "Guid"] as const;
/** A type, as the service names it without `Edm.`. */
export type EdmType = (typeof EDM_TYPES)[number];

/** A property: its name, its type, and its value as the service writes it. */
export interface Property {
  readonly name: string;
  readonly type: EdmType;
  readonly text: string;
}

/** An entity as it was read. */
export interface Entity {
  readonly partitionKey: string;
  readonly rowKey: string;
  /** Missing if it was not among the columns that were asked for. */
  readonly timestamp: string | undefined;
  readonly etag: string;
  /** By name. */
  readonly properties: readonly Property[];
}

/** How an entity is changed. */
export type Mode = "Merge" | "Replace";

const TYPE = "@odata.type";
/** Strings, which are left as they are, and numbers. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** JSON, with each number as `{ number }`: its text tells a Double, `3.0`, from an Int32, `3`. */
export function parseExactly(json: string): unknown {
  return JSON.parse(json.replace(TOKEN, (token) => (token.startsWith('"') ? token : `{"number":"${token}"}`)));
}

function propertyOf(name: string, value: unknown, type: unknown): Property | undefined {
  if (value === null) return undefined;
  if (typeof value === "boolean") return { name, type: "Boolean", text: String(value) };
  if (typeof value === "string") return { name, type: typeof type === "string" ? (type.replace(/^Edm\./, "") as EdmType) : "String", text: value };
  const { number } = value as { readonly number: string };
  return { name, type: /[.eE]/.test(number) ? "Double" : "Int32", text: number };
}

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** An entity of {@link parseExactly}. A property that was asked for and is not there is left out. */
export function entityOf(json: Readonly<Record<string, unknown>>): Entity {
  const properties: Property[] = [];
  for (const [name, value] of Object.entries(json)) {
    if (name.includes("@") || name.startsWith("odata.") || name === "PartitionKey" || name === "RowKey" || name === "Timestamp") continue;
    const property = propertyOf(name, value, json[`${name}${TYPE}`]);
    if (property !== undefined) properties.push(property);
  }
  return {
    partitionKey: String(json["PartitionKey"]),
    rowKey: String(json["RowKey"]),
    etag: String(json["odata.etag"]),
    timestamp: json["Timestamp"] === undefined ? undefined : String(json["Timestamp"]),
    properties: properties.sort(byName),
  };
}

/** Names that the keys and the service have, and those that `tabstore/azure` gives them. */
const TAKEN: ReadonlySet<string> = new Set(["partitionkey", "rowkey", "timestamp", "etag"]);

/** What is wrong with the names of properties, of which some are sent. Everything else the service says. */
export function wrongNames(properties: readonly Property[], sent = properties): string | undefined {
  const seen = new Set<string>();
  for (const { name, text } of properties) {
    if (name === "") return text === "" ? "A property has no name." : `The value “${text}” has no name.`;
    if (TAKEN.has(name.toLowerCase()) && sent.some((one) => one.name === name)) return `The console cannot store a property with the name ${name}.`;
    if (seen.has(name)) return `There are two properties with the name ${name}.`;
    seen.add(name);
  }
  return undefined;
}

const same = (a: Property | undefined, b: Property | undefined) => a?.type === b?.type && a?.text === b?.text;
const find = (properties: readonly Property[], name: string) => properties.find((one) => one.name === name);

/** What a person wants of an entity: to send these properties, or to delete it. */
export type Wish = { readonly mode: Mode; readonly sent: readonly Property[] } | { readonly mode: "Delete" };

/** The properties that are sent: by a merge those that are new or changed, by a replace all. */
export function sentBy(mode: Mode, stored: readonly Property[], edited: readonly Property[]): readonly Property[] {
  return mode === "Replace" ? edited : edited.filter((one) => !same(one, find(stored, one.name)));
}

/** The names of stored properties that were left out. */
export function leftOut(stored: readonly Property[], edited: readonly Property[]): readonly string[] {
  return stored.filter(({ name }) => find(edited, name) === undefined).map(({ name }) => name);
}

/** What is stored now beside what a person wants. `read` is what that person had read. */
export function differences(read: readonly Property[], now: readonly Property[], wish: Wish): readonly Difference<Property>[] {
  const sent = wish.mode === "Delete" ? [] : wish.sent;
  const kept = wish.mode === "Merge" ? now.filter(({ name }) => find(sent, name) === undefined) : [];
  return differencesOf({ read, now, wanted: [...sent, ...kept] }, same);
}

/** A value as it stands in a filter. */
export function literal({ type, text }: Pick<Property, "type" | "text">): string {
  switch (type) {
    case "String":
      return `'${text.replaceAll("'", "''")}'`;
    case "Int64":
      return `${text}L`;
    case "DateTime":
      return `datetime'${text}'`;
    case "Guid":
      return `guid'${text}'`;
    case "Binary":
      return `X'${Array.from(atob(text), (letter) => letter.charCodeAt(0).toString(16).padStart(2, "0")).join("")}'`;
    default:
      return text;
  }
}

/** Long values make no filter that a person reads. */
const MOST_IN_FILTER = 40;

/** Filters that find some of these entities, and one that is wrong, to see what the service says. */
export function exampleFilters(entities: readonly Entity[]): readonly string[] {
  const middle = entities[Math.floor(entities.length / 2)];
  if (middle === undefined) return [];
  const keys = `PartitionKey eq ${literal({ type: "String", text: middle.partitionKey })}`;
  const filters = [keys, `${keys} and RowKey ge ${literal({ type: "String", text: middle.rowKey })}`];
  const first = (types: readonly EdmType[]) =>
    entities
      .flatMap(({ properties }) => properties)
      .find(({ type, text }) => types.includes(type) && text.length <= MOST_IN_FILTER && Number.isFinite(type === "Double" ? Number(text) : 0));
  const compare = (operator: string, ...types: readonly EdmType[]) => {
    const found = first(types);
    // From the middle, so that some are found and some are not.
    const value = found === undefined ? undefined : (find(middle.properties, found.name) ?? found);
    return value === undefined || value.text.length > MOST_IN_FILTER ? [] : [`${value.name} ${operator} ${literal(value)}`];
  };
  filters.push(
    ...compare("gt", "Double", "Int32"),
    ...compare("ge", "Int64"),
    ...compare("eq", "Boolean"),
    ...compare("lt", "DateTime"),
    ...compare("eq", "Guid"),
  );
  return [...filters, keys.replace(" eq ", " equals ")];
}
