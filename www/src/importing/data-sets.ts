/** The data sets that the console offers: of the npm package vega-datasets, each with a fitting key. */

/** A data set. */
export interface DataSet {
  /** Its file, beside the console under `data/`. */
  readonly file: string;
  /** Its name. */
  readonly title: string;
  /** Its contents. */
  readonly about: string;
  /** How many rows it has. */
  readonly rows: number;
  /** The table it goes into unless another is chosen. */
  readonly table: string;
  /** The columns that make its key; none where no columns are unique, and the row's number must be the key. */
  readonly key: readonly string[];
  /** The file of the package that it is made from, where it is not such a file as it is; build/data-sets.ts makes it. */
  readonly madeFrom?: string;
  /** How many of its rows are on their way at a time, as from clients that wait for their answers; as many as is fast unless given. */
  readonly inFlight?: number;
}

/** All of them, smallest first. */
export const DATA_SETS: readonly DataSet[] = [
  {
    file: "stocks.csv",
    title: "Stocks",
    about: "Monthly prices of five companies, 2000 to 2010",
    rows: 560,
    table: "stocks",
    key: ["symbol", "date"],
    madeFrom: "stocks.csv",
  },
  { file: "seattle-weather.csv", title: "Seattle weather", about: "Four years of daily weather", rows: 1461, table: "seattle_weather", key: ["date"] },
  { file: "movies.json", title: "Movies", about: "Money and ratings; many gaps, titles that repeat", rows: 3201, table: "movies", key: [] },
  {
    file: "zipcodes.csv",
    title: "Zip codes",
    about: "Post offices of the United States with their places",
    rows: 42_049,
    table: "zipcodes",
    key: ["zip_code"],
  },
  {
    file: "flights-by-booking.csv",
    title: "Flights, keys in random order",
    rows: 100_000,
    table: "bookings",
    key: ["booking"],
    madeFrom: "flights-200k.json",
    inFlight: 400,
    about: "Flights under made-up UUIDs, 400 at a time: watch the memtable fill, flush and compact",
  },
  { file: "flights-200k.json", title: "Flights", about: "Delay, distance and hour of flights; no unique key", rows: 200_000, table: "flights", key: [] },
];

/** Those that lie beside this console: the page names them. A copy of the console has the small ones only. */
export function offeredDataSets(): readonly DataSet[] {
  const named = document.querySelector<HTMLMetaElement>('meta[name="data-sets"]')?.content.split(" ");
  return named === undefined ? DATA_SETS : DATA_SETS.filter(({ file }) => named.includes(file));
}
