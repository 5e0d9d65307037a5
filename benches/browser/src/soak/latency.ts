/** How long operations took, in memory that does not grow. */

/** A bucket is this much wider than the one before it. */
const STEP = 1.06;
const LEAST = 0.02;
const BUCKETS = 260;

/** Times of one kind of operation. */
export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Counts times, in milliseconds, by buckets of 6 percent. */
export class Histogram {
  private readonly buckets = new Uint32Array(BUCKETS);
  private count = 0;
  private max = 0;

  add(ms: number): void {
    const bucket = ms <= LEAST ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / LEAST) / Math.log(STEP)));
    this.buckets[bucket] += 1;
    this.count += 1;
    if (ms > this.max) this.max = ms;
  }

  private percentile(share: number): number {
    let left = Math.ceil(this.count * share);
    for (let i = 0; i < BUCKETS; i++) {
      left -= this.buckets[i];
      if (left <= 0) return Math.min(LEAST * STEP ** i, this.max);
    }
    return this.max;
  }

  summary(): Summary {
    return { count: this.count, p50: this.percentile(0.5), p99: this.percentile(0.99), max: this.max };
  }
}

/** An operation that took longer than all of its kind before. */
export interface Slowest {
  readonly ms: number;
  /** `performance.now()` when it began. */
  readonly from: number;
  readonly to: number;
}

/** Times by kind of operation: since the start, and since the last look. */
export class Latencies {
  readonly all = new Map<string, Histogram>();
  private recent = new Map<string, Histogram>();
  readonly slowest = new Map<string, Slowest>();

  /** Does `work`, and notes how long it took. */
  async time<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const from = performance.now();
    const value = await work();
    const to = performance.now();
    const ms = to - from;
    for (const map of [this.all, this.recent]) {
      let histogram = map.get(kind);
      if (histogram === undefined) map.set(kind, (histogram = new Histogram()));
      histogram.add(ms);
    }
    if (ms > (this.slowest.get(kind)?.ms ?? 0)) this.slowest.set(kind, { ms, from, to });
    return value;
  }

  /** The times since the last call. */
  takeRecent(): Record<string, Summary> {
    const { recent } = this;
    this.recent = new Map();
    return summaries(recent);
  }
}

/** The summaries, sorted by kind. */
export function summaries(of: Map<string, Histogram>): Record<string, Summary> {
  return Object.fromEntries([...of].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, histogram]) => [kind, histogram.summary()]));
}
