/**
 * Lessons: things that the product's documents say, done with the real store, each step with what must come out.
 */

import { type Database, type Row, TabStoreError } from "tabstore";

import { text } from "../lib/values.ts";

/** A step that has been taken. */
export interface StepResult {
  /** The action. */
  readonly what: string;
  /** The result. */
  readonly outcome: string;
  /** Whether that is what the documents say. */
  readonly right: boolean;
}

/** A lesson. */
export interface Lesson {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  /** The table that it makes, anew each time. */
  readonly tableName: string;
  /** The instance it opens when none is open, or when it needs a clock and the open one has none. */
  readonly instance: string;
  /** The injected clock it needs. */
  readonly clock?: number | undefined;
  /** Takes all steps, and tells of each as it is taken. */
  readonly run: (db: Database, tell: (step: StepResult) => void) => Promise<void>;
}

/** Makes a table anew. */
async function freshTable(db: Database, request: Parameters<Database["createTable"]>[0]): Promise<void> {
  if ((await db.listTable()).includes(request.tableName)) await db.deleteTable(request.tableName);
  await db.createTable(request);
}

/** A row as one line: every column with every version. */
function line(row: Row | null): string {
  if (row === null) return "no such row";
  return row.columnNames.map((name) => `${name} ${(row.columns[name] ?? []).map(({ value, version }) => `${text(value)} @ ${version}`).join(", ")}`).join("; ");
}

const JUNE_23 = 1_466_676_354_000;
const JUNE_24 = 1_466_762_754_000;

/** The two-row example of the product introduction [D4]. */
const TWO_ROWS: Lesson = {
  id: "two-rows",
  title: "Two rows, two shapes",
  about: "The example of the product introduction: rows with different columns, and a column with two versions. Stored and read back.",
  tableName: "lesson_rows",
  instance: "lesson",
  async run(db, tell) {
    const tableName = this.tableName;
    // An offset of 31 years reaches back to the versions of 2016 from any clock of today.
    await freshTable(db, { tableName, primaryKey: [{ name: "ID", type: "STRING" }], maxVersions: 2, timeToLive: -1, maxVersionOffset: 1_000_000_000 });
    tell({ what: "Create a table with the key ID, two versions a column, no expiry", outcome: "created", right: true });
    const first = (value: string | bigint) => [{ value, version: JUNE_23 }];
    await db.putRow({ tableName, primaryKey: { ID: "4776" }, attributes: { Type: first("Book"), ISBN: first("123*45678912345"), PageCount: first(666n) } });
    await db.putRow({
      tableName,
      primaryKey: { ID: "6555" },
      attributes: {
        Type: first("Music"),
        Length: [
          { value: 500n, version: JUNE_24 },
          { value: 400n, version: JUNE_23 },
        ],
      },
    });
    tell({ what: "Put the book 4776 and the music 6555, whose Length was 400, and 500 a day later", outcome: "stored", right: true });
    const expected: Readonly<Record<string, string>> = {
      4776: `ISBN 123*45678912345 @ ${JUNE_23}; PageCount 666 @ ${JUNE_23}; Type Book @ ${JUNE_23}`,
      6555: `Length 500 @ ${JUNE_24}, 400 @ ${JUNE_23}; Type Music @ ${JUNE_23}`,
    };
    for (const [ID, wanted] of Object.entries(expected)) {
      const { row } = await db.getRow({ tableName, primaryKey: { ID }, maxVersions: 2 });
      tell({ what: `Get the row ${ID} with both versions`, outcome: line(row), right: line(row) === wanted });
    }
  },
};

/** 2016-07-21 00:00:00 at UTC+8. */
const JULY_21 = 1_469_030_400_000;
const DAY = 86_400;

/** The boundary cases of versions, time to live and offset [V6], [V7]. */
const BOUNDARIES: Lesson = {
  id: "boundaries",
  title: "A day, to the millisecond",
  about:
    "Which versions a table with a time to live and an offset of one day takes and shows, with the clock at 2016-07-21 00:00 (UTC+8), which is 2016-07-20 16:00 in UTC.",
  tableName: "lesson_day",
  instance: "lesson-2016",
  clock: JULY_21,
  async run(db, tell) {
    const tableName = this.tableName;
    await db.setClock(JULY_21);
    await freshTable(db, { tableName, primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 1, timeToLive: DAY, maxVersionOffset: DAY });
    tell({ what: `Set the clock to ${JULY_21}; create a table whose data lives a day`, outcome: "created", right: true });
    const cases: readonly (readonly [number, boolean])[] = [
      [JULY_21 - 86_400_000, true],
      [JULY_21 - 86_400_001, false],
      [JULY_21 - 86_401_000, false],
      [JULY_21 + 86_399_999, true],
      [JULY_21 + 86_400_000, false],
    ];
    for (const [at, [version, taken]] of cases.entries()) {
      const primaryKey = { id: at + 1 };
      let outcome = "accepted";
      try {
        await db.putRow({ tableName, primaryKey, attributes: { note: [{ value: "hello", version }] } });
      } catch (error) {
        outcome = error instanceof TabStoreError ? `refused: ${error.code}, ${error.message}` : String(error);
      }
      const { row } = await db.getRow({ tableName, primaryKey });
      tell({
        what: `Put a value with the version ${version}`,
        outcome: `${outcome}, ${row === null ? "not visible" : "visible"}`,
        right: (outcome === "accepted") === taken && (row !== null) === taken,
      });
    }
    await db.setClock(JULY_21 + 1000);
    const { row } = await db.getRow({ tableName, primaryKey: { id: 1 } });
    tell({
      what: `One second later, get the row whose version is ${JULY_21 - 86_400_000}`,
      outcome: row === null ? "it has expired" : line(row),
      right: row === null,
    });
    await db.setClock(JULY_21);
  },
};

/** All lessons. */
export const LESSONS: readonly Lesson[] = [TWO_ROWS, BOUNDARIES];
