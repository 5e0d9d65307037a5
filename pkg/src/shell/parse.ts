/** Reads a line as a command with its options. It knows no table yet: `request.ts` makes a request of it. */

import { COMMAND_NAMES, type CommandName, type CommandSpec, commandOf, type OptionSpec } from "./commands.js";
import { meant, ShellError, type Stretch } from "./errors.js";
import { usageOf, valueText } from "./help.js";
import { closed, type Word, within, wordsOf } from "./words.js";

/** A line, read. */
export interface ParsedLine {
  readonly command: CommandName;
  readonly spec: CommandSpec;
  /** The name of the command, as it stands in the line. */
  readonly place: Stretch;
  /** The values of the options, by long name. A flag has its own word. */
  readonly options: ReadonlyMap<string, Word>;
  /** The command that help is asked for. */
  readonly topic: string | undefined;
}

/** A part of a word, as a word. */
function part(word: Word, from: number): Word {
  const { start } = within(word, from, word.text.length);
  return { text: word.text.slice(from), places: word.places?.slice(from), start, end: word.end, open: word.open };
}

/** An option that a word names, and the value that stands in the same word. */
interface Named {
  readonly option: OptionSpec;
  readonly value?: Word;
}

function unknown(word: Word, length: number, { options, name }: CommandSpec): never {
  const written = word.text.slice(0, length);
  const names = options.flatMap((option) => [`--${option.name}`, ...(option.short === undefined ? [] : [`-${option.short[0]}`])]);
  throw new ShellError(`'${name}' has no option '${written}'${meant(written, names)}`, within(word, 0, length));
}

/** The option of `--name` or `--name=value`. */
function long(word: Word, spec: CommandSpec): Named[] {
  const equals = word.text.indexOf("=");
  const length = equals < 0 ? word.text.length : equals;
  const option = spec.options.find(({ name }) => name === word.text.slice(2, length)) ?? unknown(word, length, spec);
  return [equals < 0 ? { option } : { option, value: part(word, equals + 1) }];
}

/** The options of `-t`, `-tvalue` or, for flags, `-ad`. */
function short(word: Word, spec: CommandSpec): Named[] {
  const found: Named[] = [];
  for (let at = 1; at < word.text.length; at++) {
    const option = spec.options.find((one) => one.short?.includes(word.text[at]));
    if (option === undefined) unknown(word, Math.max(at + 1, word.text.indexOf("=")), spec);
    const rest = at + 1 + (word.text[at + 1] === "=" ? 1 : 0);
    if (option.type !== "flag") return [...found, rest < word.text.length ? { option, value: part(word, rest) } : { option }];
    found.push({ option });
  }
  return found;
}

/** A word that stands without an option. */
function lonely(word: Word, spec: CommandSpec): never {
  const free = spec.options.find(({ type, required }) => (required === true || type === "table") && type !== "flag");
  const advice = free === undefined ? "" : `; give it with ${free.short === undefined ? "" : `-${free.short[0]} or `}--${free.name}`;
  throw new ShellError(`'${word.text}' stands without an option${advice}`, word);
}

/** Adds the options of a word. Gives how many words it took. */
function take(words: readonly Word[], at: number, spec: CommandSpec, into: Map<string, Word>): number {
  const word = words[at];
  if (!/^-./.test(word.text)) lonely(word, spec);
  let taken = 1;
  for (const { option, value } of word.text.startsWith("--") ? long(word, spec) : short(word, spec)) {
    if (into.has(option.name)) throw new ShellError(`The option --${option.name} is given twice`, word);
    if (option.type === "flag") {
      if (value !== undefined) throw new ShellError(`--${option.name} takes no value`, value);
      into.set(option.name, word);
      continue;
    }
    const given = value ?? words[at + taken++];
    if (given === undefined) throw new ShellError(`--${option.name} has no value: ${valueText(option)} belongs behind it`, word);
    into.set(option.name, given);
  }
  return taken;
}

/** Whether an option says what the file of `-i` says. A description of a table is whole, so no setting stands beside it. */
const isSaidByFile = (command: CommandName, option: string): boolean =>
  command === "create" ? !["input", "table", "model"].includes(option) : ["pk", "attr"].includes(option);

function optionsOf(words: readonly Word[], spec: CommandSpec, place: Stretch): Map<string, Word> {
  const options = new Map<string, Word>();
  for (let at = 0; at < words.length; ) at += take(words, at, spec, options);
  const byFile = spec.name !== "import" && options.has("input");
  const needed = (name: string): boolean =>
    !byFile && ((name === "pk" && spec.name !== "create") || (spec.name === "create" && ["pk", "table"].includes(name)));
  for (const option of spec.options) {
    if (!options.has(option.name) && (option.required === true || needed(option.name)))
      throw new ShellError(`'${spec.name}' needs ${option.short === undefined ? "" : `-${option.short[0]} or `}--${option.name} ${valueText(option)}`, place);
    const said = byFile && isSaidByFile(spec.name, option.name) ? options.get(option.name) : undefined;
    if (said !== undefined) throw new ShellError(`--${option.name} cannot stand beside -i, which says it`, said);
  }
  return options;
}

/** The command that a word names. */
function command(word: Word): CommandSpec {
  const found = commandOf(word.text);
  if (found === undefined) throw new ShellError(`There is no command '${word.text}'${meant(word.text, COMMAND_NAMES) || "; 'help' lists them"}`, word);
  return found;
}

/** The command that help is asked for: `help put` or `put help`. */
function topicOf(spec: CommandSpec, words: readonly Word[]): string | undefined {
  if (spec.topic === true) {
    if (words.length > 1) throw new ShellError(`'${words[1].text}' is one word too many`, words[1]);
    return words.length === 0 ? undefined : command(words[0]).name;
  }
  return words.length === 1 && /^(?:help|--help|-h)$/.test(words[0].text) ? spec.name : undefined;
}

/** A line as a command; `undefined` for one that is empty or only a comment. @throws {@link ShellError}. */
export function parseLine(line: string): ParsedLine | undefined {
  const [first, ...words] = wordsOf(line);
  if (first === undefined) return undefined;
  closed([first]);
  const spec = command(first);
  try {
    closed(words);
    const topic = topicOf(spec, words);
    if (topic !== undefined || spec.topic === true) return { command: "help", spec, place: first, options: new Map(), topic };
    return { command: spec.name, spec, place: first, options: optionsOf(words, spec, first), topic };
  } catch (error) {
    throw error instanceof ShellError ? error.withUsage(usageOf(spec)) : error;
  }
}
