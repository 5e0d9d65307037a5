// The same data layer by the calls of the service.
import { col, type Database, INF_MAX, INF_MIN, open, type Row } from "tabstore";

export interface Note {
  id: number;
  title: string;
  text: string;
  edited: Date;
  tags: string[];
}

async function prepared(): Promise<Database> {
  const db = await open("notes-service");
  await db.createTable({
    tableName: "note",
    primaryKey: [{ name: "id", type: "INTEGER" }],
    ifNotExists: true,
    definedColumns: [
      { name: "title", type: "STRING" },
      { name: "text", type: "STRING" },
      { name: "edited", type: "INTEGER" },
      { name: "tags", type: "STRING" },
    ],
    indexes: [
      { indexName: "note_by_edited", primaryKey: ["edited"], columns: ["title", "text", "tags"] },
      { indexName: "note_by_title", primaryKey: ["title"], columns: ["text", "edited", "tags"] },
    ],
  });
  // A table with indexes keeps one version.
  await db.createTable({ tableName: "note_text", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 50, ifNotExists: true });
  await db.createTable({
    tableName: "tagged",
    primaryKey: [
      { name: "tag", type: "STRING" },
      { name: "note", type: "INTEGER" },
    ],
    ifNotExists: true,
  });
  await db.createTable({ tableName: "draft", primaryKey: [{ name: "id", type: "STRING" }], timeToLive: 86_400, ifNotExists: true });
  await db.createTable({ tableName: "counter", primaryKey: [{ name: "name", type: "STRING" }], ifNotExists: true });
  return db;
}
const ready = prepared();
const noteOf = (row: Row): Note => ({
  id: Number(row.get("id")),
  title: String(row.get("title")),
  text: String(row.get("text")),
  edited: new Date(Number(row.get("edited"))),
  tags: JSON.parse(String(row.get("tags"))),
});
const tagRange = (tag: string) => ({ tableName: "tagged", start: { tag, note: INF_MIN }, end: { tag, note: INF_MAX } });

export async function addNote({ id, title, text, edited, tags = [] }: Omit<Note, "tags"> & { tags?: string[] }): Promise<void> {
  await (await ready).atomic([
    { tableName: "note", put: { primaryKey: { id }, attributes: { title, text, edited: edited.getTime(), tags: JSON.stringify(tags) } } },
    { tableName: "note_text", put: { primaryKey: { id }, attributes: { text } } },
    ...tags.map((tag) => ({ tableName: "tagged", put: { primaryKey: { tag, note: id } } })),
  ]);
}
const change = async (id: number, text: string, undone?: number) =>
  (await ready).atomic([
    { tableName: "note", update: { primaryKey: { id }, put: { text, edited: Date.now() }, condition: { rowExistence: "EXPECT_EXIST" } } },
    { tableName: "note_text", update: { primaryKey: { id }, ...(undone === undefined ? { put: { text } } : { deleteVersions: { text: [undone] } }) } },
  ]);
export const saveText = async (id: number, text: string) => change(id, text);
const versions = async (id: number) => (await (await ready).getRow({ tableName: "note_text", primaryKey: { id }, maxVersions: 50 })).row?.columns.text ?? [];
export const history = async (id: number) => (await versions(id)).map(({ value }) => String(value));
export async function undo(id: number): Promise<string | undefined> {
  const [newest, before] = await versions(id);
  if (newest === undefined || before === undefined) return undefined;
  await change(id, String(before.value), newest.version);
  return String(before.value);
}
export async function newest(after?: string | null): Promise<{ rows: Note[]; next: string | null }> {
  const start = after ? JSON.parse(after) : { edited: INF_MAX, id: INF_MAX };
  const { rows, nextStartPrimaryKey } = await (await ready).getRange({
    tableName: "note_by_edited",
    direction: "BACKWARD",
    start,
    end: { edited: INF_MIN, id: INF_MIN },
    limit: 2,
  });
  return { rows: rows.map(noteOf), next: nextStartPrimaryKey && JSON.stringify(nextStartPrimaryKey) };
}
export async function byPrefix(text: string): Promise<Note[]> {
  const { rows } = await (await ready).getRange({
    tableName: "note_by_title",
    start: { title: text, id: INF_MIN },
    end: { title: `${text}\u{10FFFF}`, id: INF_MIN },
    limit: 20,
  });
  return rows.map(noteOf);
}
export async function importNotes(file: Blob): Promise<number> {
  const map = ({ nr, title }: Readonly<Record<string, unknown>>) => ({ id: Number(nr), title: String(title), text: "", edited: Date.now(), tags: "[]" });
  return (await (await ready).importRows("note", file, { map })).rows;
}
export const saveDraft = async (id: string, text: string) => (await ready).putRow({ tableName: "draft", primaryKey: { id }, attributes: { text } });
export const loadDraft = async (id: string) => String((await (await ready).getRow({ tableName: "draft", primaryKey: { id } })).row?.get("text") ?? "");
export async function countView(): Promise<number> {
  const { row } = await (await ready).updateRow({
    tableName: "counter",
    primaryKey: { name: "views" },
    increment: { n: 1 },
    returnContent: { afterModify: ["n"] },
  });
  return Number(row?.get("n"));
}
export const tagCount = async (tag: string) => (await (await ready).count(tagRange(tag))).count;
export async function deleteTag(tag: string): Promise<void> {
  const db = await ready;
  for await (const row of db.scan(tagRange(tag))) {
    const primaryKey = { id: Number(row.get("note")) };
    await db.atomic([
      { tableName: "note", delete: { primaryKey } },
      { tableName: "note_text", delete: { primaryKey } },
    ]);
  }
  await db.deleteRange(tagRange(tag));
}
export const exportAll = async () => new Response(await (await ready).exportInstance()).blob();
export const restore = async (file: Blob) => (await ready).importInstance(file, { existing: "merge" });
export const live = async (show: (titles: string[]) => void) => {
  const rows = (await ready).watch({
    tableName: "note_by_edited",
    direction: "BACKWARD",
    start: { edited: INF_MAX, id: INF_MAX },
    end: { edited: INF_MIN, id: INF_MIN },
    limit: 20,
    filter: col("title").ne(""),
  });
  return rows.subscribe(() => show((rows.getSnapshot().rows ?? []).map((row) => String(row.get("title")))));
};
