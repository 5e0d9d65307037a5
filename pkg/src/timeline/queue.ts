/** One timeline: its messages by id, its scans and its pages. */

import { kindOf } from "../codec/kinds.js";
import type { CallOptions, PrimaryKey, RangeKey, Row } from "../index.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../types/values.js";
import type { Host } from "./check.js";
import type { FieldCodec } from "./fields.js";
import type {
  ConditionOptions,
  NewEntry,
  NewMessage,
  PageOptions,
  ScanOptions,
  SequenceId,
  StoreOptions,
  StoreResult,
  TimelineEntry,
  TimelineIdentifier,
  TimelinePage,
  TimelineQueue,
} from "./types.js";
import { type Background, type NewRow, putAll } from "./writes.js";

const SCAN = ["from", "after", "to", "maxCount", "filter", "signal"];
const PAGE = [...SCAN, "direction", "token"];
const ENTRY = ["message", "sequenceId"];
export const SIGNAL = ["signal"];
export const CONDITION = ["condition", "signal"];
/** Messages that an endless scan asks for at once. */
const PAGE_ROWS = 1000;
/** A token: the direction, the next id and, if there is one, the id to stop before. */
const TOKEN = /^([FB])\.(-?\d{1,19})\.(\d{1,19})?$/;

type Direction = "FORWARD" | "BACKWARD";
type RowToPut = Exclude<NewRow, Error>;
/** A stretch of a timeline. */
interface Stretch {
  readonly direction: Direction;
  readonly start: RangeKey;
  readonly end: RangeKey;
}

/** The parts of a store that its timelines share. */
export interface Shared {
  readonly host: Host;
  readonly tableName: string;
  /** The column of the sequence id. */
  readonly column: string;
  /** Whether ids come with the messages. */
  readonly manual: boolean;
  readonly fields: FieldCodec;
  readonly background: Background;
}

/** An id as the caller wants it. */
export function idOf({ host, column }: Shared, key: PrimaryKey): SequenceId {
  const id = key[column] as SequenceId;
  return host.bigint ? BigInt(id) : id;
}

/** The row of a message. Its id comes from the caller, or from the store. */
export function rowOf(
  { host, manual, column, fields }: Shared,
  identifier: TimelineIdentifier,
  message: unknown,
  sequenceId: SequenceId | undefined,
  path = "",
): RowToPut {
  if (sequenceId === undefined && manual) {
    throw host.error(
      "OTSParameterInvalid",
      "The sequence id of this timeline is not auto generated.",
      "Give the message a 'sequenceId'; or 'sequenceIdGeneration' of the schema is \"AUTO_INCREMENT\".",
    );
  }
  return {
    primaryKey: { ...identifier, [column]: sequenceId === undefined ? AUTO_INCREMENT : host.id(sequenceId, `${path}sequenceId`) },
    attributes: fields.encode(message, `${path}message`),
  };
}

/** A {@link TimelineQueue}. */
export class Queue<M> implements TimelineQueue<M> {
  constructor(
    private readonly shared: Shared,
    readonly identifier: TimelineIdentifier,
  ) {}

  async store(message: NewMessage<M>, options?: StoreOptions): Promise<SequenceId> {
    const { host, tableName } = this.shared;
    const { sequenceId, condition, signal } = host.options(options, ["sequenceId", ...CONDITION], "store");
    const { row } = await host.db.putRow({
      tableName,
      ...rowOf(this.shared, this.identifier, message, sequenceId),
      condition,
      returnContent: "PRIMARY_KEY",
      signal,
    });
    return idOf(this.shared, row!.primaryKey);
  }

  async batchStore(entries: readonly NewEntry<M>[], options?: CallOptions): Promise<StoreResult[]> {
    const { host, tableName } = this.shared;
    const rows = host.array(entries, "entries").map((entry, index): NewRow => {
      try {
        const path = `entries[${index}]`;
        if (entry === undefined) throw host.wrong(path, "undefined", "an object");
        const { message, sequenceId } = host.options(entry as NewEntry<M>, ENTRY, path);
        return rowOf(this.shared, this.identifier, message, sequenceId, `${path}.`);
      } catch (error) {
        if (host.isFailure(error)) return error;
        throw error;
      }
    });
    return putAll(host, tableName, rows, 1, (key) => idOf(this.shared, key), host.options(options, SIGNAL, "batchStore"));
  }

  storeAsync(message: NewMessage<M>, options?: { readonly sequenceId?: SequenceId | undefined }): undefined | Promise<void> {
    const { sequenceId } = this.shared.host.options(options, ["sequenceId"], "storeAsync");
    return this.shared.background.put(rowOf(this.shared, this.identifier, message, sequenceId));
  }

  async update(sequenceId: SequenceId, fields: Partial<NewMessage<M>>, options?: ConditionOptions): Promise<void> {
    const { host, tableName, fields: codec } = this.shared;
    const { condition, signal } = host.options(options, CONDITION, "update");
    await host.db.updateRow({ tableName, primaryKey: this.keyOf(sequenceId), put: codec.encode(fields, "fields"), condition, signal });
  }

  async get(sequenceId: SequenceId, options?: CallOptions): Promise<TimelineEntry<M> | null> {
    const { host, tableName } = this.shared;
    const { signal } = host.options(options, SIGNAL, "get");
    const { row } = await host.db.getRow({ tableName, primaryKey: this.keyOf(sequenceId), signal });
    return row === null ? null : this.entry(row);
  }

  async delete(sequenceId: SequenceId, options?: ConditionOptions): Promise<void> {
    const { host, tableName } = this.shared;
    const { condition, signal } = host.options(options, CONDITION, "delete");
    await host.db.deleteRow({ tableName, primaryKey: this.keyOf(sequenceId), condition, signal });
  }

  async getLatestSequenceId(options?: CallOptions): Promise<SequenceId> {
    const row = await this.last(options, "getLatestSequenceId");
    return row === undefined ? (this.shared.host.bigint ? 0n : 0) : idOf(this.shared, row.primaryKey);
  }

  async getLatestTimelineEntry(options?: CallOptions): Promise<TimelineEntry<M> | null> {
    const row = await this.last(options, "getLatestTimelineEntry");
    return row === undefined ? null : this.entry(row);
  }

  scanForward(options?: ScanOptions): AsyncIterableIterator<TimelineEntry<M>> {
    return this.scan("FORWARD", options, "scanForward");
  }

  scanBackward(options?: ScanOptions): AsyncIterableIterator<TimelineEntry<M>> {
    return this.scan("BACKWARD", options, "scanBackward");
  }

  async page(options?: PageOptions): Promise<TimelinePage<M>> {
    const { host, tableName, column } = this.shared;
    const { token, direction = "FORWARD", maxCount, filter, signal, ...bounds } = host.options(options, PAGE, "page");
    host.check(direction, ["FORWARD", "BACKWARD"], "direction");
    const most = host.maxCount(maxCount, false);
    const stretch = token === undefined ? this.stretch(direction, bounds) : this.stretchOf(token, options!);
    const entries: TimelineEntry<M>[] = [];
    for (let next = stretch; next !== undefined; ) {
      const { rows, nextStartPrimaryKey: start } = await host.db.getRange({ tableName, ...next, limit: most - entries.length, filter, signal });
      for (const row of rows) entries.push(this.entry(row));
      if (start === null) break;
      if (entries.length === most) {
        const { [column]: to } = next.end;
        return { entries, token: `${next.direction[0]}.${String(start[column])}.${typeof to === "object" ? "" : String(to)}` };
      }
      next = { ...next, start };
    }
    return { entries, token: null };
  }

  flush(): Promise<void> {
    return this.shared.background.flush();
  }

  private keyOf(sequenceId: SequenceId): PrimaryKey {
    return { ...this.identifier, [this.shared.column]: this.shared.host.id(sequenceId, "sequenceId") };
  }

  private entry(row: Row): TimelineEntry<M> {
    return { sequenceId: idOf(this.shared, row.primaryKey), message: this.shared.fields.decode(row) as M };
  }

  private async last(options: CallOptions | undefined, what: string): Promise<Row | undefined> {
    const { host, tableName } = this.shared;
    const { signal } = host.options(options, SIGNAL, what);
    return (await host.db.getRange({ tableName, ...this.range("BACKWARD", INF_MAX, INF_MIN), limit: 1, signal })).rows[0];
  }

  private async *scan(direction: Direction, options: ScanOptions | undefined, what: string): AsyncGenerator<TimelineEntry<M>, void, undefined> {
    const { host, tableName } = this.shared;
    const { maxCount, filter, signal, ...bounds } = host.options(options, SCAN, what);
    const limit = host.maxCount(maxCount, true);
    const stretch = this.stretch(direction, bounds);
    if (stretch === undefined) return;
    const request = { tableName, ...stretch, limit: limit === Infinity ? undefined : limit, pageRows: PAGE_ROWS, filter, signal };
    for await (const row of host.db.scan(request)) yield this.entry(row);
  }

  /** The range of a scan; `undefined` if no message can be in it. */
  private stretch(direction: Direction, { from, after, to }: Pick<ScanOptions, "from" | "after" | "to">): Stretch | undefined {
    const { host } = this.shared;
    if (from !== undefined && after !== undefined)
      throw host.error("OTSParameterInvalid", "The arguments 'from' and 'after' are both given; a scan begins at one of them.");
    const forward = direction === "FORWARD";
    const [name, first] = from === undefined ? ["after", after] : ["from", from];
    const begin = first === undefined ? undefined : host.id(first, name);
    const end = to === undefined ? undefined : host.id(to, "to");
    if (begin !== undefined && end !== undefined && !(forward ? begin < end : begin > end)) {
      throw host.error(
        "OTSParameterInvalid",
        `The argument '${name}' is ${begin} and 'to' is ${end}; ${forward ? "forward it must be 0 <= " + name + " < to" : "backward it must be 0 <= to < " + name}.`,
      );
    }
    const start = begin === undefined || from !== undefined ? begin : forward ? begin + 1n : begin - 1n;
    // Nothing lies behind the last id, or between neighbours.
    if (start !== undefined && (start >= 2n ** 63n || start === end)) return undefined;
    return this.range(direction, start ?? (forward ? INF_MIN : INF_MAX), end ?? (forward ? INF_MAX : INF_MIN));
  }

  private range(direction: Direction, start: SequenceId | typeof INF_MIN | typeof INF_MAX, end: typeof start): Stretch {
    const { column } = this.shared;
    return { direction, start: { ...this.identifier, [column]: start }, end: { ...this.identifier, [column]: end } };
  }

  /** The rest of a range, from a token. */
  private stretchOf(token: unknown, options: PageOptions): Stretch {
    const { host } = this.shared;
    const given = (["direction", "from", "after", "to"] as const).find((name) => options[name] !== undefined);
    if (given !== undefined) throw host.error("OTSParameterInvalid", `The argument '${given}' is given together with 'token', which contains it.`);
    const [, letter, next, to] = (typeof token === "string" ? TOKEN.exec(token) : null) ?? [];
    const direction = letter === "F" ? "FORWARD" : "BACKWARD";
    const start = letter === undefined ? undefined : BigInt(next);
    const end = to === undefined ? undefined : BigInt(to);
    const isLess = start !== undefined && (end === undefined || (letter === "F" ? start < end : start > end));
    if (!isLess || start > 2n ** 63n - 1n || start < -(2n ** 63n))
      throw host.wrong("token", typeof token === "string" ? `'${token.slice(0, 60)}'` : kindOf(token), "the token of a page; the last page has none");
    return this.range(direction, start, end ?? (letter === "F" ? INF_MAX : INF_MIN));
  }
}
