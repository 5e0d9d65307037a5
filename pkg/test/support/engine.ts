/**
 * A small engine for tests: reads request frames, keeps rows in a map, answers when it is told to. A request that it does not
 * know fails, and so does one that ends elsewhere than its frame.
 */

import { TAG } from "../../src/codec/contract.js";
import type { EngineHost } from "../../src/host/host.js";
import { Bytes, encodePage, errorPayload, responses, type Typed } from "./bytes.js";

const decoder = new TextDecoder();

/** A request, decoded. */
export interface Request {
  id: number;
  op: number;
  /** The transaction that it is part of, or ends. */
  transaction: string | undefined;
  /** The loader that it puts into, or asks for. */
  loader: number;
  table: string;
  /** It acknowledges the answers to the requests below this number. */
  below?: number;
  rows: { key: Record<string, Typed>; cells: [string, number | undefined, Typed][] }[];
}

/** What outlives an engine: the rows, how often each was written, and the answers, by the request and the row. */
export interface Disk {
  readonly store: Map<string, Request["rows"][number]>;
  readonly written: Map<string, number>;
  readonly answers: Set<string>;
  /** The answers to administrative changes, by their requests. */
  readonly changes: Map<number, unknown>;
}

export const newDisk = (): Disk => ({ store: new Map(), written: new Map(), answers: new Set(), changes: new Map() });

/** A row that a load has taken. */
interface TakenRow {
  readonly row: Request["rows"][number];
  readonly id: number;
  readonly at: number;
}

class Frame {
  at = 5;
  readonly names: string[] = [];
  readonly end: number;

  constructor(readonly bytes: Uint8Array) {
    if (bytes[0] !== 1) throw new Error(`frame version ${bytes[0]}`);
    this.end = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true);
    const at = this.at;
    this.at = this.end;
    for (let left = this.uv(); left > 0; left--) this.names.push(this.str());
    if (this.at !== bytes.length) throw new Error("bytes after the dictionary");
    this.at = at;
  }

  /** Passes over so many bytes, which must be there; gives where they begin. */
  private take(length: number): number {
    const { at } = this;
    this.at += length;
    if (this.at > this.bytes.length) throw new Error("a frame that ends too early");
    return at;
  }

  u8(): number {
    return this.bytes[this.take(1)];
  }

  big(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.u8();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  uv(): number {
    return Number(this.big());
  }

  sv(): bigint {
    const zigzag = this.big();
    return BigInt.asIntN(64, (zigzag >> 1n) ^ -(zigzag & 1n));
  }

  str(): string {
    const length = this.uv();
    return decoder.decode(this.bytes.subarray(this.take(length), this.at));
  }

  name(): string {
    const at = this.uv();
    if (at >= this.names.length) throw new Error(`name ${at}`);
    return this.names[at];
  }

  value(): Typed {
    const tag = this.u8();
    switch (tag) {
      case TAG.INTEGER:
        return { INTEGER: this.sv() };
      case TAG.DOUBLE:
        return { DOUBLE: new DataView(this.bytes.buffer, this.bytes.byteOffset + this.take(8)).getFloat64(0, true) };
      case TAG.FALSE:
        return { BOOLEAN: false };
      case TAG.TRUE:
        return { BOOLEAN: true };
      case TAG.STRING:
        return { STRING: this.str() };
      case TAG.BINARY: {
        const length = this.uv();
        return { BINARY: this.bytes.slice(this.take(length), this.at) };
      }
      case TAG.AUTO_INCREMENT:
        return { STRING: "AUTO_INCREMENT" };
      case TAG.INF_MIN:
        return { STRING: "INF_MIN" };
      default:
        throw new Error(`tag ${tag}`);
    }
  }

  key(): Record<string, Typed> {
    const key: Record<string, Typed> = {};
    for (let left = this.u8(); left > 0; left--) key[this.name()] = this.value();
    return key;
  }

  put(): Request["rows"][number] {
    const key = this.key();
    this.at += 3;
    const cells: [string, number | undefined, Typed][] = [];
    for (let left = this.uv(); left > 0; left--) {
      const name = this.name();
      const version = this.u8() === 1 ? Number(this.sv()) : undefined;
      cells.push([name, version, this.value()]);
    }
    return { key, cells };
  }
}

/** The requests of a frame: puts, gets by key without options, batches of puts, and transactions. */
export function decodeRequests(bytes: Uint8Array): Request[] {
  const frame = new Frame(bytes);
  const requests: Request[] = [];
  while (frame.at < frame.end) {
    const request: Request = { id: frame.uv(), op: frame.u8(), transaction: undefined, loader: 0, table: "", rows: [] };
    if ((request.op & 0x40) !== 0) {
      request.op &= ~0x40;
      request.transaction = frame.str();
    }
    if (request.op === 1) {
      request.table = frame.name();
      request.rows.push(frame.put());
    } else if (request.op === 4) {
      request.table = frame.name();
      request.rows.push({ key: frame.key(), cells: [] });
      if (frame.u8() !== 1 || frame.uv() !== 1) throw new Error("read options that this engine does not know");
    } else if (request.op === 7 || request.op === 12) {
      if (request.op === 12) request.loader = frame.uv();
      for (let left = frame.uv(); left > 0; left--) {
        if (frame.u8() !== 1) throw new Error("a batch of something else than puts");
        request.table = frame.name();
        request.rows.push(frame.put());
      }
    } else if (request.op === 8) {
      request.table = frame.name();
      request.rows.push({ key: frame.key(), cells: [] });
    } else if (request.op === 9 || request.op === 10) {
      request.transaction = frame.str();
    } else if (request.op === 13) {
      request.loader = frame.uv();
    } else if (request.op === 15) {
      request.below = frame.uv();
    } else {
      throw new Error(`operation ${request.op}`);
    }
    requests.push(request);
  }
  if (frame.at !== frame.end) throw new Error("a request that does not end before the dictionary");
  return requests;
}

const text = (key: unknown): string => JSON.stringify(key, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));

/** The engine. Frames wait until {@link FakeEngine.answer}, or are answered in the next task with `auto`. */
export class FakeEngine implements EngineHost {
  direct = false;
  readonly frames: Request[][] = [];
  readonly order: string[] = [];
  /** What the client has acknowledged, frame by frame. */
  readonly acknowledged: number[] = [];
  readonly calls: [string, unknown][] = [];
  /** The numbers of administrative calls, if they had any, and the changes that were done. */
  readonly numbers: (number | undefined)[] = [];
  readonly done: string[] = [];
  /** Whether it answers administrative changes, once they are done. */
  tells = true;
  private waiting: { readonly requests: readonly Request[]; answer(): void }[] = [];
  closed = false;
  /** Refuses rows for a reason, or with a code and a reason, in tests of failures. */
  refuse: (row: Request["rows"][number], request: Request) => string | readonly [string, string] | undefined = () => undefined;
  /** Whether rows are loaded: stored when that is asked for. */
  loads = false;
  /** The bytes of a loaded row. */
  rowBytes = 64;
  private readonly taken = new Map<number, { load: number; table: string; rows: TakenRow[] }[]>();
  /** The number of its last load. */
  lastLoad = 0;
  /** Why a load cannot be stored. */
  failStore: (load: number) => readonly [string, string] | undefined = () => undefined;
  /** By load, why it could not be, and by which loader it was put. */
  private readonly failed = new Map<number, readonly [loader: number, error: Uint8Array]>();
  private readonly ended = new Set<number>();
  /** Answers administration. */
  admin: (op: string, args: unknown) => unknown = () => undefined;

  /** Whether it has ended: it hears and says nothing. */
  gone = false;

  constructor(
    private readonly receive: (frame: Uint8Array) => void,
    public auto = true,
    readonly disk = newDisk(),
  ) {}

  get store(): Disk["store"] {
    return this.disk.store;
  }

  /** The number of frames without an answer. */
  get open(): number {
    return this.waiting.length;
  }

  submit(frame: Uint8Array): void {
    if (this.gone) return;
    const all = decodeRequests(frame.slice());
    for (const { below } of all) if (below !== undefined) this.acknowledged.push(below);
    const requests = all.filter(({ below }) => below === undefined);
    if (requests.length === 0) return;
    this.frames.push(requests);
    const answers = requests.map((request) => this.handle(request));
    this.waiting.push({ requests, answer: () => this.receive(responses(...answers)) });
    if (this.auto) setTimeout(() => this.answer(), 0);
  }

  /** Answers the oldest frame that waits, or one behind it; `inOrder`, if it stores rows, only behind the answers to those. */
  answer(at = 0, inOrder = false): void {
    const loaders = this.waiting[at]?.requests.filter(({ op }) => op === 13).map(({ loader }) => loader) ?? [];
    const first = this.waiting.findIndex(({ requests }) => requests.some(({ op, loader }) => op === 12 && loaders.includes(loader)));
    const [frame] = this.waiting.splice(inOrder && first >= 0 && first < at ? first : at, 1);
    if (!this.gone) frame?.answer();
  }

  private write(table: string, { row, id, at }: TakenRow): void {
    const { store, written, answers } = this.disk;
    const key = text([table, row.key]);
    store.set(key, row);
    written.set(key, (written.get(key) ?? 0) + 1);
    answers.add(`${id}:${at}`);
  }

  async call(op: string, args: unknown, request?: number): Promise<unknown> {
    this.order.push(op);
    // As they arrive at the other end of a port.
    this.calls.push([op, structuredClone(args)]);
    this.numbers.push(request);
    if (request === undefined) return this.admin(op, args);
    const { changes } = this.disk;
    if (!changes.has(request)) {
      changes.set(request, await this.admin(op, args));
      this.done.push(op);
    }
    return this.tells ? changes.get(request) : new Promise(() => {});
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** Somebody writes among the rows of every load. */
  endLoads(): void {
    for (const [loader, loads] of this.taken) this.end(loader, loads);
  }

  private end(loader: number, loads: readonly { load: number; table: string; rows: TakenRow[] }[]): void {
    for (const { load, table, rows } of loads) {
      if (this.ended.has(load)) continue;
      this.ended.add(load);
      const fails = this.failStore(load);
      if (fails !== undefined) this.failed.set(load, [loader, errorPayload(fails[0], fails[1], fails[0] === "QuotaExceeded" ? 507 : 400, false)]);
      else for (const row of rows) this.write(table, row);
    }
  }

  private handle(request: Request): { id: number; ok: boolean; payload: Uint8Array } {
    const { id, op, table, rows, transaction } = request;
    this.order.push(`${op}:${rows.map(({ key }) => text(key)).join()}`);
    const wrong = (reason: string | readonly [string, string]): Uint8Array => {
      const [code, message] = typeof reason === "string" ? ["OTSParameterInvalid", reason] : reason;
      return errorPayload(code, message, code === "QuotaExceeded" ? 507 : 400, code !== "OTSParameterInvalid");
    };
    if (op === 13) {
      const refused = this.refuse({ key: {}, cells: [] }, request);
      if (refused !== undefined) return { id, ok: false, payload: wrong(refused) };
      const taken = this.taken.get(request.loader) ?? [];
      this.taken.delete(request.loader);
      this.end(request.loader, taken);
      const units = taken.reduce((sum, { load, rows }) => (this.failed.has(load) ? sum : sum + rows.length), 0);
      const failed = [...this.failed].filter(([, [loader]]) => loader === request.loader);
      const payload = new Bytes().uv(0).uv(units).uv(this.lastLoad).uv(failed.length);
      for (const [load, [, error]] of failed) payload.uv(load).raw(error);
      return { id, ok: true, payload: payload.done() };
    }
    const isKnown = (at: number): boolean => this.disk.answers.has(`${id}:${at}`);
    const refusal = (row: Request["rows"][number]): string | readonly [string, string] | undefined =>
      Object.keys(row.key).length === 0 ? "VT_INF_MIN is an invalid type for the attribute column." : this.refuse(row, request);
    if (op === 12 && this.loads && !rows.some((_, at) => isKnown(at))) {
      const loads = this.taken.get(request.loader) ?? [];
      this.taken.set(request.loader, loads);
      if (loads.length === 0 || this.ended.has(loads.at(-1)!.load)) loads.push({ load: ++this.lastLoad, table, rows: [] });
      const { load, rows: taken } = loads.at(-1)!;
      const wrongs: [number, Uint8Array][] = [];
      rows.forEach((row, at) => {
        const refused = refusal(row);
        if (refused === undefined) taken.push({ row, id, at });
        else wrongs.push([at, wrong(refused)]);
      });
      const payload = new Bytes()
        .u8(0)
        .uv(load)
        .uv(taken.length * this.rowBytes)
        .uv(rows.length)
        .uv(wrongs.length);
      for (const [at, error] of wrongs) payload.uv(at).raw(error);
      return { id, ok: true, payload: payload.done() };
    }
    if (op >= 8 && op !== 12) {
      const refused = this.refuse(rows[0] ?? { key: {}, cells: [] }, request);
      if (refused !== undefined) return { id, ok: false, payload: wrong(refused) };
      const payload = new Bytes().uv(0).uv(1);
      return { id, ok: true, payload: (op === 8 ? payload.str(`tx-${id}`) : payload).done() };
    }
    if (op === 4 && transaction !== undefined) this.order.push(transaction);
    if (op === 4) {
      const refused = this.refuse(rows[0], request);
      if (refused !== undefined) return { id, ok: false, payload: wrong(refused) };
      const row = this.store.get(text([table, rows[0].key]));
      const page = encodePage(
        Object.keys(rows[0].key),
        row === undefined
          ? []
          : [
              {
                key: Object.values(row.key),
                columns: row.cells.map(([name, version, value]) => [name, [[version ?? 1000, value]]]),
              },
            ],
        1000,
      );
      return { id, ok: true, payload: new Bytes().uv(1).uv(0).raw(page).done() };
    }
    const payload = new Bytes();
    const batch = op === 7 || op === 12;
    if (op === 12) payload.u8(1);
    if (batch) payload.uv(rows.length);
    for (const [at, row] of rows.entries()) {
      const refused = isKnown(at) ? undefined : refusal(row);
      if (refused === undefined) {
        if (!isKnown(at)) this.write(table, { row, id, at });
        if (batch) payload.u8(1);
        payload.uv(0).uv(1).u8(0);
      } else if (batch) {
        payload.u8(0).raw(wrong(refused));
      } else {
        return { id, ok: false, payload: wrong(refused) };
      }
    }
    if (batch) payload.raw(encodePage([], []));
    return { id, ok: true, payload: payload.done() };
  }
}
