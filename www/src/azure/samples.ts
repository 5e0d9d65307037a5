/** Entities to begin with: stations in three partitions, with properties of all eight types. */

import { azure } from "tabstore/azure";

import { logged } from "../state/calls.ts";
import type { Place } from "./client.ts";

const REGIONS = ["north", "sea", "south"];
const STATIONS = 25;
/** 2020-01-01, in UTC. */
const BEGINNING = 1_577_836_800_000;
const DAY_MS = 86_400_000;

/** The name of the table that is made for them. */
export const SAMPLE_TABLE = "stations";
/** How many there are. */
export const SAMPLE_ENTITIES = REGIONS.length * STATIONS;

/** The station of a number, the same each time but for its Guid. */
function station(partitionKey: string, number: number, place: number) {
  const rowKey = String(number).padStart(3, "0");
  return {
    partitionKey,
    rowKey,
    Name: `Station ${partitionKey} ${number}`,
    Height: (number * 83 + place * 311) % 1900,
    Readings: BigInt(number) * 1_000_000_007n + BigInt(place),
    Temperature: { type: "Double", value: String((((number * 37 + place * 101) % 460) - 110) / 10) },
    Active: number % 4 !== 0,
    Since: new Date(BEGINNING + ((number * 61 + place * 17) % 1800) * DAY_MS),
    Serial: { type: "Guid", value: crypto.randomUUID() },
    Signature: Uint8Array.of(place, number, 255 - number),
    // Entities of a table may have different properties.
    ...(number % 5 === 0 ? { Note: `Inspections: ${number / 5}` } : {}),
  };
}

/** Stores them, a transaction for each partition. What is there with the same keys is replaced. */
export async function loadSample({ db, account, table }: Place): Promise<void> {
  for (const [place, region] of REGIONS.entries()) {
    const actions = Array.from({ length: STATIONS }, (_, at) => ["upsert", station(region, at + 1, place), "Replace"] as const);
    await logged("Transaction", `${table}, ${region}, ${actions.length} entities`, () => azure(db, account).table(table).submitTransaction(actions));
  }
}
