/** A data set whose keys come in random order, made from one whose rows are in order: as of bookings that get a UUID each. */

/** How many of the flights it takes: so many that the console's small memtable is flushed and its segments are compacted. */
export const BOOKED_FLIGHTS = 100_000;

/** The finalizer of murmur3: each number gives another, without any order in them. Seeded, so that every build gives the same. */
function scatter(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** A UUID of version 4, the same for the same number, and of another number another one. */
export function uuidOf(number: number): string {
  // Each of the four words differs with the number, and the first alone tells all numbers apart.
  const words = [0, 1, 2, 3].map((place) =>
    scatter(number + Math.imul(place, 0x9e3779b9))
      .toString(16)
      .padStart(8, "0"),
  );
  const hex = words.join("");
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 3];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** The flights as CSV, each under a UUID. */
export function bookedFlights(flights: string): string {
  const rows = (JSON.parse(flights) as readonly Record<string, number>[]).slice(0, BOOKED_FLIGHTS);
  const columns = Object.keys(rows[0] ?? {});
  return [["booking", ...columns].join(","), ...rows.map((row, at) => [uuidOf(at + 1), ...columns.map((name) => row[name])].join(",")), ""].join("\n");
}
