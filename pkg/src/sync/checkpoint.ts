/** The place of a job: a row in a table of the target, so it comes and goes with the data. */

import type { Beside } from "../beside.js";
import type { Database, Filter, TabStoreError, Value } from "../index.js";
import type { SyncDirection } from "./types.js";

/** The table with the places. */
const TABLE = "__tabstore_sync";
/** The version of the form of a place. */
const FORM = 1;

/** How far a job is. */
export interface Place {
  readonly form: number;
  readonly direction: SyncDirection;
  /** When the tables were made, `from` first: with a target that was made again the copy begins anew. */
  readonly made: readonly [number, number];
  /** The text of the key that the copy goes on from; `""`: the first; `undefined`: it is done. */
  readonly cursor?: string | undefined;
  /** Whether it is not the first copy. */
  readonly again: boolean;
  readonly rowsCopied: number;
  /** The tokens behind the changes that were carried over: of `from`, and of `to` if rows go both ways. */
  readonly tokens: readonly string[];
  /** The writes of the job whose records come behind these tokens. */
  readonly own: readonly (readonly (readonly [signature: string, row: string])[])[];
}

const ownerIs = (value: Value): Filter => ({ column: "owner", comparator: "EQUAL", value, passIfMissing: false });

/** See the top of the file. */
export class Checkpoint {
  constructor(
    private readonly db: Database,
    private readonly name: string,
    /** Tells this run from all others. */
    private readonly owner: string,
    private readonly host: Beside,
    private readonly signal: AbortSignal,
  ) {}

  private get primaryKey(): { readonly name: string } {
    return { name: this.name };
  }

  /** Reads the place, which `check` may refuse, and takes it over: the run that had it before is refused from now on. */
  async take(check: (place: Place) => void): Promise<Place | undefined> {
    const { db, primaryKey, signal } = this;
    await db.createTable({ tableName: TABLE, primaryKey: [{ name: "name", type: "STRING" }], ifNotExists: true, signal });
    const { row } = await db.getRow({ tableName: TABLE, primaryKey, signal });
    const before = row?.get("owner");
    const text = row?.get("place");
    const read = typeof text === "string" ? (JSON.parse(text) as Place) : undefined;
    const place = read?.form === FORM ? read : undefined;
    if (place !== undefined) check(place);
    if (before !== this.owner) {
      await db.updateRow({
        tableName: TABLE,
        primaryKey,
        put: { owner: this.owner },
        condition: before === undefined ? { rowExistence: "EXPECT_NOT_EXIST" } : { column: ownerIs(before) },
        signal,
      });
    }
    return place;
  }

  /** Stores the place. @throws `OTSSequenceNumberNotMatch` if another run has it. */
  async store(place: Omit<Place, "form">): Promise<void> {
    const { db, primaryKey, owner } = this;
    const put = { place: JSON.stringify({ form: FORM, ...place } satisfies Place) };
    try {
      await db.updateRow({ tableName: TABLE, primaryKey, put, condition: { column: ownerIs(owner) } });
    } catch (error) {
      if ((error as Partial<TabStoreError>).code !== "OTSConditionCheckFail") throw error;
      throw this.host.error(
        "OTSSequenceNumberNotMatch",
        `The place of the job '${this.name}' is refused: another run of that name has taken it over.`,
        "One job of a name runs at a time. The other one goes on. A write that was under way may have come behind one of it.",
      );
    }
  }
}
