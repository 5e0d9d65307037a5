/** What the commands have at hand: the database, the host's files, the table that is used. */

import type { Consumed, Database, ImportPreview, InspectOptions } from "../index.js";
import type { Answer } from "./answer.js";
import { meant, ShellError, type Stretch } from "./errors.js";
import type { ParsedLine } from "./parse.js";
import { Options, type TableKey } from "./request.js";
import type { MakeDouble } from "./values.js";

/** What a shell needs of its host. What is missing is refused by name when a line asks for it. */
export interface ShellHost {
  /** The `double` of the entry that has opened the database. */
  readonly double: MakeDouble;
  /** The `inspectImport` of the same entry: with it columns of CSV files get the types that their values have. Else they are texts. */
  readonly inspectImport?: ((source: Blob, options?: InspectOptions) => Promise<ImportPreview>) | undefined;
  /** Opens a file to read, for `-i`. */
  readonly read?: ((name: string) => Promise<Blob>) | undefined;
  /** Writes a file, for `-o`. Resolves when all of it is written. */
  readonly write?: ((name: string, content: ReadableStream<Uint8Array>) => Promise<void>) | undefined;
  /** Asks a question before something that cannot be undone. Without it `drop` needs `-y`. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** Names of files that begin so, for the completion. */
  readonly files?: ((prefix: string) => Promise<readonly string[]>) | undefined;
}

/** Options of {@link Shell.run}. */
export interface RunOptions {
  /** Ends the line's calls. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer without its time. */
export type Untimed = Answer extends infer A ? (A extends Answer ? Omit<A, "ms"> : never) : never;

/** Decodes a file, in pieces or as a whole. Of bytes that are not UTF-8 the text would have characters that nobody has written: they are refused. */
export function textDecoder(name: string, place: Stretch): (bytes: Uint8Array | undefined, isLast: boolean) => string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (bytes, isLast) => {
    try {
      return decoder.decode(bytes, { stream: !isLast });
    } catch {
      throw new ShellError(`${name} is not UTF-8`, place);
    }
  };
}

/** A line that is run. */
export class Context {
  readonly options: Options;

  constructor(
    readonly db: Database,
    readonly host: ShellHost,
    readonly line: ParsedLine,
    /** The table of `use`. */
    readonly used: string | undefined,
    readonly signal: AbortSignal | undefined,
  ) {
    this.options = new Options(line, host.double);
  }

  /** The name of the table that the line is about. */
  tableName(): string {
    const name = this.options.text("table") ?? this.used;
    if (name === undefined) throw new ShellError("No table is chosen: say 'use -t table' first, or give -t", this.line.place);
    return name;
  }

  /** The description of a table. A wrong name is marked in the line. */
  async describe(tableName = this.tableName()) {
    return this.named(() => this.db.describeTable({ tableName, signal: this.signal }));
  }

  /** The table that the line is about, as lines need it. */
  async table(): Promise<TableKey> {
    const { tableName, primaryKey } = await this.describe();
    return { tableName, primaryKey };
  }

  /** Makes a call about the table that the line names. If there is none of that name, the name is wrong, and the line is marked there. */
  async named<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const word = this.options.word("table");
      if ((error as { code?: unknown }).code !== "OTSObjectNotExist" || word === undefined) throw error;
      const tables = await this.db.listTable({ signal: this.signal });
      if (tables.includes(word.text)) throw error;
      throw new ShellError(`There is no table '${word.text}'${meant(word.text, tables) || "; 'list' lists them"}`, word);
    }
  }

  /** The content of the file that `-i` names. */
  async input(): Promise<{ readonly name: string; readonly blob: Blob }> {
    const word = this.options.word("input")!;
    if (this.host.read === undefined) throw new ShellError("Files cannot be read here", word);
    try {
      return { name: word.text, blob: await this.host.read(word.text) };
    } catch (error) {
      throw error instanceof ShellError ? error : new ShellError(`The file cannot be read: ${(error as Error).message}`, word);
    }
  }

  /** Does something with the text of the file that `-i` names. Its mistakes are told with the file's name. */
  async inputText<T>(use: (text: string) => T): Promise<T> {
    const { name, blob } = await this.input();
    const text = textDecoder(name, this.options.word("input")!)(new Uint8Array(await blob.arrayBuffer()), true);
    try {
      return use(text);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      const line = text.slice(0, error.start).split("\n").length;
      throw new ShellError(`${name}, line ${line}: ${error.message}`, this.options.word("input")!);
    }
  }

  /** Writes the file that `-o` names. */
  async output(content: ReadableStream<Uint8Array>): Promise<string> {
    const word = this.options.word("output")!;
    if (this.host.write === undefined) throw new ShellError("Files cannot be written here", word);
    await this.host.write(word.text, content);
    return word.text;
  }

  /** Writes a text to the file that `-o` names. */
  outputText(text: string): Promise<string> {
    return this.output(new Blob([text]).stream());
  }
}

/** The sum of units. */
export const sum = (a: Consumed, b: Consumed): Consumed => ({ read: a.read + b.read, write: a.write + b.write });
