/**
 * The commands: their options, texts and examples. Parser, help, errors and completion all come from here. Names are those of the
 * official tool; what has `own` is TabStore's.
 */

/** What the value of an option is. */
export type OptionType =
  | "flag"
  | "table"
  | "text"
  | "columns"
  | "integer"
  | "time"
  | "boolean"
  | "file"
  | "key"
  | "bound"
  | "schema"
  | "attributes"
  | "cells"
  | "counters"
  | "filter"
  | readonly string[];

/** An option. */
export interface OptionSpec {
  /** Its long name, without `--`. */
  readonly name: string;
  /** Its short names, without `-`. The first one is shown. */
  readonly short?: string;
  readonly type: OptionType;
  readonly required?: boolean;
  /** The value without the option, as it is shown. */
  readonly fallback?: string;
  readonly help: string;
  /** Not of the official tool. */
  readonly own?: boolean;
}

/** The names of the commands. */
export type CommandName =
  | "create"
  | "use"
  | "desc"
  | "list"
  | "alter"
  | "drop"
  | "put"
  | "get"
  | "update"
  | "delete"
  | "scan"
  | "import"
  | "export"
  | "help"
  | "clear"
  | "quit";

/** A command. */
export interface CommandSpec {
  readonly name: CommandName;
  /** Other names of it. */
  readonly aliases?: readonly string[];
  readonly help: string;
  readonly options: readonly OptionSpec[];
  readonly examples: readonly string[];
  /** Whether it takes the name of a command without an option. */
  readonly topic?: boolean;
}

const table = (help: string, required = false): OptionSpec => ({ name: "table", short: "t", type: "table", required, help });
const TABLE: OptionSpec = { ...table("The table; else the one of `use`"), own: true };
const KEY: OptionSpec = { name: "pk", short: "kp", type: "key", required: true, help: "The values of the primary key, in order" };
const ATTRIBUTES: OptionSpec = {
  name: "attr",
  short: "a",
  type: "attributes",
  help: "Columns: c name, v value, t integer, string, binary (base64), boolean or double, ts version in ms",
};
const CONDITION: OptionSpec = {
  name: "condition",
  type: ["ignore", "exist", "not_exist"],
  fallback: "ignore",
  help: "Whether the row has to be there",
};
const IF: OptionSpec = { name: "if", type: "filter", own: true, help: "A condition on its columns, as a filter" };
const INPUT: OptionSpec = { name: "input", short: "i", type: "file", help: "A JSON file that says it instead" };
const OUTPUT: OptionSpec = { name: "output", short: "o", type: "file", help: "A file for the answer" };
const COLUMNS: OptionSpec = { name: "columns", short: "c", type: "columns", help: "Only these columns, with commas between" };
const READ: readonly OptionSpec[] = [
  COLUMNS,
  { name: "max_version", type: "integer", fallback: "1", help: "Versions of each column, newest first" },
  { name: "time_range_start", type: "time", help: "Only versions from this one on, in ms" },
  { name: "time_range_end", type: "time", help: "Only versions before this one, in ms" },
  { name: "time_range_specific", type: "time", help: "Only this version, in ms" },
  { name: "filter", type: "filter", own: true, help: "Only rows that pass this filter" },
];
const FORMAT: OptionSpec = { name: "print_format", short: "f", type: ["table", "json"], fallback: "table", own: true, help: "How the answer is shown" };
const RANGE: readonly OptionSpec[] = [
  { name: "begin", short: "b", type: "bound", help: "The first key. It may be a part of one" },
  { name: "end", short: "e", type: "bound", help: "The key to stop before. A part of a key takes all rows with it along" },
];
const LIMIT: OptionSpec = { name: "limit", short: "l", type: "integer", help: "The most rows" };
const SETTINGS = (fallback: boolean): readonly OptionSpec[] => [
  { name: "ttl", type: "integer", ...(fallback && { fallback: "-1" }), help: "Seconds that data lives: 86400 or more, or -1 for ever" },
  { name: "version", type: "integer", ...(fallback && { fallback: "1" }), help: "Versions kept of each column" },
  { name: "read_cu", type: "integer", ...(fallback && { fallback: "0" }), help: "Reserved read units a second" },
  { name: "write_cu", type: "integer", ...(fallback && { fallback: "0" }), help: "Reserved write units a second" },
  { name: "max_version_offset", type: "integer", ...(fallback && { fallback: "86400" }), own: true, help: "Seconds that a given version may be from now" },
  { name: "allow_update", type: "boolean", ...(fallback && { fallback: "true" }), own: true, help: "Whether update works" },
];

/** The commands, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "create",
    help: "Creates a table",
    options: [
      table("The name of the new table"),
      { name: "pk", short: "kp", type: "schema", help: "Columns of the primary key: c name, t string, integer or binary, opt auto for AUTO_INCREMENT" },
      ...SETTINGS(true),
      { name: "model", short: "m", type: ["widecolumn"], fallback: "widecolumn", help: "The kind of the table" },
      { ...INPUT, help: "A JSON file of `desc -o` that says it instead" },
    ],
    examples: [
      `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`,
      `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer","opt":"auto"}]' --ttl 864000 --version 1`,
    ],
  },
  {
    name: "use",
    help: "Chooses the table that the commands about rows are for",
    options: [table("The table", true), { name: "wc", type: "flag", help: "It is a table or an index (the only kind here)" }],
    examples: ["use -t mytable", "use --wc -t mytable"],
  },
  {
    name: "list",
    help: "Lists the tables",
    options: [
      { name: "all", short: "a", type: "flag", help: "All tables" },
      { name: "detail", short: "d", type: "flag", help: "With keys and options" },
      { name: "wc", short: "w", type: "flag", help: "Tables of rows (all tables are)" },
      { name: "ts", short: "t", type: "flag", help: "Time series tables (there are none here)" },
    ],
    examples: ["list", "list -d"],
  },
  {
    name: "desc",
    help: "Describes a table",
    options: [
      table("The table; else the one of `use`"),
      { ...FORMAT, own: false, fallback: "json" },
      { ...OUTPUT, help: "A JSON file, which `create -i` takes" },
    ],
    examples: ["desc", "desc -t mytable -f json -o /tmp/describe_table_meta.json"],
  },
  {
    name: "alter",
    help: "Changes options and reserved throughput of a table",
    options: [table("The table; else the one of `use`"), ...SETTINGS(false)],
    examples: ["alter -t mytable --ttl 86400 --version 1", "alter -t mytable --ttl 86400 --version 1 --read_cu 0 --write_cu 0"],
  },
  {
    name: "drop",
    help: "Deletes a table with its rows and indexes",
    options: [table("The table", true), { name: "yes", short: "y", type: "flag", help: "Asks no question" }],
    examples: ["drop -t mytable -y"],
  },
  {
    name: "put",
    help: "Puts a row: a row that is there is replaced as a whole",
    options: [
      { ...KEY, required: false, help: "The values of the primary key, in order; null for one that the store gives" },
      ATTRIBUTES,
      CONDITION,
      IF,
      INPUT,
      TABLE,
    ],
    examples: [
      `put --pk '["86", 6771]' --attr '[{"c":"name","v":"redchen"},{"c":"country","v":"china","t":"string","ts":15327798534}]' --condition ignore`,
      `put --pk '["86", null]' --attr '[{"c":"name","v":"redchen"}]'`,
    ],
  },
  {
    name: "get",
    help: "Reads a row",
    options: [KEY, ...READ, OUTPUT, FORMAT, TABLE],
    examples: [`get --pk '["86",6771]'`, `get --pk '["86",6771]' --columns name,country --max_version 3`],
  },
  {
    name: "update",
    help: "Puts columns of a row, and keeps the others",
    options: [
      { ...KEY, required: false },
      ATTRIBUTES,
      { name: "delete_columns", type: "columns", own: true, help: "Columns to delete, with commas between" },
      { name: "delete_versions", type: "cells", own: true, help: "Versions to delete: c name, ts version in ms" },
      { name: "increment", type: "counters", own: true, help: "Integers to add: c name, v number" },
      CONDITION,
      IF,
      INPUT,
      TABLE,
    ],
    examples: [`update --pk '["86", 6771]' --attr '[{"c":"name","v":"redchen"},{"c":"country","v":"china"}]' --condition exist`],
  },
  {
    name: "delete",
    aliases: ["del"],
    help: "Deletes a row",
    options: [KEY, { ...CONDITION, own: true }, IF, TABLE],
    examples: [`delete --pk '["86", 6771]'`],
  },
  {
    name: "scan",
    help: "Reads rows in the order of their keys",
    options: [
      { ...LIMIT, fallback: "5000" },
      ...RANGE,
      ...READ,
      { name: "backward", type: "flag", own: true, help: "By descending keys: the larger key is --begin" },
      OUTPUT,
      FORMAT,
      TABLE,
    ],
    examples: ["scan --limit 10", `scan --begin '["86"]' --end '["86"]'`],
  },
  {
    name: "export",
    help: "Writes rows to a file",
    options: [
      { ...OUTPUT, required: true, help: "The file" },
      LIMIT,
      COLUMNS,
      ...RANGE,
      {
        name: "format",
        short: "f",
        type: ["tool", "ndjson", "json", "csv"],
        own: true,
        help: "The format: lines of the tool (with versions), NDJSON, JSON or CSV; by default by the name of the file, else tool",
      },
      TABLE,
    ],
    examples: ["export -o /tmp/mydata", "export -l 10 -o /tmp/mydata -c attr1,attr2,attr3"],
  },
  {
    name: "import",
    help: "Puts the rows of a file",
    options: [
      { ...INPUT, required: true, help: "A file of `export`, or CSV, JSON or NDJSON" },
      LIMIT,
      { name: "ignore_ts", type: "flag", help: "Leaves the versions of the file out: the store gives new ones" },
      { name: "ignore_failed", type: "flag", help: "Leaves rows out that cannot be stored" },
      TABLE,
    ],
    examples: ["import -i /tmp/mydata", "import -i /tmp/mydata -l 10 --ignore_failed"],
  },
  { name: "help", help: "Shows this, or the options of a command", options: [], examples: ["help put"], topic: true },
  { name: "clear", help: "Clears the screen", options: [], examples: [] },
  { name: "quit", aliases: ["exit"], help: "Leaves the shell", options: [], examples: [] },
];

/** The command of a name. */
export const commandOf = (name: string): CommandSpec | undefined => COMMANDS.find((one) => one.name === name || one.aliases?.includes(name));

/** All names of commands. */
export const COMMAND_NAMES: readonly string[] = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
