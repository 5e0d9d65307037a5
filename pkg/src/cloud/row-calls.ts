/** Calls about rows, of a connection or of one of its transactions. */

import { checkArguments } from "../codec/check.js";
import type { FieldWriter } from "../codec/frame.js";
import * as encode from "../codec/requests.js";
import { takeOneArgument } from "../client/one-argument.js";
import { scanPages } from "../client/scan.js";
import { abortReason, SIGNAL, signalOf } from "../client/signals.js";
import type { TabStoreError } from "../types/errors.js";
import type { Row } from "../types/row.js";
import type {
  BatchGetItem,
  BatchGetResult,
  BatchWriteItem,
  BatchWriteResult,
  CallOptions,
  DeleteRowRequest,
  GetRangeRequest,
  GetRangeResult,
  GetRowRequest,
  GetRowResult,
  PutRowRequest,
  ScanRequest,
  UpdateRowRequest,
  WriteResult,
} from "../types/rows.js";
import { consumedOf, rowOf, writtenRow } from "./answers.js";
import type { Connection } from "./connection.js";
import { damaged } from "./errors.js";
import { more } from "./load.js";
import { GetRange, GetRow, RangeAnswer, RowAnswer, WriteRow } from "./messages.js";
import { readRows } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import { getRequest, type KeyNames, rangeRequest, readBatchGet, readGet, readRange, readWrite, rowId, type Write, writeRequest } from "./requests.js";
import { CloudRow, keyOf } from "./row.js";
import { Tokens } from "./tokens.js";

const OPERATIONS = [, "PutRow", "UpdateRow", "DeleteRow"] as string[];
const PLAIN_BUFFER = 0;

/** Names of the rows that are written, the same for the same row. */
export const idsOf = (writes: readonly Write[]): string[] => writes.map(({ tableName, key }) => rowId(tableName, key));

/** Does work, behind earlier work on its rows. */
export type Order = <T>(rows: readonly string[], writes: boolean, work: () => Promise<T>) => Promise<T>;

/** Reads the arguments of a call. */
export function taken<A>(write: (w: FieldWriter, argument: A) => void, argument: A): Tokens {
  const tokens = new Tokens();
  write(tokens, argument);
  return tokens;
}

/** {@link taken}, without the operation before them. */
export function behindOperation<A>(write: (w: FieldWriter, argument: A) => void, argument: A): Tokens {
  const tokens = taken(write, argument);
  tokens.number();
  return tokens;
}

/** Reads and writes of rows. */
export class RowCalls {
  /** `order` keeps the order of operations. With `transactionId` they belong to a transaction. */
  constructor(
    readonly connection: Connection,
    protected readonly order: Order,
    private readonly transactionId?: string,
  ) {}

  get closedBy(): TabStoreError | undefined {
    return this.connection.closedBy;
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.write(encode.putRow, request);
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    return this.write(encode.updateRow, request);
  }

  deleteRow(request: DeleteRowRequest): Promise<WriteResult> {
    return this.write(encode.deleteRow, request);
  }

  private write<A extends CallOptions>(arguments_: (w: FieldWriter, request: A) => void, request: A): Promise<WriteResult> {
    const { connection } = this;
    return connection.call(request, (signal) => {
      const write = readWrite(taken(arguments_, request));
      const { op, tableName, key } = write;
      return () =>
        this.order([rowId(tableName, key)], true, () =>
          connection.withKeys(tableName, signal, async (names) => {
            const { consumed, row } = await this.ask(OPERATIONS[op], WriteRow, writeRequest(write, names, this.transactionId), RowAnswer, signal);
            return { consumed: consumedOf(consumed), row: writtenRow(row, connection) };
          }),
        );
    });
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    const { connection } = this;
    return connection.call(request, (signal) => {
      const read = readGet(behindOperation(encode.getRow, request));
      const { tableName, key } = read;
      return () =>
        this.order([rowId(tableName, key)], false, () =>
          connection.withKeys(tableName, signal, async (names) => {
            const { consumed, row } = await this.ask("GetRow", GetRow, getRequest(read, names, this.transactionId), RowAnswer, signal);
            return { row: rowOf(row, connection), consumed: consumedOf(consumed) };
          }),
        );
    });
  }

  getRange(request: GetRangeRequest): Promise<GetRangeResult> {
    return this.range(request);
  }

  /** A read of a range; `select` may change what is read of its rows once the key is known. */
  range(request: GetRangeRequest, select?: (names: KeyNames) => Partial<Fields<typeof GetRange>>): Promise<GetRangeResult> {
    const { connection } = this;
    const begin = (signal: AbortSignal | undefined) => {
      const range = readRange(behindOperation(encode.getRange, request));
      return () =>
        this.order([], false, () =>
          connection.withKeys(range.tableName, signal, async (names) => {
            // An end that was left out needs the key: why there is none is the error.
            if (names === undefined && (range.start === undefined || range.end === undefined)) await connection.describe(range.tableName);
            const asked = { ...rangeRequest(range, names, this.transactionId), ...select?.(names) };
            const { consumed, rows, next, blockType = PLAIN_BUFFER } = await this.ask("GetRange", GetRange, asked, RangeAnswer, signal);
            if (blockType !== PLAIN_BUFFER) throw damaged(`its rows are packed in the way ${blockType}, which was not asked for`);
            const nextKey = readRows(next)[0]?.key;
            return {
              rows: readRows(rows).map((row) => new CloudRow(row, connection.bigints)),
              nextStartPrimaryKey: nextKey === undefined ? null : keyOf(nextKey, connection.bigints),
              consumed: consumedOf(consumed),
            };
          }),
        );
    };
    return connection.call(request, begin, true);
  }

  /** The service takes far longer than a generator, so this is a plain one. */
  async *scan(request: ScanRequest): AsyncGenerator<Row, void, undefined> {
    for await (const rows of this.scanPages(request)) {
      for (const row of rows) {
        yield row;
        if (this.closedBy !== undefined) throw this.closedBy;
        const signal = signalOf(request);
        if (signal?.aborted) throw abortReason(signal);
      }
    }
  }

  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]> {
    return scanPages(this, request);
  }

  async batchGetRow(tables: readonly BatchGetItem[], options?: CallOptions): Promise<BatchGetResult[][]> {
    checkArguments(options ?? {}, SIGNAL, "batchGetRow");
    return this.connection.call(options, (signal) => {
      const reads = readBatchGet(behindOperation(encode.batchGetRow, tables));
      const rows = reads.flatMap(({ tableName, keys }) => keys.map((key) => rowId(tableName, key)));
      return () => this.order(rows, false, async () => (await more()).readAll(this.connection, reads, signal));
    });
  }

  async batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]> {
    checkArguments(options ?? {}, SIGNAL, "batchWriteRow");
    return this.writeBatch(rows, options, false);
  }

  /** A call that writes rows, all of them or none if it is `atomic`. */
  protected writeBatch(rows: readonly BatchWriteItem[], options: CallOptions | undefined, isAtomic: boolean): Promise<BatchWriteResult[]> {
    return this.writes(encode.batchWriteRow, rows, options, (writes, signal) => this.writeAll(writes, signal, isAtomic));
  }

  /** A call about rows to write. */
  protected writes<T>(
    arguments_: (w: FieldWriter, rows: readonly BatchWriteItem[]) => void,
    rows: readonly BatchWriteItem[],
    options: CallOptions | undefined,
    work: (writes: readonly Write[], signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    return this.connection.call(options, (signal) => {
      const tokens = behindOperation(arguments_, rows);
      const writes = tokens.many(() => readWrite(tokens));
      return () => work(writes, signal);
    });
  }

  /** Writes rows. */
  writeAll(writes: readonly Write[], signal: AbortSignal | undefined, isAtomic = false): Promise<BatchWriteResult[]> {
    const ids = idsOf(writes);
    return this.order(ids, true, async () => (await more()).writeAll(this.connection, writes, ids, { signal, isAtomic, transactionId: this.transactionId }));
  }

  /**
   * Writes different rows; one that the service refuses with all of them does not fail its neighbours. `turn`: what to wait for once
   * earlier operations on the rows are over.
   */
  writeEach(writes: readonly Write[], turn: () => Promise<void>): Promise<BatchWriteResult[]> {
    const ids = idsOf(writes);
    return this.order(ids, true, async () => {
      const { writeEach } = await more();
      await turn();
      return writeEach(this.connection, writes, ids);
    });
  }

  private get ask(): Connection["service"]["call"] {
    const { service } = this.connection;
    return service.call.bind(service);
  }
}
takeOneArgument(RowCalls.prototype, ["scan", "scanPages"]);
