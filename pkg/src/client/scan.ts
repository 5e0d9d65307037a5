/** Reads or counts a range of any length, page after page. */

import { checkPositive, isPlain, takeArguments } from "../codec/check.js";
import type { Counted } from "../codec/responses.js";
import { copyFilter } from "../codec/filter.js";
import { isBytes } from "../codec/bytes.js";
import { READ } from "../codec/request.js";
import type { Row } from "../types/row.js";
import { abortReason, signalOf } from "./signals.js";
import type { CountRowsRequest, CountRowsResult, GetRangeRequest, GetRangeResult, RangeKey, ScanRequest } from "../types/rows.js";

const SCAN = /* @__PURE__ */ new Set(["tableName", "direction", "start", "end", "limit", "pageRows", "signal", ...READ]);
const COUNT = /* @__PURE__ */ new Set(["tableName", "start", "end", "filter", "signal"]);
/** More versions than any column has. */
export const ALL_VERSIONS = 2 ** 31 - 1;
/** The longest delivery, in ms, before timers, messages and clicks get their turn: one of them may abort. */
const SLICE = 12;
/** Rows between two checks of the time. The results of so many rows are made at once. */
const LOOK = 128;

/** The source of a scan. */
export interface RangeSource {
  getRange(request: GetRangeRequest): Promise<GetRangeResult>;
  /** Why reading has ended, if so. */
  readonly closedBy: Error | undefined;
}

/** The next turn of the event loop: a promise's callback would come before it, and a timer long after. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** The checks of a scan between rows: whether it goes on, and whether others have waited too long. */
class Course {
  private until = 0;

  constructor(
    private readonly source: Pick<RangeSource, "closedBy">,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Whether the scan goes on. */
  get isOpen(): boolean {
    return !this.signal?.aborted && this.source.closedBy === undefined;
  }

  /** Throws if the scan ends here: rows read before are then not delivered. */
  goOn(): void {
    if (this.signal?.aborted) throw abortReason(this.signal);
    if (this.source.closedBy !== undefined) throw this.source.closedBy;
  }

  /** Whether others have waited too long. */
  get isLong(): boolean {
    const now = performance.now();
    if (this.until === 0) this.until = now + SLICE;
    return now >= this.until;
  }

  /** A promise to await before the next row, if others have waited too long. */
  pause(): Promise<void> | undefined {
    if (!this.isLong) return undefined;
    this.until = 0;
    return nextTurn();
  }
}

/**
 * Pages of a range. From the second page on, the next one is requested while the caller uses the last. So a caller who
 * only wants the first rows does not make the engine read twice, and one who wants all does not wait.
 */
async function* pages(source: RangeSource, request: ScanRequest, course: Course): AsyncGenerator<readonly Row[], void, undefined> {
  const { pageRows, limit, ...range } = request;
  checkPositive(pageRows, "pageRows");
  checkPositive(limit, "limit");
  let left = limit ?? Infinity;
  const ask = (start: RangeKey | undefined): Promise<GetRangeResult> => {
    const most = Math.min(left, pageRows ?? Infinity);
    return source.getRange({ ...range, start, limit: most === Infinity ? undefined : most });
  };
  let asked: Promise<GetRangeResult> | undefined = ask(range.start);
  for (let first = true; asked !== undefined; first = false) {
    const { rows, nextStartPrimaryKey } = await asked;
    asked = undefined;
    left -= rows.length;
    const more = nextStartPrimaryKey !== null && left > 0;
    if (more && !first) {
      asked = ask(nextStartPrimaryKey);
      // The scan may end before it: a failure then has no receiver.
      asked.catch(() => {});
    }
    const wait = course.pause();
    if (wait !== undefined) await wait;
    if (rows.length > 0) {
      course.goOn();
      yield rows;
      course.goOn();
    }
    if (more && asked === undefined) asked = ask(nextStartPrimaryKey);
  }
}

/** Checks a request to scan. */
function begin(source: RangeSource, request: ScanRequest): { given: ScanRequest; course: Course } {
  const given = takeArguments(request, SCAN, "scan");
  return { given, course: new Course(source, signalOf(given)) };
}

/** Pages of a range, until its signal aborts or the database closes. */
export async function* scanPages(source: RangeSource, request: ScanRequest): AsyncGenerator<readonly Row[], void, undefined> {
  const { given, course } = begin(source, request);
  yield* pages(source, given, course);
}

/**
 * Rows of a range, until its signal aborts or the database closes.
 *
 * It is no generator: a `yield` costs three turns of promises, which in Firefox is most of a scan. A row that has been read costs one.
 * The promises of many rows are made in one loop. A Firefox that is driven or debugged records the stack with each promise, which
 * costs less if it is the same one again: a scan takes a seventh less time there.
 */
class RowIterator implements AsyncIterableIterator<Row> {
  private pages: AsyncGenerator<readonly Row[], void, undefined> | undefined;
  private course!: Course;
  private rows: readonly Row[] = [];
  private at = 0;
  /** The results of the rows before `at`, and how many of them were given. */
  private ready: Promise<IteratorResult<Row, undefined>>[] = [];
  private given = 0;
  /** The number of calls that wait, and the last of them. Later ones are behind it, as in a generator. */
  private waiting = 0;
  private last: Promise<unknown> = Promise.resolve();
  private over = false;

  constructor(
    private readonly source: RangeSource,
    private readonly request: ScanRequest,
  ) {}

  next(): Promise<IteratorResult<Row, undefined>> {
    if (this.waiting === 0 && (this.given < this.ready.length || this.refill()) && this.course.isOpen) return this.ready[this.given++]!;
    return this.behind(() => this.advance());
  }

  return(): Promise<IteratorResult<Row, undefined>> {
    return this.behind(() => this.end());
  }

  throw(error?: unknown): Promise<IteratorResult<Row, undefined>> {
    return this.behind(() => this.fail(error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Does something behind what waits. */
  private behind(work: () => Promise<IteratorResult<Row, undefined>>): Promise<IteratorResult<Row, undefined>> {
    const run = async (): Promise<IteratorResult<Row, undefined>> => {
      try {
        return await work();
      } finally {
        this.waiting -= 1;
      }
    };
    const done = this.waiting++ === 0 ? run() : this.last.then(run, run);
    this.last = done;
    return done;
  }

  /** Waits for the next page, or lets others have their turn, and gives a row. */
  private async advance(): Promise<IteratorResult<Row, undefined>> {
    if (this.over) return { done: true, value: undefined };
    try {
      if (this.pages === undefined) {
        const { given, course } = begin(this.source, this.request);
        this.course = course;
        this.pages = pages(this.source, given, course);
      } else {
        this.course.goOn();
      }
      if (this.given === this.ready.length) {
        if (this.at === this.rows.length) {
          const page = await this.pages.next();
          if (page.done === true) return await this.end();
          [this.rows, this.at] = [page.value, 0];
        } else {
          await this.course.pause();
          this.course.goOn();
        }
        this.make();
      }
      return await this.ready[this.given++]!;
    } catch (error) {
      return this.fail(error);
    }
  }

  /** Makes the next results, if their rows have been read and nobody else has to have a turn. */
  private refill(): boolean {
    if (this.at === this.rows.length || this.course.isLong) return false;
    this.make();
    return true;
  }

  private make(): void {
    const { rows, at } = this;
    this.at = Math.min(at + LOOK, rows.length);
    [this.ready, this.given] = [[], 0];
    for (let i = at; i < this.at; i++) this.ready.push(Promise.resolve({ done: false, value: rows[i]! }));
  }

  private async end(): Promise<IteratorResult<Row, undefined>> {
    [this.over, this.rows, this.ready, this.at, this.given] = [true, [], [], 0, 0];
    await this.pages?.return();
    return { done: true, value: undefined };
  }

  private async fail(error: unknown): Promise<never> {
    await this.end();
    throw error;
  }
}

/** Rows of a range, until its signal aborts or the database closes. */
export const scan = (source: RangeSource, request: ScanRequest): AsyncIterableIterator<Row> => new RowIterator(source, request);

/** A copy of an end of a range. What is no plain object stays, to be refused. */
export function copyKey<K extends RangeKey>(key: K | undefined): K | undefined {
  if (typeof key !== "object" || key === null || !isPlain(key)) return key;
  const copy: Record<string, unknown> = { ...key };
  for (const name of Object.keys(copy)) if (isBytes(copy[name])) copy[name] = Uint8Array.from(copy[name] as Uint8Array);
  return copy as K;
}

/**
 * Counts or deletes the rows of a range, until its signal aborts or the database closes. `ask` does so as far as one call goes; `what`
 * is the name of the call.
 */
export async function count(
  ask: (stretch: CountRowsRequest) => Promise<Counted>,
  source: Pick<RangeSource, "closedBy">,
  request: CountRowsRequest,
  what: string,
): Promise<CountRowsResult> {
  const { start: first, ...given } = takeArguments(request, COUNT, what);
  const course = new Course(source, signalOf(given));
  // The caller may change its objects between two stretches.
  Object.assign(given, { end: copyKey(given.end), filter: copyFilter(given.filter, "filter") });
  let total = 0;
  let [read, write] = [0, 0];
  for (let start = copyKey(first); ; ) {
    const { rows, consumed, next } = await ask({ ...given, start });
    total += rows;
    read += consumed.read;
    write += consumed.write;
    if (next === null) return { count: total, consumed: { read, write } };
    start = next;
    await course.pause();
    course.goOn();
  }
}
