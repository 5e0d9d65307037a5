/**
 * The text of the address after `#`: the open instance and its options, the shown table and the shown part of it. A
 * reload, a bookmark and the back button all come back to it.
 *
 *     #/demo/reading?order=BACKWARD&start=["SEA",""]
 *     #/demo/reading?where=["all",["wet","EQUAL","BOOLEAN","true"]]&columns=["wet","note"]&rows=100
 *     #/demo/reading?view=units
 *     #/demo/reading?view=inside
 *     #/demo?view=code
 *     #/demo?account=demo&entities=stations&filter=Height gt 500
 *     #/examples/chat?as=ann
 *     #/tour?step=3
 *     #/lesson/3?step=2&seed=7
 *
 * The examples have a word of their own. An instance of that name is written `Examples`: names are compared without case. The show is a
 * step of its instance, and a lesson has a number where an instance has a table, whose name never begins with a digit.
 */

import type { Direction } from "./keys.ts";

/** Rows that a page of a table may have. */
export const PAGE_SIZES = ["25", "50", "100", "500"] as const;
/** One of these. */
export type PageSize = (typeof PAGE_SIZES)[number];

/** The instance of the show. */
export const TOUR = "tour";
/** The first part of the addresses of the lessons. */
const LESSON = "lesson";

/** What an address may show of an instance in place of rows. */
const VIEWS = ["units", "inside", "schema", "changes", "time", "code"] as const;
/** One of them. */
export type RouteView = (typeof VIEWS)[number];
/** Those that only a table has. */
const OF_TABLES: readonly RouteView[] = ["schema", "changes", "time"];

/** The first part of the addresses of the examples. */
const EXAMPLES = "examples";

/** A place in the console. */
export interface Route {
  /** The example shown; empty: all of them. Then no instance is. */
  readonly example?: string | undefined;
  /** What the example keeps in the address. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** The number of the lesson shown, from 1. Then no instance is. */
  readonly lesson?: number | undefined;
  /** Its step, or that of the show, from 1. Without a lesson it is the show's, and no instance is shown. */
  readonly step?: number | undefined;
  /** What the values of a lesson are drawn from. */
  readonly seed?: number | undefined;
  /** Whether a lesson is shown to a class: large, and without answers until somebody asks. */
  readonly teacher?: boolean | undefined;
  /** The instance; none: the page where one is chosen. */
  readonly instance?: string | undefined;
  /** Where its data lives. */
  readonly storage?: "memory" | undefined;
  /** The injected clock, milliseconds since 1970; none: the device's. */
  readonly clock?: number | undefined;
  /** The table shown. */
  readonly table?: string | undefined;
  /**
   * What is shown in place of the table's rows: the units that it uses, or all tables, and the calls; the inside of the store; its
   * schema; its changes; its versions along time; a program.
   */
  readonly view?: RouteView | undefined;
  /** In which direction it is read. */
  readonly order?: Direction | undefined;
  /** The start of the range read: the typed text of each key column. */
  readonly start?: readonly string[] | undefined;
  /** Its end. */
  readonly end?: readonly string[] | undefined;
  /** The conditions on its rows, as `formatFilter` writes them; none: all rows. */
  readonly where?: string | undefined;
  /** The columns shown, in this order; none: all, by name. The key's are always shown. */
  readonly columns?: readonly string[] | undefined;
  /** Rows a page; none: 50. */
  readonly rows?: PageSize | undefined;
  /** The account of the Azure Table service that is shown in place of the instance's tables. */
  readonly account?: string | undefined;
  /** The table of entities shown. */
  readonly entities?: string | undefined;
  /** The filter by which they are found. */
  readonly filter?: string | undefined;
  /** The properties that are read of each; none: all. */
  readonly select?: readonly string[] | undefined;
}

function texts(json: string | null): readonly string[] | undefined {
  if (json === null) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}

function decoded(part: string | undefined): string | undefined {
  if (!part) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** A lesson or the show, if the address is one's. */
function teaching(first: string | undefined, second: string | undefined, parameters: URLSearchParams): Route | undefined {
  const lesson = first === LESSON ? wholeNumber(second) : undefined;
  const step = wholeNumber(parameters.get("step"));
  if (lesson !== undefined) return { lesson, step, seed: wholeNumber(parameters.get("seed")), teacher: parameters.get("teacher") === "1" ? true : undefined };
  return first === TOUR && second === undefined && step !== undefined ? { step } : undefined;
}

function formatTeaching({ lesson, step, seed, teacher }: Route): string {
  const parameters = new URLSearchParams();
  if (step !== undefined) parameters.set("step", String(step));
  if (seed !== undefined) parameters.set("seed", String(seed));
  if (teacher === true) parameters.set("teacher", "1");
  const query = parameters.toString();
  return `#/${lesson === undefined ? TOUR : `${LESSON}/${lesson}`}${query === "" ? "" : `?${query}`}`;
}

/** Reads the part of an address from `#` on. Nonsense is left out, because people type addresses. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [instance, table] = path.split("/").map(decoded);
  const parameters = new URLSearchParams(query);
  if (instance === EXAMPLES) return { example: table ?? "", settings: Object.fromEntries(parameters) };
  const taught = teaching(instance, table, parameters);
  if (taught !== undefined) return taught;
  const clock = parameters.get("clock");
  const account = instance === undefined ? undefined : parameters.get("account") || undefined;
  const entities = account === undefined ? undefined : parameters.get("entities") || undefined;
  return {
    instance,
    table: instance === undefined ? undefined : table,
    storage: parameters.get("storage") === "memory" ? "memory" : undefined,
    clock: clock !== null && /^-?\d{1,16}$/.test(clock) ? Number(clock) : undefined,
    view: instance === undefined ? undefined : VIEWS.find((view) => view === parameters.get("view") && (table !== undefined || !OF_TABLES.includes(view))),
    order: parameters.get("order") === "BACKWARD" ? "BACKWARD" : undefined,
    start: texts(parameters.get("start")),
    end: texts(parameters.get("end")),
    where: parameters.get("where") || undefined,
    columns: texts(parameters.get("columns")),
    rows: PAGE_SIZES.find((size) => size === parameters.get("rows")),
    account,
    entities,
    filter: entities === undefined ? undefined : parameters.get("filter") || undefined,
    select: entities === undefined ? undefined : texts(parameters.get("select")),
  };
}

/** Writes it. */
export function formatRoute(route: Route): string {
  if (route.example !== undefined) {
    const settings = new URLSearchParams(route.settings).toString();
    return `#/${EXAMPLES}${route.example === "" ? "" : `/${encodeURIComponent(route.example)}`}${settings === "" ? "" : `?${settings}`}`;
  }
  if (route.lesson !== undefined || route.step !== undefined) return formatTeaching(route);
  if (route.instance === undefined) return "#/";
  const path = [route.instance === EXAMPLES ? "Examples" : route.instance, ...(route.table === undefined ? [] : [route.table])]
    .map(encodeURIComponent)
    .join("/");
  const parameters = new URLSearchParams();
  if (route.storage !== undefined) parameters.set("storage", route.storage);
  if (route.clock !== undefined) parameters.set("clock", String(route.clock));
  if (route.view !== undefined) parameters.set("view", route.view);
  if (route.table !== undefined) {
    if (route.order === "BACKWARD") parameters.set("order", route.order);
    for (const side of ["start", "end"] as const) {
      if (route[side]?.some((text) => text !== "")) parameters.set(side, JSON.stringify(route[side]));
    }
    if (route.where !== undefined) parameters.set("where", route.where);
    if (route.columns !== undefined) parameters.set("columns", JSON.stringify(route.columns));
    if (route.rows !== undefined) parameters.set("rows", route.rows);
  }
  if (route.account !== undefined) {
    parameters.set("account", route.account);
    if (route.entities !== undefined) {
      parameters.set("entities", route.entities);
      if (route.filter !== undefined) parameters.set("filter", route.filter);
      if (route.select !== undefined) parameters.set("select", JSON.stringify(route.select));
    }
  }
  const query = parameters.toString();
  return `#/${path}${query === "" ? "" : `?${query}`}`;
}
