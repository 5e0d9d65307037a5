/**
 * The engine in this thread. The worker runs this too, on the other side of its port.
 */

import { readClock } from "../clock.js";
import { local } from "../errors.js";
import { lockInstance, type Release } from "../lock.js";
import { type Glue, memoryOf, ready, type WasmEngine, type WasmSession } from "./glue.js";
import type { EngineEvents, EngineHost, EngineOptions, Opening } from "./host.js";
import { onTrap } from "./traps.js";

/** Responses up to so many bytes share a buffer: one of its own costs a small one a microsecond. */
const SMALL = 2048;
/** The buffer that they share. A row that is kept keeps all of it, so it is not much larger. */
const SHARED = 8192;
let shared = new Uint8Array(0);
let used = 0;

/** A copy of some bytes of the engine's memory. */
function copied(bytes: Uint8Array, at: number, length: number): Uint8Array {
  if (length > SMALL) return bytes.slice(at, at + length);
  if (used + length > shared.length) {
    shared = new Uint8Array(SHARED);
    used = 0;
  }
  const copy = shared.subarray(used, used + length);
  copy.set(bytes.subarray(at, at + length));
  used += length;
  return copy;
}

class ThreadHost implements EngineHost {
  readonly direct = true;
  private dead = false;
  private readonly unwatch: () => void;

  constructor(private readonly engine: WasmEngine, private readonly session: WasmSession, private readonly events: EngineEvents, private readonly release: Release, private readonly clock: (() => number) | undefined) {
    this.unwatch = onTrap((error) => this.trap(error));
  }

  /** A trap leaves the engine in the middle of something: nothing may call it again, and its lock must not outlive it. */
  private trap(error: unknown): void {
    if (this.dead) return;
    this.end();
    void this.release();
    this.events.onFailure(error);
  }

  private end(): void {
    this.dead = true;
    this.unwatch();
  }

  submit(frame: Uint8Array): void {
    if (this.dead) return;
    const { engine, session } = this;
    let responses: Uint8Array | undefined;
    try {
      const room = session.room(frame.length);
      memoryOf(engine).set(frame, room);
      const length = session.run();
      if (length < 0) throw session.failure();
      if (length > 0) responses = copied(memoryOf(engine), session.answer(), length);
    } catch (error) {
      // Unless it was a trap, the two sides do not understand each other: nobody would answer these calls.
      if (!this.dead) this.events.onFailure(error);
      return;
    }
    if (responses !== undefined) this.events.onResponses(responses);
  }

  tick(): void {
    if (this.clock !== undefined) this.engine.setClock(readClock(this.clock));
  }

  async call(op: string, args: unknown): Promise<unknown> {
    if (this.dead) throw local("Closed", "The database is closed.");
    this.tick();
    const value = await this.session.call(op, args);
    if (op !== "metrics") return value;
    if (this.dead) throw local("Closed", "The database is closed.");
    return { ...(value as object), wasmMemoryBytes: this.engine.memory().buffer.byteLength };
  }

  async close(): Promise<void> {
    if (this.dead) return;
    this.end();
    try {
      await this.engine.close();
      // Not whenever a garbage collector gets to it: its cache is large, and the next engine would be given memory beside it.
      this.session.free();
      this.engine.free();
    } finally {
      await this.release();
    }
  }
}

/** Opens an instance in this thread: takes its lock, and starts its engine meanwhile. */
export function openThread(module: WebAssembly.Module, options: EngineOptions, events: EngineEvents, clock?: () => number): Opening {
  let locking: Promise<Release> = Promise.resolve(async () => {});
  const grant = { held: true };
  let lost: unknown;
  let host: ThreadHost | undefined;
  const onLost = (error: unknown): void => {
    lost = error;
    // Reads too: they may give what is not so any more.
    if (host !== undefined) events.onFailure(error);
  };
  const open = async (): Promise<EngineHost> => {
    const { Engine } = ready(module);
    if (options.storage !== "memory") {
      locking = lockInstance(options.name, () => onLost(local("LeaderChanged", `Another tab or worker has taken the instance '${options.name}' over. Open it again to use it here.`)));
    }
    try {
      // The browser takes milliseconds for the lock: meanwhile the engine opens what is there, and changes nothing.
      const engine = await Engine.open(options, locking.then(() => grant, () => false), onLost, (error) => events.onTrouble(error));
      if (lost !== undefined) {
        await engine.close();
        engine.free();
        throw lost;
      }
      const session = engine.session(options.client, (frame) => events.onResponses(frame));
      host = new ThreadHost(engine, session, events, await locking, clock);
      return host;
    } catch (error) {
      // Without the lock, that is why.
      const release = await locking;
      await release();
      throw error;
    }
  };
  const cut = async (): Promise<void> => {
    // The engine looks at this before it changes anything, whenever it gets there.
    grant.held = false;
    await locking.then((release) => release(), () => {});
  };
  return { host: open(), cut };
}

/** Runs an operation on instances, in this thread. `locked` names an instance that nobody may have open meanwhile. */
export async function instances<T>(module: WebAssembly.Module, run: (glue: Glue) => Promise<T>, locked?: string): Promise<T> {
  const glue = ready(module);
  if (locked === undefined) return run(glue);
  const release = await lockInstance(locked);
  try {
    return await run(glue);
  } finally {
    await release();
  }
}
