/** The same application on an instance in this process, and through a connection to one: both must show the same. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "../../src/cloud/index.js";
import type { ConnectOptions } from "../../src/cloud/types.js";
import type { Database, OpenOptions, Row } from "../../src/index.js";
import { DOOR_KEY, doorFetch } from "./door.js";
import { load, skip } from "./package.js";
import { ENDPOINT, SIGNER, TestService } from "./service.js";

/** A time for all instances, so that versions are equal. */
export const NOW = 1_790_000_000_000;

/** A connection to an instance in memory, and its server. */
export async function connected(options: ConnectOptions = {}, open: OpenOptions = {}): Promise<{ db: Database; service: TestService; behind: Database }> {
  const package_ = await load();
  const behind = await package_.open("demo", { storage: "memory", clock: { now: NOW }, ...open });
  const service = new TestService(behind, package_);
  return { db: await connect(ENDPOINT, SIGNER, { fetch: service.fetch, pollInterval: 5, retry: RETRY, ...options }), service, behind };
}

const isRow = (value: object): value is Row => "columnNames" in value && "primaryKey" in value;

/** What an application sees of a value: errors by what tells them, rows by all that can be asked of them. */
export function seen(value: unknown): unknown {
  if (value instanceof Error) {
    const { name, code, status, message } = value as Error & { code?: string; status?: number };
    return { name, code, status, message };
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(seen);
  if (isRow(value)) {
    const names = value.columnNames;
    return {
      spread: { ...value },
      object: value.toObject(),
      json: JSON.stringify(value),
      names,
      types: [...names, ...Object.keys(value.primaryKey)].map((name) => [name, value.type(name), value.get(name), value.version(name), value.types(name)]),
      missing: [value.get("missing"), value.type("missing"), value.version("missing"), value.types("missing")],
    };
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, seen(one)]));
}

/** Notes what an application sees. */
export interface Notes {
  /** Notes a result, or the error of a call. */
  (result: unknown): Promise<void>;
  /** Leaves out what only one of the two can tell. */
  readonly isConnected: boolean;
}

/** An application. */
export type Application = (db: Database, note: Notes) => Promise<void>;

async function run(db: Database, application: Application, isConnected: boolean): Promise<unknown[]> {
  const all: unknown[] = [];
  const note = Object.assign(
    async (result: unknown): Promise<void> => {
      all.push(
        seen(
          await Promise.resolve(result).catch((error: unknown) => {
            return error;
          }),
        ),
      );
    },
    { isConnected },
  );
  await application(db, note);
  await db.close();
  return all;
}

const RETRY = { minDelay: 1, attempts: 3 };

/**
 * Registers tests that run an application on an instance and through a connection to one, and compare what it saw: by the server of the
 * tests, and by the engine's own door.
 */
export function same(name: string, application: Application, options: Pick<ConnectOptions, "integers"> = {}, open: OpenOptions = {}): void {
  const compare = async (connecting: (behind: Database) => Promise<Database>, behind: Database): Promise<void> => {
    const { open: openLocal } = await load();
    const local = await openLocal("demo", { storage: "memory", clock: { now: NOW }, retry: RETRY, ...open, ...options });
    const here = await run(local, application, false);
    const there = await run(await connecting(behind), application, true);
    await behind.close();
    assert.ok(here.length > 0);
    assert.equal(there.length, here.length);
    for (let i = 0; i < here.length; i++) assert.deepEqual(there[i], here[i], `result ${i}`);
  };
  test(name, { skip }, async () => {
    const { db, behind } = await connected(options, open);
    await compare(async () => db, behind);
  });
  test(`${name}, through the door`, { skip }, async () => {
    const behind = await (await load()).open("demo", { storage: "memory", clock: { now: NOW }, ...open });
    const connecting = () => connect(ENDPOINT, DOOR_KEY, { fetch: doorFetch(behind), pollInterval: 5, retry: RETRY, verify: "always", ...options });
    await compare(connecting, behind);
  });
}
