/** Judges by its silence whether a leader is frozen. It sees only ticks and answers, neither messages nor a clock. */

/** The time between two ticks, in milliseconds. */
export const TICK = 250;
/** A later tick says that this tab did not run itself: it was busy or throttled, or the device slept. */
const LATE = 2 * TICK;
/** A call that waits for so many ticks is followed by pings, one a tick. */
const PATIENT = 3;
/** So many pings without an answer: the leader is frozen. */
const MISSED = 4;
/**
 * So many pings that are answered while the leader's storage does nothing: it hangs. Chromium ends a transaction that blocks
 * others after a minute, so this is a little longer.
 */
const STALLED = 300;

/** What to do after a tick. */
export type Verdict =
  /** Nothing is unanswered: no more ticks. */
  "rest" | "wait" | "ping" | "frozen";

/** See the top of the file. */
export class Watch {
  private last = 0;
  private late = false;
  private oldest: unknown;
  private ticks = 0;
  private answered = false;
  private stalled = 0;
  private progress: number | undefined;
  /** Pings without an answer, one after another. */
  missed = 0;

  /** Ticks begin. */
  begin(now: number): void {
    this.last = now;
    this.late = false;
    this.reset();
  }

  /** Another leader, or a session with it: all begins anew. */
  reset(): void {
    this.oldest = this.progress = undefined;
    this.ticks = this.missed = this.stalled = 0;
    this.answered = false;
  }

  /** A tick. `oldest` is the call that waits longest; `undefined`: none does. */
  tick(now: number, oldest: unknown): Verdict {
    const late = now - this.last > LATE;
    // A tab that is throttled has late ticks only. It takes longer then.
    const counts = !late || this.late;
    this.last = now;
    this.late = late;
    if (oldest === undefined) return "rest";
    if (oldest !== this.oldest) {
      this.reset();
      this.oldest = oldest;
      return "wait";
    }
    if (counts) this.ticks += 1;
    if (this.ticks < PATIENT) return "wait";
    if (!counts || this.answered) this.missed = 0;
    else if (this.ticks > PATIENT) this.missed += 1;
    if (counts) this.stalled += 1;
    if (this.missed === MISSED || this.stalled === STALLED) return "frozen";
    this.answered = false;
    return "ping";
  }

  /** A ping is answered. `progress` is a number that changes when the leader's storage does something. */
  pong(progress: number): void {
    this.answered = true;
    this.missed = 0;
    if (progress !== this.progress) this.stalled = 0;
    this.progress = progress;
  }
}
