// The same data layer by Dexie 4: what it has not, such as versions, drafts that end and a file of all, is written by hand.
import { Dexie, liveQuery, type EntityTable, type Table } from "dexie";
import Papa from "papaparse";

export interface Note {
  id: number;
  title: string;
  text: string;
  edited: Date;
  tags: string[];
}
interface Version {
  seq: number;
  note: number;
  text: string;
}
interface Draft {
  id: string;
  text: string;
  until: number;
}
interface Counter {
  name: string;
  n: number;
}
const DAY = 86_400_000;
const KEPT = 50;

const db = new Dexie("notes") as Dexie & {
  note: EntityTable<Note, "id">;
  past: EntityTable<Version, "seq">;
  draft: EntityTable<Draft, "id">;
  counter: EntityTable<Counter, "name">;
};
db.version(1).stores({ note: "id, edited, title, *tags", past: "++seq, note", draft: "id, until", counter: "name" });

export async function addNote(note: Omit<Note, "tags"> & { tags?: string[] }): Promise<void> {
  await db.transaction("rw", db.note, db.past, async () => {
    await db.note.put({ tags: [], ...note });
    await db.past.where({ note: note.id }).delete();
    await db.past.add({ note: note.id, text: note.text });
  });
}
export async function saveText(id: number, text: string): Promise<void> {
  await db.transaction("rw", db.note, db.past, async () => {
    if ((await db.note.update(id, { text, edited: new Date() })) === 0 && (await db.note.get(id)) === undefined) throw new Error("no such note");
    await db.past.add({ note: id, text });
    const old = await db.past.where({ note: id }).reverse().offset(KEPT).primaryKeys();
    await db.past.bulkDelete(old);
  });
}
export const history = async (id: number) => (await db.past.where({ note: id }).reverse().sortBy("seq")).map(({ text }) => text);
export async function undo(id: number): Promise<string | undefined> {
  return db.transaction("rw", db.note, db.past, async () => {
    const [newest, before] = await db.past.where({ note: id }).reverse().sortBy("seq");
    if (newest === undefined || before === undefined) return undefined;
    await db.past.delete(newest.seq);
    await db.note.update(id, { text: before.text });
    return before.text;
  });
}
export async function newest(after?: string | null): Promise<{ rows: Note[]; next: string | null }> {
  const offset = Number(after ?? 0);
  const rows = await db.note.orderBy("edited").reverse().offset(offset).limit(2).toArray();
  return { rows, next: rows.length === 2 ? String(offset + 2) : null };
}
export const byPrefix = async (text: string) => db.note.where("title").startsWith(text).limit(20).toArray();
export async function importNotes(file: Blob): Promise<number> {
  const { data } = Papa.parse<Record<string, string>>(await file.text(), { header: true, skipEmptyLines: true });
  for (const { nr, title } of data) await addNote({ id: Number(nr), title: String(title), text: "", edited: new Date() });
  return data.length;
}
export const saveDraft = async (id: string, text: string) => db.draft.put({ id, text, until: Date.now() + DAY });
export async function loadDraft(id: string): Promise<string> {
  await db.draft.where("until").belowOrEqual(Date.now()).delete();
  return (await db.draft.get(id))?.text ?? "";
}
export async function countView(): Promise<number> {
  return db.transaction("rw", db.counter, async () => {
    const n = ((await db.counter.get("views"))?.n ?? 0) + 1;
    await db.counter.put({ name: "views", n });
    return n;
  });
}
export const tagCount = async (tag: string) => db.note.where({ tags: tag }).count();
export async function deleteTag(tag: string): Promise<void> {
  await db.transaction("rw", db.note, db.past, async () => {
    const ids = await db.note.where({ tags: tag }).primaryKeys();
    await db.past.where("note").anyOf(ids).delete();
    await db.note.bulkDelete(ids);
  });
}
export async function exportAll(): Promise<Blob> {
  const tables = await Promise.all(db.tables.map(async (table) => [table.name, await table.toArray()] as const));
  return new Blob([JSON.stringify(Object.fromEntries(tables))]);
}
export async function restore(file: Blob): Promise<void> {
  const tables = JSON.parse(await file.text(), (name, value: unknown) => (name === "edited" ? new Date(String(value)) : value)) as Record<string, unknown[]>;
  for (const [name, rows] of Object.entries(tables)) await (db.table(name) as Table<unknown>).bulkPut(rows);
}
export const live = async (show: (titles: string[]) => void) => {
  const titles = liveQuery(async () => (await db.note.orderBy("edited").reverse().limit(20).toArray()).map(({ title }) => title));
  const { unsubscribe } = titles.subscribe(show);
  return unsubscribe;
};
