/** A server of doors in this process, whose database a test has too. */

import type { TestContext } from "node:test";

import type { Database } from "../../src/index.js";
import { serveArguments } from "../../src/serve/arguments.js";
import { ensureKey } from "../../src/serve/keys.js";
import { startServer } from "../../src/serve/server.js";
import type { OpenOptions } from "../../src/types/rows.js";
import { open } from "./package.js";

/** A database and the addresses at which it is served. */
export interface Served {
  readonly db: Database;
  readonly tablestore: string;
  readonly azure: string;
  /** What went wrong in the server itself. */
  readonly failures: readonly unknown[];
}

/** Serves an instance in memory, with the default key, until the test is over. */
export async function serveDatabase(t: TestContext, options: OpenOptions = {}): Promise<Served> {
  const asked = serveArguments(["--port", "0", "--azure-port", "0", "--console-port", "0", "--stop-timeout", "1"], {});
  const db = await open(options);
  await ensureKey(db, asked);
  const failures: unknown[] = [];
  const server = await startServer(db, asked, { log: undefined, report: (error) => failures.push(error) });
  t.after(async () => {
    await server.stop();
    await db.close();
  });
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  return { db, tablestore: at(server.ports.tablestore), azure: at(server.ports.azure), failures };
}
