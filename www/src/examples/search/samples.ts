/** Writes to the table that is searched: movies. */

import type { CreateTableRequest, Database, PrimaryKey } from "tabstore";

/** The table. */
export const MOVIES: CreateTableRequest = { tableName: "movie", primaryKey: [{ name: "id", type: "STRING" }], stream: { enabled: true, expirationHours: 24 } };
/** The columns that are searched. */
export const FIELDS = ["title", "director", "genre"] as const;

const { tableName } = MOVIES;

/** Puts the movies of the console's data set. */
export async function fill(db: Database): Promise<void> {
  const response = await fetch("data/movies.json");
  if (!response.ok) throw new Error(`The movies cannot be loaded: ${response.status} ${response.statusText}`);
  const movies = (await response.json()) as readonly Readonly<Record<string, unknown>>[];
  const writer = db.writer(tableName);
  for (const [at, movie] of movies.entries()) {
    const texts = Object.entries({ title: movie.Title, director: movie.Director, genre: movie["Major Genre"] });
    const attributes = Object.fromEntries(texts.filter(([, text]) => text !== null && text !== undefined).map(([name, text]) => [name, String(text)]));
    const wait = writer.put({ primaryKey: { id: String(at).padStart(4, "0") }, attributes });
    if (wait !== undefined) await wait;
  }
  await writer.close();
}

/** Puts one movie. */
export const add = (db: Database, title: string, director: string): Promise<unknown> =>
  db.putRow({ tableName, primaryKey: { id: crypto.randomUUID() }, attributes: { title, ...(director === "" ? {} : { director }) } });

/** Deletes a movie. */
export const remove = (db: Database, primaryKey: PrimaryKey): Promise<unknown> => db.deleteRow({ tableName, primaryKey });

/** Deletes all movies. */
export async function clear(db: Database): Promise<void> {
  const keys: PrimaryKey[] = [];
  for await (const row of db.scan({ tableName })) keys.push(row.primaryKey);
  for (let at = 0; at < keys.length; at += 200) {
    await db.batchWriteRow(
      keys.slice(at, at + 200).map((primaryKey) => ({ tableName, delete: { primaryKey } })),
      { atomic: false },
    );
  }
}
