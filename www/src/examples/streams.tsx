/** The parts that the examples of streams share: their instance, what follows a table, and what writes to it. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CreateTableRequest, Database } from "tabstore";

import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { Failure } from "./failure.tsx";
import { useInstance } from "./instance.ts";

/** The instance of these examples: each has tables of its own in it. */
const INSTANCE = "example-streams";

/** Makes the tables that are missing. Another tab may make them at the same time. */
async function prepare(db: Database, tables: readonly CreateTableRequest[]): Promise<void> {
  const there = await db.listTable();
  for (const table of tables) {
    if (there.includes(table.tableName)) continue;
    await db.createTable(table).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== "OTSObjectAlreadyExist") throw error;
    });
  }
}

/** Opens the instance with these tables, and shows what is made of it. */
export function StreamExample({
  tables,
  children,
}: {
  readonly tables: readonly CreateTableRequest[];
  readonly children: (db: Database) => ComponentChildren;
}) {
  const { db, error, again } = useInstance(INSTANCE);
  const [state, setState] = useState<{ readonly ready?: Database; readonly error?: unknown }>({});
  useEffect(() => {
    if (db === undefined) return;
    let gone = false;
    prepare(db, tables).then(
      () => gone || setState({ ready: db }),
      (reason: unknown) => gone || setState({ error: reason }),
    );
    return () => {
      gone = true;
    };
  }, [db]);
  const failure = error ?? state.error;
  if (failure !== undefined) return <Failure error={failure} again={again} />;
  if (db === undefined || state.ready !== db)
    return (
      <p class="example-wait" role="status">
        Opening the example …
      </p>
    );
  return <>{children(db)}</>;
}

/**
 * Runs a follower while its component is shown and `on` is true. Returns its error, if it has ended with one.
 *
 * @param start gives something after each step, until the signal ends it; it is read when the follower begins.
 */
export function useFollower<T>(on: boolean, start: (signal: AbortSignal) => AsyncIterable<T>, onStep: (step: T) => void): unknown {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!on) return;
    const control = new AbortController();
    const { signal } = control;
    const run = async () => {
      for await (const step of start(signal)) if (!signal.aborted) onStep(step);
    };
    setError(undefined);
    run().catch((reason: unknown) => signal.aborted || setError(reason));
    return () => control.abort();
  }, [on]);
  return error;
}

/** Waits until no other tab does this work. Gives the end of it; `signal` ends the waiting. */
export async function takeTurn(name: string, signal: AbortSignal): Promise<() => void> {
  // Without locks no other tab shares the instance.
  if (!("locks" in navigator)) return () => {};
  return new Promise((resolve, reject) => {
    const held = navigator.locks.request(name, { signal }, () => new Promise<void>((release) => resolve(release)));
    held.catch(reject);
  });
}

/** A way to write to a table, once. */
export interface Writing {
  readonly label: string;
  readonly run: () => Promise<unknown>;
  readonly disabled?: boolean;
}

const EVERY_MS = 250;

/** Buttons that write once, and one that writes on and on. */
export function Writings({ writings, any }: { readonly writings: readonly Writing[]; readonly any: () => Promise<unknown> }) {
  const { busy, error, run } = useAction();
  const [on, setOn] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    if (!on) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout>;
    const write = () =>
      any().then(
        () => {
          if (!ended) timer = setTimeout(write, EVERY_MS);
        },
        (reason: unknown) => {
          setFailure(reason);
          setOn(false);
        },
      );
    setFailure(undefined);
    void write();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [on]);
  return (
    <div class="stack tight">
      <div class="row" role="group" aria-label="Write to the table">
        {writings.map(({ label, run: work, disabled = false }) => (
          <button
            key={label}
            type="button"
            class="button"
            aria-disabled={busy || disabled}
            onClick={() => {
              if (!disabled)
                run(async () => {
                  await work();
                });
            }}
          >
            {label}
          </button>
        ))}
        <button type="button" class={`button ${on ? "pressed" : ""}`} aria-pressed={on} onClick={() => setOn(!on)}>
          Keep writing
        </button>
      </div>
      <ErrorNote error={error ?? failure} />
    </div>
  );
}

/** One of some things. */
export function oneOf<T>(all: readonly [T, ...T[]]): T {
  return all[Math.floor(Math.random() * all.length)] ?? all[0];
}
