/**
 * Exports and imports an instance as one file of NDJSON. Loaded on first use.
 *
 * Its first line has what is needed to create the tables. Then come the rows of each table, behind a line with the table's name. The
 * last line has their number, so a file that was cut short is told from a whole one.
 */

import { ANY_OFFSET, untilBuilt } from "../beside-tables.js";
import { list, takeArguments } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import { setField } from "../codec/plain-object.js";
import { known } from "../import/guarded.js";
import { Converter } from "../import/convert.js";
import { type Guard, guarded } from "../import/guarded.js";
import { LineSplitter } from "../import/json.js";
import { isBytes, openSource, texts } from "../import/source.js";
import { Unreadable } from "../import/unreadable.js";
import { abortReason, signalOf, unlessAborted } from "../client/signals.js";
import { type Release, turnOf } from "../tabs/turn.js";
import { invalid, TabStoreError, toRecord } from "../types/errors.js";
import type { Attributes, CallOptions, InputCell, InputValue } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { ExportInstanceOptions, ImportInstanceOptions, ImportInstanceResult } from "../types/export.js";
import type { ByteSource } from "../import/source.js";
import type { CreateTableRequest, KeyColumn, TableDescription } from "../types/tables.js";
import type { Metrics } from "../types/metrics.js";
import type { NewRow, RowWriter } from "../types/writer.js";
import { TABLE as GROUPS } from "../changes/consumer/table.js";
import { checkListener, pagesOf } from "./index.js";
import { exact } from "./rows.js";
import { byteStream } from "./stream.js";

const EXPORT = new Set(["signal", "tables", "azure", "onProgress"]);
const IMPORT = new Set(["signal", "existing", "onProgress"]);
/** The version of the file's form. */
const FORM = 1;
/** The most cells, and bytes, of a piece of a large row: below what a call takes [D1, R2]. */
const MOST_CELLS = 1000;
const MOST_BYTES = 3_500_000;
/** What expires within so many milliseconds could have expired when its row is stored. */
const SOON = 60_000;

/** The calls that an export and an import of an instance need. */
export type InstanceTarget = Pick<
  Database,
  | "name"
  | "persistence"
  | "listTable"
  | "describeTable"
  | "createTable"
  | "updateTable"
  | "deleteTable"
  | "createIndex"
  | "scanPages"
  | "writer"
  | "updateRow"
  | "addDefinedColumn"
> & {
  /** The store's clock. */
  metrics(options: CallOptions): Promise<Pick<Metrics, "now">>;
};

/** What is needed to create a table again. */
type TableForm = Omit<CreateTableRequest, "signal" | "ifNotExists">;

/** The first line of a file. */
interface Head {
  readonly tabstore: "instance";
  readonly form: number;
  readonly name: string;
  readonly exportedAt: number;
  readonly tables: readonly TableForm[];
}

function formOf({
  tableName,
  primaryKey,
  timeToLive,
  maxVersions,
  maxVersionOffset,
  allowUpdate,
  reservedThroughput,
  definedColumns,
  indexes,
  enableLocalTransaction,
  stream,
}: TableDescription): TableForm {
  return {
    tableName,
    primaryKey,
    timeToLive,
    maxVersions,
    maxVersionOffset,
    allowUpdate,
    definedColumns,
    enableLocalTransaction: enableLocalTransaction ?? undefined,
    reservedThroughput: { read: reservedThroughput.read, write: reservedThroughput.write },
    indexes: indexes.map(({ indexName, type, primaryKey: key, columns, timeToLive: live }) => ({
      indexName,
      type,
      primaryKey: key,
      columns,
      timeToLive: live,
    })),
    ...(stream === null ? {} : { stream: { enabled: true, expirationHours: stream.expirationHours, originColumns: stream.originColumns } }),
  };
}

const callOf = ({ signal }: CallOptions): CallOptions => (signal === undefined ? {} : { signal });

/** The implementation of {@link Database.exportInstance}. `listForeign` gives the names of the tables of the Azure Table service. */
export async function exportInstance(
  db: InstanceTarget,
  options: ExportInstanceOptions,
  listForeign: (options: CallOptions) => Promise<readonly string[]>,
): Promise<ReadableStream<Uint8Array>> {
  const given = takeArguments(options, EXPORT, "exportInstance");
  const { azure = "refuse", onProgress } = given;
  if (azure !== "refuse" && azure !== "leaveOut") throw invalid(`The argument 'azure' is ${shown(azure)}; it must be refuse or leaveOut.`);
  checkListener(onProgress);
  const call = callOf(given);
  const names =
    given.tables === undefined ? (await db.listTable(call)).filter((name) => name !== GROUPS) : [...new Set(list(given.tables, "tables") as string[])];
  const foreign = azure === "refuse" && given.tables === undefined ? await listForeign(call) : [];
  if (foreign.length > 0) {
    throw invalid(
      `The instance has tables of the Azure Table service, which an export does not hold: ${foreign.join(", ")}.`,
      'Give azure: "leaveOut" to export the other tables.',
    );
  }
  const described = await Promise.all(names.map((tableName) => db.describeTable({ tableName, ...call })));
  const index = given.tables && described.find(({ indexOf }) => indexOf !== null);
  if (index)
    throw invalid(
      `The argument 'tables' names '${index.tableName}', which is an index of the table '${index.indexOf}'.`,
      "Indexes are made anew from their tables.",
    );
  // An instance of the service tells indexes by their tables alone.
  const indexNames = new Set(described.flatMap(({ indexes }) => indexes.map(({ indexName }) => indexName)));
  const tables = described.filter(({ indexOf, tableName }) => indexOf === null && !indexNames.has(tableName)).map(formOf);
  let [tableName, rows, bytes] = ["", 0, 0];
  async function* lines(): AsyncGenerator<string, void, undefined> {
    const head: Head = { tabstore: "instance", form: FORM, name: db.name, exportedAt: Date.now(), tables };
    yield `${JSON.stringify(head)}\n`;
    const print = exact(true);
    for (const table of tables) {
      ({ tableName } = table);
      yield `${JSON.stringify({ table: tableName })}\n`;
      for await (const page of pagesOf(db, tableName, [], { versions: "all", ...call })) {
        rows += page.length;
        yield `${page.map(print).join("\n")}\n`;
      }
    }
    yield `${JSON.stringify({ end: { tables: tables.length, rows } })}\n`;
  }
  return byteStream(lines(), (more) => onProgress?.({ tableName, rows, bytes: (bytes += more) }));
}

const broken = (what: string): TabStoreError =>
  invalid(`The source is no export of an instance: ${what}.`, "Give what exportInstance made. Rows of one table are imported by importRows.");

function headOf(line: unknown): Head {
  const head = Object(line) as Partial<Head>;
  if (head.tabstore !== "instance" || !Array.isArray(head.tables)) throw broken("its first line does not say so");
  if (head.form !== FORM) throw invalid(`The export has the form ${shown(head.form)}; this version of the package reads the form ${FORM}.`);
  return head as Head;
}

/** The values of the lines of a source. */
async function* valuesOf(
  source: ByteSource,
  onBytes: (bytes: number) => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly unknown[], void, undefined> {
  const lines = new LineSplitter();
  const read = (values: unknown[]): unknown[] =>
    values.map((value) => {
      if (value instanceof Unreadable) throw value.error;
      return value;
    });
  for await (const text of texts(openSource(source, "ndjson").stream, onBytes, signal)) yield read(lines.push(text));
  const [last] = lines.end();
  if (last instanceof Unreadable) throw broken("it ends too early, within a line");
  if (last !== undefined) yield [last];
}

/** Whether a row has no attributes. */
const isBare = ({ attributes = {} }: NewRow): boolean => Object.keys(attributes).length === 0;

/** Bytes that a value takes at most. */
const bytesOf = (value: unknown): number => (typeof value === "string" ? 3 * value.length : value instanceof Uint8Array ? value.length : 8);

/** Attributes in so many pieces that a call takes each. */
function piecesOf({ attributes = {} }: NewRow): Attributes[] {
  const pieces: Record<string, InputValue | InputCell[]>[] = [{}];
  let [cells, bytes] = [0, 0];
  for (const [name, value] of Object.entries(attributes)) {
    for (const cell of Array.isArray(value) ? (value as InputCell[]) : [value as InputValue]) {
      const isCell = typeof cell === "object" && !(cell instanceof Uint8Array) && "version" in cell;
      const more = name.length + 16 + bytesOf(isCell ? cell.value : cell);
      if (cells > 0 && (cells === MOST_CELLS || bytes + more > MOST_BYTES)) {
        pieces.push({});
        [cells, bytes] = [0, 0];
      }
      const piece = pieces.at(-1)!;
      const there = Object.hasOwn(piece, name) ? piece[name] : undefined;
      if (Array.isArray(there)) there.push(cell as InputCell);
      else setField(piece, name, Array.isArray(value) ? [cell as InputCell] : (cell as InputValue));
      [cells, bytes] = [cells + 1, bytes + more];
    }
  }
  return pieces;
}

/** Whether the first line describes a table. What is wrong within is refused when the table is created. */
function isForm(form: unknown): form is TableForm {
  const { tableName, primaryKey, indexes = [], definedColumns = [] } = Object(form) as Partial<TableForm>;
  const isList = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null);
  return typeof tableName === "string" && isList(primaryKey) && isList(indexes) && isList(definedColumns);
}

/** One import. */
class InstanceImport {
  private readonly created: string[] = [];
  /** Tables that are there, whose offset of versions was raised. */
  private readonly raised: TableDescription[] = [];
  private head: Head | undefined;
  private form: TableForm | undefined;
  private writer: RowWriter | undefined;
  private converter: Converter | undefined;
  /** The time to live of a table that is there, in seconds. */
  private timeToLive = -1;
  /** Versions before this have expired, and the table does not take them. */
  private oldest = -Infinity;
  private hasVersions = true;
  private isOver = false;
  private tables = 0;
  /** Rows of the source so far, and those stored of the tables before. */
  private read = 0;
  private rows = 0;
  bytes = 0;
  private failure: TabStoreError | undefined;
  private release: Release | undefined;

  constructor(
    private readonly db: InstanceTarget,
    private readonly options: ImportInstanceOptions,
    private readonly unlessEnded: Guard,
  ) {}

  private get call(): CallOptions {
    return callOf(this.options);
  }

  async take(values: readonly unknown[]): Promise<void> {
    // Again for each piece of the source: others expire meanwhile.
    await this.look();
    for (const value of values) {
      if (this.head === undefined) {
        await this.begin(headOf(value));
        continue;
      }
      if (this.isOver) throw broken("there is something behind its last line");
      if (typeof value !== "object" || value === null) throw broken(`a line is ${kindOf(value)}`);
      if ("primaryKey" in value) {
        this.read += 1;
        const wait = this.put(value as NewRow);
        if (wait !== undefined) await wait;
      } else if ("table" in value) {
        await this.endTable();
        await this.beginTable(value.table);
      } else if ("end" in value) {
        await this.endTable();
        const { tables, rows } = Object(value.end) as { readonly tables?: unknown; readonly rows?: unknown };
        if (tables !== this.tables || rows !== this.read)
          throw broken(`it has ${this.tables} tables with ${this.read} rows, and says ${shown(tables)} with ${shown(rows)}`);
        this.isOver = true;
      } else {
        throw broken("a line is neither a row nor the name of a table");
      }
      if (this.failure !== undefined) throw this.failure;
    }
  }

  /** Reads the store's clock, which decides what has expired. */
  private async look(): Promise<void> {
    this.oldest = this.timeToLive > 0 ? (await this.db.metrics(this.call)).now - this.timeToLive * 1000 + SOON : -Infinity;
  }

  /**
   * Waits until no other import has the instance. Two at once would spoil each other: the one that ends first takes back what it has
   * allowed a table, and one that fails deletes the tables that it has made, with the rows of the other.
   */
  private async enter(): Promise<void> {
    const turn = turnOf(this.db, "import");
    try {
      this.release = await this.unlessEnded(unlessAborted(turn, this.options.signal));
    } catch (error) {
      void turn.then(
        (release) => release(),
        () => {},
      );
      throw error;
    }
  }

  /** Lets the next import begin. */
  leave(): void {
    this.release?.();
  }

  /** Looks whether a table of the export is there already, before anything is stored. */
  private async begin(head: Head): Promise<void> {
    const { existing = "refuse" } = this.options;
    await this.enter();
    const there = new Set(await this.db.listTable(this.call));
    for (const form of head.tables) {
      if (!isForm(form)) throw broken("its first line does not describe a table");
      for (const name of [form.tableName, ...(form.indexes ?? []).map(({ indexName }) => indexName)]) {
        if (existing === "refuse" && there.has(name)) {
          throw new TabStoreError({
            code: "OTSObjectAlreadyExist",
            status: 409,
            retryable: false,
            message: "Requested table already exists.",
            hint: `The instance has a table '${name}'. Delete it, import into another instance, or give existing: "merge".`,
          });
        }
      }
    }
    this.head = head;
  }

  private async beginTable(tableName: unknown): Promise<void> {
    const { db, call } = this;
    const form = this.head!.tables.find((one) => one.tableName === tableName);
    if (form === undefined) throw broken(`its first line does not have the table ${shown(tableName)}`);
    const { indexes: _, stream: __, definedColumns: ___, ...base } = form;
    const isMerge = this.options.existing === "merge";
    let there = isMerge && (await db.listTable(call)).includes(form.tableName) ? await db.describeTable({ tableName: form.tableName, ...call }) : undefined;
    this.timeToLive = -1;
    if (there === undefined) {
      const primaryKey = form.primaryKey.map((column) => (column.autoIncrement === true ? { ...column, allowChosen: true } : column));
      // What hides, refuses or derives rows comes behind them: older rows may have values that a column defined later would not take.
      await db.createTable({ ...base, primaryKey, timeToLive: -1, maxVersionOffset: ANY_OFFSET, allowUpdate: true });
      this.created.push(form.tableName);
      there = await db.describeTable({ tableName: form.tableName, ...call });
    } else if (there.indexes.length === 0) {
      if (there.maxVersionOffset !== ANY_OFFSET) this.raised.push(there);
      this.timeToLive = there.timeToLive;
      await db.updateTable({ tableName: form.tableName, maxVersionOffset: ANY_OFFSET });
    }
    await this.look();
    this.hasVersions = there.indexes.length === 0;
    this.tables += 1;
    this.form = form;
    this.converter = new Converter(there, {});
    this.writer = db.writer(form.tableName, {
      ...call,
      onProgress: () => this.report(),
      onFailure: ({ error }) => (this.failure ??= this.explained(error, there.primaryKey)),
    });
  }

  private put(row: NewRow): undefined | Promise<void> {
    if (this.writer === undefined) throw broken("a row comes before the name of its table");
    const typed = this.converter!.typed(row, { oldest: this.oldest, hasVersions: this.hasVersions });
    // All of it has expired.
    if (isBare(typed) && !isBare(row)) return undefined;
    const pieces = piecesOf(typed);
    return pieces.length === 1 ? this.writer.put(typed) : this.putPieces(typed, pieces);
  }

  /** A row that grew by updates, beyond what one call takes. */
  private async putPieces({ primaryKey }: NewRow, [first, ...others]: readonly Attributes[]): Promise<void> {
    const wait = this.writer!.put({ primaryKey, attributes: first });
    if (wait !== undefined) await wait;
    await this.writer!.flush();
    for (const put of others) await this.db.updateRow({ tableName: this.form!.tableName, primaryKey, put, ...this.call });
  }

  /** Says why a new row was refused that has the key which the store gave it elsewhere. */
  private explained(error: TabStoreError, key: readonly KeyColumn[]): TabStoreError {
    const given = key.find(({ autoIncrement, allowChosen }) => autoIncrement === true && allowChosen !== true);
    if (given === undefined || error.code !== "OTSConditionCheckFail") return error;
    return new TabStoreError({
      ...toRecord(error),
      hint: `The table '${this.form?.tableName}' gives its rows their '${given.name}', and has no allowChosen. So only rows that are there can be merged into it: delete the table, and import it anew.`,
    });
  }

  /** All rows of a table are there. */
  private async endTable(): Promise<void> {
    const { db, call, form, writer } = this;
    if (writer === undefined || form === undefined) return;
    await writer.close().catch((error: unknown) => {
      throw this.failure ?? error;
    });
    this.rows += writer.progress.rows;
    [this.writer, this.form] = [undefined, undefined];
    this.report(form.tableName);
    if (!this.created.includes(form.tableName)) return;
    const { tableName, timeToLive, maxVersionOffset, allowUpdate, definedColumns = [], indexes = [], stream } = form;
    if (definedColumns.length > 0) await db.addDefinedColumn({ tableName, columns: definedColumns });
    await db.updateTable({ tableName, timeToLive, maxVersionOffset, allowUpdate });
    for (const index of indexes) await db.createIndex({ tableName, index });
    await untilBuilt(
      indexes.map(({ indexName }) => indexName),
      () => db.describeTable({ tableName, ...call }),
    );
    if (stream !== undefined) await db.updateTable({ tableName, stream });
  }

  private report(tableName = this.form?.tableName ?? ""): void {
    this.options.onProgress?.({ tableName, rows: this.rows + (this.writer?.progress.rows ?? 0), bytes: this.bytes });
  }

  /** The end of the source. */
  end(): ImportInstanceResult {
    if (!this.isOver) throw broken("it ends too early");
    return { tables: [...this.created], rows: this.rows };
  }

  /** An error of a merge says how many rows it has stored. */
  told(error: TabStoreError): TabStoreError {
    if (this.options.existing !== "merge") return error;
    const message = `${error.message}${/[.!?]$/.test(error.message) ? "" : "."} Rows stored: ${this.rows + (this.writer?.progress.rows ?? 0)}.`;
    return new TabStoreError({ ...toRecord(error), message }, { cause: error });
  }

  /** Lowers the offset of versions again. */
  async lower(): Promise<void> {
    for (const { tableName, maxVersionOffset } of this.raised.splice(0)) {
      const there = await this.db.describeTable(tableName);
      if (there.maxVersionOffset === ANY_OFFSET) await this.db.updateTable({ tableName, maxVersionOffset });
    }
  }

  /** Deletes what it has created: an import has all of it, or none. */
  async undo(): Promise<void> {
    await this.writer?.close().catch(() => {});
    await this.lower().catch(() => {});
    for (const tableName of this.created.reverse()) await this.db.deleteTable(tableName).catch(() => {});
  }
}

/** The implementation of {@link Database.importInstance}. */
export async function importInstance(
  db: InstanceTarget,
  source: ByteSource,
  options: ImportInstanceOptions,
  unlessEnded: Guard,
): Promise<ImportInstanceResult> {
  const given = takeArguments(options, IMPORT, "importInstance");
  const { existing, onProgress } = given;
  if (existing !== undefined && existing !== "refuse" && existing !== "merge")
    throw invalid(`The argument 'existing' is ${shown(existing)}; it must be refuse or merge.`);
  checkListener(onProgress);
  if (!isBytes(source)) throw invalid(`The argument 'source' is ${kindOf(source)}; it must be a Blob, File, Response or ReadableStream.`);
  const signal = signalOf(given);
  const run = new InstanceImport(db, given, unlessEnded);
  try {
    const values = valuesOf(source, (more) => (run.bytes += more), signal);
    for await (const some of guarded(values, signal, unlessEnded)) {
      await run.take(some);
      if (signal?.aborted) throw abortReason(signal);
    }
    const result = run.end();
    await run.lower();
    return result;
  } catch (error) {
    await run.undo();
    // An error of the source's own code, or of a listener, is the cause.
    throw signal?.aborted ? abortReason(signal) : run.told(known(error));
  } finally {
    run.leave();
  }
}
