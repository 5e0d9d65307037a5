/** The texts about commands, made from their descriptions. */

import { COMMANDS, type CommandSpec, type OptionSpec } from "./commands.js";

const VALUES: Readonly<Record<string, string>> = {
  table: "table",
  text: "text",
  columns: "a,b",
  integer: "number",
  time: "ms",
  boolean: "true|false",
  file: "file",
  key: `'["a", 1]'`,
  bound: `'["a", 1]'`,
  schema: `'[{"c":"id","t":"string"}]'`,
  attributes: `'[{"c":"name","v":"x"}]'`,
  cells: `'[{"c":"name","ts":1}]'`,
  counters: `'[{"c":"hits","v":1}]'`,
  filter: `'{"column":"a","comparator":"EQUAL","value":1}'`,
};

/** The value of an option, in words; nothing for a flag. */
export function valueText({ type }: OptionSpec): string {
  if (type === "flag") return "";
  return typeof type === "string" ? (VALUES[type] ?? type) : type.join("|");
}

/** An option, as it is written: `-t, --table table`. */
function written(option: OptionSpec): string {
  const short = option.short === undefined ? "    " : `-${option.short[0]}, `;
  return `${short}--${option.name} ${valueText(option)}`.trimEnd();
}

/** The right form of a command, in one line. */
export function usageOf({ name, options, topic }: CommandSpec): string {
  const parts = options.map((option) => {
    const flag = option.short !== undefined && option.name !== "pk" && option.name !== "attr" ? `-${option.short[0]}` : `--${option.name}`;
    const part = `${flag} ${valueText(option)}`.trimEnd();
    return option.required === true ? part : `[${part}]`;
  });
  return [name, ...(topic === true ? ["[command]"] : []), ...parts].join(" ");
}

/** The lines of a list in two columns. */
function list(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

/** The options of a command, with examples. */
export function helpOf(command: CommandSpec): string {
  const options = command.options.map((option): [string, string] => {
    const notes = [
      ...(option.required === true ? ["needed"] : []),
      ...(option.fallback === undefined ? [] : [`default ${option.fallback}`]),
      ...(option.own === true ? ["TabStore's own"] : []),
    ];
    return [written(option), `${option.help}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`];
  });
  const also = command.aliases === undefined ? "" : ` Also called ${command.aliases.join(", ")}.`;
  return [
    `${command.help}.${also}`,
    ...(options.length === 0 ? [] : [`Options:\n${list(options)}`]),
    ...(command.examples.length === 0 ? [] : [`Examples:\n${command.examples.map((line) => `  ${line}`).join("\n")}`]),
  ].join("\n");
}

/** All commands. */
export function helpText(): string {
  return `Commands:\n${list(COMMANDS.map(({ name, help }) => [name, help]))}\n\n'help put' shows the options of put. Rows: first 'use -t table'.`;
}
