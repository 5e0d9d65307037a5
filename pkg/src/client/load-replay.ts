/**
 * Rows of loads that the leader has taken and not stored: they are asked for again, of the next leader.
 *
 * A leader answers PUT_ROWS before the rows are stored, so a follower keeps these requests until the answer of their
 * STORE_ROWS. The next leader gets them in their old order and under their old numbers, among the calls without an answer.
 * It knows which of them were stored. A row that already has an answer of its own, or is being tried again alone, must not
 * be put with the others. Something that no engine accepts stands in its place, so that the other rows keep their numbers.
 *
 * Writers bound the bytes that are kept. Only pages with followers load this.
 */

import { Call } from "./call.js";
import { OP } from "../codec/contract.js";
import { Reader, u32At } from "../codec/reader.js";
import { type PutRowsResults, TAKEN } from "../codec/response.js";
import type { TabStoreError } from "../types/errors.js";
import { FATAL, type Kept, type Retries } from "./retry.js";

/**
 * A put of no row: without a key, and with a column of the frame's first name whose value is INF_MIN. It is refused before
 * its table is looked for, and costs nothing.
 */
const NO_ROW = Uint8Array.of(OP.PUT_ROW, 0, 0, 0, 0, 0, 1, 0, 0, 8);

type Results = Promise<PutRowsResults>;

/** A request of rows. */
interface Watched {
  answer: Results;
  readonly again: (answer: Results) => void;
}

/** A request whose rows were taken. */
interface Taken {
  readonly call: Call;
  readonly loader: number;
  /** The engine's load that took them. */
  readonly load: number;
  /** The rows that were not taken. */
  readonly others: ReadonlySet<number>;
  /** Whether they are stored, and their writer has not said yet that it knows. */
  stored: boolean;
}

/** The requests of one client. */
export class KeptRows implements Kept {
  private readonly taken = new Map<number, Taken>();
  private readonly watched = new Map<number, Watched>();
  /** The numbers of administrative calls that change something, and have no answer. */
  readonly changes = new Set<number>();

  /** `follows` tells whether the client's engine is in another tab. */
  constructor(private readonly follows: () => boolean) {}

  answered(call: Call, value: unknown): boolean {
    if (!this.follows()) return false;
    const {
      sent: { bytes },
      start,
    } = call;
    const stored = value as { readonly until: number; readonly failed: readonly { readonly number: number; readonly error: TabStoreError }[] };
    const op = bytes?.[start];
    const results = Array.isArray(value) ? (value as { readonly error?: TabStoreError }[]) : op === OP.STORE_ROWS ? stored.failed : [];
    // The leader ends: the next one knows what became of the rows.
    if (results.some(({ error }) => error !== undefined && FATAL.has(error.code))) return true;
    if (op === OP.PUT_ROWS && (value as PutRowsResults).load !== undefined) {
      const others = new Set<number>();
      (value as PutRowsResults).forEach((result, i) => {
        if (result !== TAKEN) others.add(i);
      });
      const { load } = value as PutRowsResults;
      this.taken.set(call.id, { call, loader: new Reader(bytes!, start + 1).uv(), load: load!, others, stored: false });
    } else if (op === OP.STORE_ROWS) {
      const number = new Reader(bytes!, start + 1).uv();
      for (const taken of this.taken.values()) {
        // One that has failed is asked for once more by a writer that has not its whole answer yet.
        if (taken.loader === number && taken.load <= stored.until) taken.stored = stored.failed.every((one) => one.number !== taken.load);
      }
    }
    return false;
  }

  free(id: number): void {
    this.taken.delete(id);
    this.watched.delete(id);
  }

  oldest(before: number): number {
    return Math.min(before, ...this.taken.keys(), ...this.changes);
  }

  watch<T>(id: number, answer: Promise<T>, again: (answer: Promise<T>) => void): void {
    if (this.follows()) this.watched.set(id, { answer, again } as unknown as Watched);
  }

  again(knows: boolean, flying: Map<number, Call>, retries: Retries): void {
    const taken = [...this.taken.values()];
    this.taken.clear();
    if (!knows) {
      this.watched.clear();
      return;
    }
    const back = taken.flatMap((one) => this.askAgain(one));
    if (retries.active) for (const call of back) retries.left(call);
    const all = [...flying.values(), ...back].sort((a, b) => a.order - b.order);
    flying.clear();
    for (const call of all) flying.set(call.id, call);
  }

  private askAgain(taken: Taken): readonly Call[] {
    const watched = this.watched.get(taken.call.id);
    if (watched === undefined) return [];
    const { answer: before, again } = watched;
    if (taken.stored) {
      // By a load that the next leader does not know.
      watched.answer = before.then((results) => [...results]);
      again(watched.answer);
      return [];
    }
    const [call, answer] = callAgain(taken);
    // Rows with an answer of their own keep it, also those that are still being tried again.
    watched.answer = Promise.all([before, answer]).then(([first, results]) =>
      Object.assign(
        first.map((result, i) => (result === TAKEN ? results[i] : result)),
        results.load === undefined ? {} : { load: results.load, bytes: results.bytes! },
      ),
    );
    again(watched.answer);
    return [call];
  }
}

/** The same request as a new call, with its answer. */
function callAgain({ call, others }: Taken): [Call, Results] {
  const { sent, start, end, marks } = call;
  const bytes = sent.bytes!;
  const parts = [bytes.subarray(0, 5), bytes.subarray(start, marks[0])];
  const starts: number[] = [];
  let at = 5 + parts[1].length;
  marks.forEach((mark, i) => {
    const row = others.has(i) ? NO_ROW : bytes.subarray(mark, marks[i + 1] ?? end);
    starts.push(at);
    parts.push(row);
    at += row.length;
  });
  const names = bytes.subarray(u32At(bytes, 1));
  const frame = new Uint8Array(at + names.length);
  let to = 0;
  for (const part of [...parts, names]) {
    frame.set(part, to);
    to += part.length;
  }
  new DataView(frame.buffer).setUint32(1, at, true);
  let again!: Call;
  const answer: Results = new Promise((resolve, reject) => {
    again = new Call(call.id, call.order, { bytes: frame, calls: 1 }, 5, at, starts, undefined, call.decode, resolve as (value: unknown) => void, reject);
  });
  return [again, answer];
}
