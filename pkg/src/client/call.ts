/** A call to the engine that waits for its answer, and its bytes in the frame that carried it. */

import { isBatch, isRow, OP, TAG } from "../codec/contract.js";
import { Reader, u32At } from "../codec/reader.js";
import type { Decode } from "../codec/response.js";
import type { TabStoreError } from "../types/errors.js";
import { abortReason, whenAborted } from "./signals.js";

/** A frame that has left, or is about to. */
export interface Sent {
  /** Its bytes; absent until it leaves. */
  bytes: Uint8Array | undefined;
  /** The number of its calls without a final answer. */
  calls: number;
  /** Its dictionary, after the first use. */
  names?: readonly string[];
}

/** Resolve and reject of the newest promise. One executor serves all promises, so none needs a closure. */
let resolveIt: (value: unknown) => void;
let rejectIt: (error: unknown) => void;
const EXECUTOR = (resolve: (value: unknown) => void, reject: (error: unknown) => void): void => {
  resolveIt = resolve;
  rejectIt = reject;
};

/** A call without a final answer. */
export class Call {
  /** What its caller awaits; only the calls of {@link promised} have it. */
  answer: Promise<unknown> | undefined;
  /** The number of refusals. */
  tries = 0;
  /** The last refusal. */
  error: TabStoreError | undefined;
  /** Its result if it is given up: an atomic batch returns its rows' errors as results. */
  results: unknown;
  /** The time of the next try. */
  due = 0;
  /** Whether {@link Retries} keeps it: it waits there, or has left from there. */
  kept = false;
  private names: readonly string[] | undefined;

  /**
   * `order` is its place among the caller's calls: its number, or for a row of a batch a little more than the batch's.
   * Its bytes, without its number, are from `start` to `end` in the frame; `marks` has the starts of a batch's rows.
   */
  constructor(
    readonly id: number,
    readonly order: number,
    readonly sent: Sent,
    readonly start: number,
    readonly end: number,
    readonly marks: readonly number[],
    readonly signal: AbortSignal | undefined,
    readonly decode: Decode<unknown>,
    readonly resolve: (value: unknown) => void,
    readonly reject: (error: unknown) => void,
    /** Whether it reads a range; closing the database does not wait for those. */
    readonly scans = false,
  ) {}

  /** Whether it only reads: the order of reads makes no difference. */
  get reads(): boolean {
    const op = this.sent.bytes?.[this.start];
    return op === OP.GET_ROW || (op === OP.AZURE && readsAzure(this.sent.bytes!, this.start));
  }

  /** Names of its rows, which tell them apart; `""` for a row that no other call can mean. */
  get rows(): readonly string[] {
    const {
      sent: { bytes },
      start,
    } = this;
    if (this.names !== undefined || bytes === undefined) return this.names ?? [];
    const op = bytes[start];
    // A request to a door may be about anything behind it.
    if (op === OP.AZURE) return (this.names = ["\0azure"]);
    // Those of a transaction have another number: they run one after another anyway.
    const places = isBatch(op) ? this.marks : isRow(op) ? [start] : [];
    return (this.names = places.map((at) => rowName(this.sent, at)));
  }
}

/** Whether the request to the door that begins at `start`, with its operation, only reads: see azure/door.ts. */
function readsAzure(bytes: Uint8Array, start: number): boolean {
  const reader = new Reader(bytes, start + 1);
  reader.uv();
  const isSecret = reader.u8() === 1;
  if (isSecret) reader.str();
  return reader.str() === "GET";
}

/** Table and key of the row that begins at `at`, with its operation. */
function rowName(sent: Sent, at: number): string {
  const bytes = sent.bytes!;
  sent.names ??= dictionary(bytes);
  const reader = new Reader(bytes, at + 1);
  const table = sent.names[reader.uv()];
  const columns: string[] = [];
  for (let left = reader.u8(); left > 0; left--) {
    const name = sent.names[reader.uv()];
    const start = reader.at;
    const tag = reader.u8();
    if (tag === TAG.AUTO_INCREMENT) return "";
    if (tag === TAG.DOUBLE) reader.at += 8;
    else if (tag === TAG.INTEGER) while (reader.u8() > 127);
    else if (tag === TAG.STRING || tag === TAG.BINARY) reader.binary();
    // No legal value is longer.
    columns.push(`${name}\0${String.fromCharCode(...bytes.subarray(start, Math.min(reader.at, start + 4096)))}`);
  }
  return [table, ...columns.sort()].join("\0");
}

function dictionary(bytes: Uint8Array): string[] {
  const reader = new Reader(bytes, u32At(bytes, 1));
  return Array.from({ length: reader.uv() }, () => reader.str());
}

/** One frame from calls that were all in the same frame. */
export function frameOf(calls: readonly Call[]): Uint8Array {
  const bytes = calls[0].sent.bytes!;
  const names = bytes.subarray(u32At(bytes, 1));
  const parts: number[][] = [];
  let size = 5;
  for (const { id, start, end } of calls) {
    const number: number[] = [];
    let rest = id;
    for (; rest > 127; rest = Math.floor(rest / 128)) number.push((rest % 128) | 128);
    number.push(rest);
    parts.push(number);
    size += number.length + end - start;
  }
  const frame = new Uint8Array(size + names.length);
  frame[0] = bytes[0];
  new DataView(frame.buffer).setUint32(1, size, true);
  let at = 5;
  calls.forEach(({ start, end }, i) => {
    frame.set(parts[i], at);
    frame.set(bytes.subarray(start, end), at + parts[i].length);
    at += parts[i].length + end - start;
  });
  frame.set(names, size);
  return frame;
}

/** A call with a promise of its answer. If `signal` aborts, its caller is told, and then `onAbort` is called. */
export function promised(
  id: number,
  sent: Sent,
  start: number,
  end: number,
  marks: readonly number[],
  decode: Decode<unknown>,
  signal: AbortSignal | undefined,
  scans: boolean,
  onAbort: () => void,
): Call {
  const answer = new Promise(EXECUTOR);
  let [settle, refuse] = [resolveIt, rejectIt];
  if (signal !== undefined) {
    const [resolve, reject] = [settle, refuse];
    const forget = whenAborted(signal, () => {
      reject(abortReason(signal));
      onAbort();
    });
    settle = (value) => {
      forget();
      resolve(value);
    };
    refuse = (error) => {
      forget();
      reject(error);
    };
  }
  sent.calls += 1;
  const call = new Call(id, id, sent, start, end, marks, signal, decode, settle, refuse, scans);
  call.answer = answer;
  return call;
}

/** The place of a call's row among all operations. */
export function orderOf(call: Call, row: number): number {
  return call.marks.length === 0 ? call.order : call.order + (row + 1) / 65536;
}
