// The data layer of a notes app, by typed tables.
import { open } from "tabstore";
import { define, prefix, t } from "tabstore/schema";

const schema = define({
  note: {
    key: "id",
    columns: { id: t.integer, title: t.text, text: t.text.versions(50), edited: t.date, tags: t.list(t.text).default([]) },
    indexes: { byEdited: ["edited"], byTitle: ["title"] },
  },
  tagged: { key: ["tag", "note"], columns: { tag: t.text, note: t.integer } },
  draft: { key: "id", columns: { id: t.text, text: t.text }, timeToLive: "1d" },
  counter: { key: "name", columns: { name: t.text, n: t.integer } },
});
export type Note = typeof schema.note.Row;
export const ready = open("notes", { schema });

export async function addNote(note: typeof schema.note.NewRow): Promise<void> {
  const db = await ready;
  await db.note.put(note);
  await db.tagged.putMany((note.tags ?? []).map((tag) => ({ tag, note: note.id })));
}
export const saveText = async (id: number, text: string) => (await ready).note.update(id, { text, edited: new Date() });
export const history = async (id: number) => (await (await ready).note.versions(id, "text")).map(({ value }) => value);
export const undo = async (id: number) => (await ready).note.undo(id, "text");
export const newest = async (after?: string | null) => (await ready).note.by.byEdited.reverse().page({ after, limit: 2 });
export const byPrefix = async (text: string) => (await ready).note.by.byTitle.range(prefix(text)).limit(20).toArray();
export async function importNotes(file: Blob): Promise<number> {
  const map = ({ nr, title }: Record<string, unknown>) => ({ id: Number(nr), title: String(title), text: "", edited: new Date() });
  return (await (await ready).note.import(file, { map })).rows;
}
export const saveDraft = async (id: string, text: string) => (await ready).draft.put({ id, text });
export const loadDraft = async (id: string) => (await (await ready).draft.get(id))?.text ?? "";
export const countView = async () => (await ready).counter.increment("views", "n");
export const tagCount = async (tag: string) => (await ready).tagged.range({ tag }).count();
export async function deleteTag(tag: string): Promise<void> {
  const db = await ready;
  for await (const { note } of db.tagged.range({ tag })) await db.note.delete(note);
  await db.tagged.range({ tag }).delete();
}
export const exportAll = async () => (await ready).export();
export const restore = async (file: Blob) => (await ready).import(file);
export const live = async (show: (titles: string[]) => void) => {
  const rows = (await ready).note.by.byEdited.reverse().limit(20).watch();
  return rows.subscribe(() => show((rows.getSnapshot().rows ?? []).map(({ title }) => title)));
};
