/**
 * The engine in this thread. The worker runs this too, on the other side of its port.
 */

import { leaderChanged } from "../client/call-queue.js";
import { readClock } from "./clock.js";
import { loadCode, once } from "../client/code.js";
import { numberOf } from "../codec/administration.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { local, type TabStoreError, toError, toRecord } from "../types/errors.js";
import { canFollow, endLife, holderOf, living, lockInstance, lockSoon, PATIENCE, type Release, taken, takeTurn, within } from "../tabs/lock.js";
import type { Connect } from "../tabs/channel.js";
import type { HostFolder, HostFolders, HostLogFolder } from "./folder.js";
import { glue, type InstanceCalls, memoryOf, ready, type WasmEngine, type WasmSession } from "./glue.js";
import {
  type EngineEvents,
  type EngineHost,
  type EngineOptions,
  isShared,
  type LeadingEngine,
  type ModuleSource,
  type OnResponses,
  type Opening,
  type RunningEngine,
} from "./host.js";
import { Leader, NOBODY } from "../tabs/leader.js";
import { keepsLogs, logFolder, prepareLogs } from "./log-folder.js";
import { canOpen } from "./origin-folder.js";
import { onTrap, trapped, unlessTrapped } from "./traps.js";
import { wasWitnessed, witness } from "./witness.js";

/** The files of this origin, which few instances lie in. */
const loadOriginFiles = once(() => loadCode(import("./origin-files.js")));

/** After this time without a call (ms) the thread may have been frozen, and the lock may have been taken from it. */
const IDLE = 1000;
/** Responses of up to this many bytes share a buffer. A new buffer costs a microsecond. */
const SMALL = 2048;
/** Up to so many bytes are copied in a loop. */
const BY_HAND = 512;
/** The size of the shared buffer. It is small, because a row that is kept keeps all of it. */
const SHARED = 8192;
let shared = new Uint8Array(0);
let used = 0;

/** Copies up to {@link SMALL} bytes of the engine's memory into the shared buffer. Returns where they begin there. */
function share(bytes: Uint8Array, at: number, length: number): number {
  if (used + length > shared.length) {
    shared = new Uint8Array(SHARED);
    used = 0;
  }
  const start = used;
  // A loop costs less than the two objects that a call of `set` needs.
  if (length > BY_HAND) shared.set(bytes.subarray(at, at + length), start);
  else for (let i = 0; i < length; i++) shared[start + i] = bytes[at + i];
  used += length;
  return start;
}

/** A client's session of an engine in this thread. */
class ThreadSession implements EngineHost {
  readonly direct = true;
  /** Whether no call may reach the engine any more. */
  dead = false;
  /** Whether its client has asked for rows, as one that still compares its options has not. */
  isUsed = false;
  onWrongFrame: ((error: unknown) => void) | undefined;

  /** Set if the caller has a clock of its own. */
  readonly tick: (() => void) | undefined;

  constructor(
    private readonly engine: ThreadEngine,
    private readonly session: WasmSession,
    private readonly onResponses: OnResponses,
    readonly guest: boolean,
  ) {
    this.tick = engine.tick;
  }

  submit(frame: Uint8Array): void {
    this.isUsed = true;
    const now = performance.now();
    if (this.engine.isOurs(now)) {
      this.run(frame, now);
    } else {
      const copy = frame.slice();
      this.engine.hold(() => this.run(copy, performance.now()));
    }
  }

  private run(frame: Uint8Array, now: number): void {
    if (this.dead || this.engine.isLost) return;
    const {
      engine: { engine, events },
      session,
    } = this;
    let responses: Uint8Array | undefined;
    let start = 0;
    let length: number;
    try {
      const room = session.room(frame.length);
      memoryOf(engine).set(frame, room);
      length = session.run(now);
      if (length < 0) throw session.failure();
      if (length > SMALL) {
        const at = session.answer();
        responses = memoryOf(engine).slice(at, at + length);
      } else if (length > 0) {
        start = share(memoryOf(engine), session.answer(), length);
        responses = shared;
      }
    } catch (error) {
      // If it was no trap, the two sides do not understand each other, and these calls would get no answer.
      if (!this.dead) (this.onWrongFrame ?? events.onFailure)(error);
      return;
    }
    if (responses !== undefined) this.onResponses(responses, start, start + length);
  }

  async call(op: AdminOperation, args: unknown, request?: number): Promise<unknown> {
    if (!this.engine.isOurs()) await new Promise<void>((resolve) => this.engine.hold(resolve));
    if (this.dead) throw this.gone;
    if (op === "yield") return this.engine.yields();
    this.tick?.();
    const value = await this.session.call(numberOf(op), args, request).catch((error: unknown) => {
      throw this.engine.isLost ? this.gone : error;
    });
    if (op === "setClock") this.engine.moved((args as { readonly now: number }).now);
    if (op !== "metrics") return value;
    if (this.dead) throw this.gone;
    return { ...(value as object), wasmMemoryBytes: this.engine.engine.memory().buffer.byteLength };
  }

  /** Why it answers no call. */
  private get gone(): TabStoreError {
    return this.engine.isLost ? leaderChanged(this.engine.name) : local("Closed", "The database is closed.");
  }

  async close(): Promise<void> {
    if (this.dead) return;
    this.dead = true;
    await this.session.close();
    this.free();
  }

  /** Frees its memory, once. */
  free(): void {
    if (this.engine.sessions.delete(this)) this.session.free();
  }
}

/** An engine in this thread. */
class ThreadEngine implements LeadingEngine {
  readonly sessions = new Set<ThreadSession>();
  private dead = false;
  private closing = false;
  /** Whether another tab has taken its lock, or may take it now. */
  isLost = false;
  /** The time of the last call. */
  private seen = performance.now();
  /** Calls that wait until it is known whether the lock is still its own. */
  private held: (() => void)[] | undefined;
  private readonly unwatch: () => void;

  constructor(
    readonly name: string,
    private readonly place: string,
    private readonly life: number,
    readonly engine: WasmEngine,
    readonly events: EngineEvents,
    private readonly release: Release,
    private readonly clock: (() => number) | undefined,
    readonly leader: Leader | undefined,
    private readonly afterOther: boolean,
    private readonly witnessed?: Promise<void>,
    private readonly isGone?: () => Promise<boolean>,
  ) {
    this.unwatch = onTrap((error) => this.trap(error));
  }

  /** A trap leaves the engine in an unknown state. No call may reach it again, and its lock is released. */
  private trap(error: unknown): void {
    if (this.dead) return;
    this.end();
    void this.giveBack();
    this.events.onDeath(error);
  }

  /** It has ended by itself, because what it knows may be wrong: a fresh one is to read what is stored. It is the caller. */
  stopped(error: unknown): void {
    if (this.dead || this.closing) return;
    // Before its calls are refused: they are asked again.
    this.isLost = true;
    this.events.onDeath(error);
    queueMicrotask(() => this.kill());
  }

  /** Gives the lock up at once, and stores nothing more than what is on its way. */
  kill(): void {
    if (this.dead) return;
    this.isLost = true;
    this.end();
    this.engine.cut();
    this.free();
    void this.giveBack();
  }

  /** Whether the lock is certainly still its own. If not, calls are to be held until that is known. */
  isOurs(now = performance.now()): boolean {
    if (this.leader === undefined) return true;
    if (this.held === undefined && now - this.seen > IDLE) {
      const held: (() => void)[] = (this.held = []);
      // The browser tells of a theft before it answers this.
      void holderOf(this.place)
        .catch(() => {})
        .then(() => {
          for (const run of held) run();
          this.held = undefined;
        });
    }
    this.seen = now;
    return this.held === undefined;
  }

  hold(call: () => void): void {
    this.held!.push(call);
  }

  whenKnown(run: () => void, look = false): void {
    // The browser tells of a theft before it answers.
    if (look)
      void holderOf(this.place)
        .catch(() => {})
        .then(() => this.whenKnown(run));
    else if (this.isOurs()) run();
    else this.hold(run);
  }

  /** Its lock was taken. What it knows may be outdated, so it answers nothing any more. */
  async lose(): Promise<void> {
    if (this.closing) {
      // Its close goes on. It says no more that it lives: its followers would wait for another leader than the one that they have.
      this.isLost = true;
      this.leader?.stop();
    }
    if (this.dead || this.closing) return;
    this.isLost = true;
    for (const session of this.sessions) session.dead = true;
    if (this.leader !== undefined) this.events.onLost();
    const replaced = await this.leader?.isReplaced();
    this.kill();
    if (replaced) this.events.onReplaced();
    else this.events.onFailure(taken(this.name));
  }

  private free(): void {
    for (const session of this.sessions) session.free();
    this.engine.free();
  }

  private end(): void {
    this.dead = true;
    for (const session of this.sessions) session.dead = true;
    this.unwatch();
  }

  /** Nobody hears of it any more, and another tab may have the lock. */
  private giveBack(): Promise<void> {
    this.leader?.stop();
    return this.release();
  }

  session(client: number, onResponses: OnResponses, guest: boolean): Promise<EngineHost> {
    // Its clients followed another tab before, and ask again.
    return this.open(client, onResponses, guest, this.afterOther ? { life: this.life, stores: false } : undefined);
  }

  sessionOfFollower(life: number, client: number, onResponses: OnResponses, guest: boolean): Promise<EngineHost> {
    return this.open(client, onResponses, guest, { life, stores: true });
  }

  async forget(client?: number): Promise<void> {
    const others = await living();
    // Any session will do.
    const [session] = this.sessions;
    await session?.call("forgetAnswers", { client, living: others });
  }

  /** Opens a session. With `answers` it knows the stored answers to its client's writes, and may store those to later ones. */
  private async open(
    client: number,
    onResponses: OnResponses,
    guest: boolean,
    answers?: { readonly life: number; readonly stores: boolean },
  ): Promise<EngineHost> {
    if (this.isLost) throw leaderChanged(this.name);
    if (this.dead) throw local("Closed", "The database is closed.");
    const answer = (frame: Uint8Array): void => {
      if (!this.isLost) onResponses(frame);
    };
    const session = new ThreadSession(this, this.engine.session(client, answer), onResponses, guest);
    // Those of other tabs may still compare their options.
    session.isUsed = answers?.stores !== true;
    this.sessions.add(session);
    try {
      if (answers !== undefined) await session.call("keepAnswers", { client, ...answers });
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** Somebody has other options: whether the engine ends for that, because only guests use it. */
  yields(): boolean {
    for (const { guest, isUsed } of this.sessions) if (isUsed && !guest) return false;
    this.events.onYield();
    return true;
  }

  /** Its clock was moved. */
  moved(now: number): void {
    this.events.onClock(now);
    this.leader?.tellClock(now);
  }

  /** Sets the engine to the caller's clock, if there is one. */
  get tick(): (() => void) | undefined {
    const { clock } = this;
    return clock && (() => this.engine.setClock(readClock(clock)));
  }

  async close(): Promise<void> {
    if (this.dead || this.closing) return;
    this.closing = true;
    await this.leader?.close();
    await this.isGone?.();
    // It may have died meanwhile.
    if (this.dead) return;
    this.end();
    try {
      await unlessTrapped(async () => {
        await this.engine.close();
        // Freed now, not by a garbage collector: the cache is large, and the next engine would need memory beside it.
        this.free();
      });
    } finally {
      if (this.witnessed !== undefined) await within(this.witnessed, PATIENCE);
      await this.giveBack();
    }
  }
}

/** Opens an instance in this thread. The engine starts while its lock is requested. */
export function openThread(
  module: WebAssembly.Module,
  given: EngineOptions,
  events: EngineEvents,
  connect: Connect,
  clock?: () => number,
  folders?: HostFolders,
): Opening {
  let options = given;
  let locking: Promise<Release> = Promise.resolve(async () => {});
  /** Whether it still has the lock that it asked for last. */
  let grant = { held: true };
  /** Ends the wait for the lock. */
  let queue = new AbortController();
  /** Whether it was given up. */
  let over = false;
  /** Why the data is gone. */
  let ended: unknown;
  /** Whether another tab led before. */
  let waited = false;
  let running: ThreadEngine | undefined;
  /** The folder of an instance in files, while it is open. */
  let folder: HostFolder | undefined;
  /** What tells followers of the opening. */
  let leader: Leader | undefined;
  const onEnd = (error: unknown): void => {
    ended = error;
    // Reads fail too: they could return outdated data.
    if (running !== undefined) events.onFailure(error);
  };
  const lock = (how?: LockOptions): Promise<Release> => {
    const asked = (grant = { held: !over });
    return lockInstance(
      options.place,
      () => {
        // Without locks the fence decides between two openings: each may hear the other one.
        asked.held = !canFollow();
        if (running === undefined) leader?.stop();
        else void running.lose();
      },
      how,
    );
  };
  const open = async (): Promise<RunningEngine> => {
    const shared = isShared(options);
    /** The folder of its log. */
    let logs: HostLogFolder | undefined;
    const openFolder =
      options.storage === "indexeddb"
        ? () => (logs = logFolder(options.name))
        : // What is read of a folder in files may be changed at once.
          async () => {
            await locking;
            return (folder = await (folders ?? (await loadOriginFiles()).folders).open(options, () => holderOf(options.place).then(() => granted.held), onEnd));
          };
    const granted = grant;
    const leading = shared && canFollow() ? locking.then(() => (leader = new Leader(options, connect, glue.progress))) : Promise.resolve(undefined);
    leading.catch(() => {});
    try {
      const { Engine } = ready(module, events.module);
      // The browser takes milliseconds for the lock. Meanwhile the engine opens existing data, and changes nothing.
      const engine = await unlessTrapped(
        () =>
          Engine.open(
            { ...options, logInFiles: options.storage === "indexeddb" && keepsLogs() },
            locking.then(
              () => granted,
              () => false,
            ),
            () => wasWitnessed(options.name),
            openFolder,
            onEnd,
            (error) => {
              // After it was cut off, its calls fail.
              if (running?.isLost) return;
              if (error !== null && toError(error).code === "Closed") {
                running?.stopped(error);
                return;
              }
              running?.leader?.tellTrouble(error === null ? null : toRecord(error));
              events.onTrouble(error);
            },
          ),
        events.onDeath,
      );
      if (ended !== undefined || !granted.held) {
        await engine.close();
        engine.free();
        throw ended ?? leaderChanged(options.name);
      }
      await folder?.use();
      const witnessed = engine.isFirst() ? witness(options.name, true) : undefined;
      const unlock = await locking;
      const release = async (): Promise<void> => {
        // The next leader can have its files at once.
        logs?.release();
        await folder?.release();
        return unlock();
      };
      running = new ThreadEngine(options.name, options.place, options.client, engine, events, release, clock, await leading, waited, witnessed, folder?.isGone);
      running.leader?.lead(running, options, waited);
      return running;
    } catch (error) {
      logs?.release();
      await folder?.release();
      // A missing lock is the cause, so its error is thrown first.
      const release = await locking;
      (await leading)?.stop();
      await release();
      throw error;
    }
  };
  const opening = {
    waits: false,
    engine: undefined as unknown as Promise<RunningEngine>,
    cut,
    inherit,
    takeOver: (_holder: string, _leader?: number): void => {},
  };
  async function cut(): Promise<void> {
    over = true;
    // The engine checks this before its first change.
    grant.held = false;
    queue.abort();
    running?.kill();
    await folder?.release();
    await locking.then(
      (release) => release(),
      () => {},
    );
  }
  function inherit(other: EngineOptions): void {
    options = other;
  }
  /** Waits for the lock in the browser's queue, unless it takes the lock from a client that is frozen. */
  const wait = (): Promise<Release> => {
    const queued = lock({ signal: queue.signal });
    let taken: Promise<Release> | undefined;
    return new Promise((resolve, reject) => {
      queued.then(resolve, (error: unknown) => {
        if (taken === undefined) reject(error);
      });
      opening.takeOver = (holder, leader) =>
        void takeTurn(options.place, async () => {
          if ((await holderOf(options.place)) !== holder || over || !opening.waits) return;
          taken = queued.catch(() => lock({ steal: true }));
          queue.abort();
          resolve(taken);
          // Its page may run though its worker does not: it hears that the worker leads no more.
          if (leader !== undefined) endLife(leader);
          await taken.catch(() => {});
        });
    });
  };
  /** Opens once the lock is free. */
  const openLater = async (error: unknown): Promise<RunningEngine> => {
    // A lock that is taken while the engine is being opened is waited for again.
    if (over || !canFollow() || trapped() !== undefined || (grant.held && toError(error).code !== "Busy")) throw error;
    opening.waits = waited = true;
    events.onWaiting();
    if (keepsLogs()) prepareLogs();
    queue = new AbortController();
    locking = wait();
    await locking;
    opening.waits = false;
    return open().catch(openLater);
  };
  if (!isShared(options)) {
    // A folder of Node has a lock of its own.
    locking = Promise.resolve(async () => folder?.release());
    opening.engine = open();
  } else if (options.storage === "files" && !canOpen()) {
    opening.engine = loadOriginFiles().then(({ refuse }) => refuse());
  } else {
    // One that cannot run here asks for no lock.
    ready(module, events.module);
    locking = lock();
    opening.engine = open().catch(openLater);
  }
  return opening;
}

/**
 * Runs an operation on instances, in this thread; without a module on those in files of the origin. `locked` names the place of an
 * instance that must not be open meanwhile.
 */
export async function instances<T>(
  module: WebAssembly.Module | undefined,
  source: ModuleSource,
  run: (calls: InstanceCalls) => Promise<T>,
  locked?: string,
): Promise<T> {
  const calls: InstanceCalls = module === undefined ? (await loadOriginFiles()).instances : ready(module, source);
  if (locked === undefined) return unlessTrapped(() => run(calls));
  let leader: Leader | undefined;
  // Without locks it takes the instance from nobody.
  const release = await lockSoon(locked, canFollow() ? () => leader?.stop() : undefined);
  // Tabs that want to open it hear that this one lives.
  leader = canFollow()
    ? new Leader(
        { place: locked, client: NOBODY },
        async () => undefined,
        () => performance.now(),
      )
    : undefined;
  try {
    return await unlessTrapped(() => run(calls));
  } finally {
    leader?.stop();
    await release();
  }
}
