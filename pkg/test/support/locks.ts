/** Web Locks, as far as the package uses them, of several clients in one thread. */

interface Asked {
  readonly name: string;
  readonly clientId: string;
  readonly run: (lock: { name: string } | null) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** See the top of the file. */
export class FakeLocks {
  readonly held: Asked[] = [];
  readonly pending: Asked[] = [];

  request(name: string, ...rest: unknown[]): Promise<unknown> {
    const run = rest.pop() as Asked["run"];
    const { ifAvailable, steal, signal } = (rest[0] ?? {}) as LockOptions;
    return new Promise((resolve, reject) => {
      const one: Asked = { name, clientId: "this", run, resolve, reject };
      const isHeld = this.held.some((other) => other.name === name);
      if (steal === true) {
        for (const other of this.held.filter((lock) => lock.name === name)) {
          this.held.splice(this.held.indexOf(other), 1);
          other.reject(new DOMException("stolen", "AbortError"));
        }
        this.grant(one);
      } else if (ifAvailable === true && isHeld) {
        resolve(run(null));
      } else {
        this.pending.push(one);
        signal?.addEventListener("abort", () => {
          const at = this.pending.indexOf(one);
          if (at >= 0) this.pending.splice(at, 1);
          reject(signal.reason);
        });
        this.next(name);
      }
    });
  }

  async query(): Promise<{ held: Asked[]; pending: Asked[] }> {
    return { held: [...this.held], pending: [...this.pending] };
  }

  private next(name: string): void {
    if (this.held.some((lock) => lock.name === name)) return;
    const at = this.pending.findIndex((lock) => lock.name === name);
    if (at >= 0) this.grant(this.pending.splice(at, 1)[0]);
  }

  private grant(one: Asked): void {
    this.held.push(one);
    queueMicrotask(async () => {
      try {
        one.resolve(await one.run({ name: one.name }));
      } catch (error) {
        one.reject(error);
      }
      const at = this.held.indexOf(one);
      if (at >= 0) this.held.splice(at, 1);
      this.next(one.name);
    });
  }
}

/** Locks of which another client has that of the instance "demo". Nobody else gets any. */
export function heldBy(clientId: string): FakeLocks {
  const held = [{ name: "tabstore/demo", clientId }] as Asked[];
  return Object.assign(new FakeLocks(), { query: async () => ({ held, pending: [] }), request: () => new Promise(() => {}) });
}

/** Gives this thread such locks, and perhaps more of a browser's `navigator`. Returns a function that takes them away. */
export function giveLocks(locks: FakeLocks, more: object = {}): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { locks, ...more }, configurable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(globalThis, "navigator");
    else Object.defineProperty(globalThis, "navigator", before);
  };
}
