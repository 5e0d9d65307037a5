/** A full-text index of a table, in memory, that follows the table. The index is MiniSearch's. */

import MiniSearch, { type AsPlainObject, type Options } from "minisearch";
import type { Database, PrimaryKey, Row } from "tabstore";

import { follow, type Place, textOf } from "../follow.ts";

/** A document of the index: the texts of a row. */
interface Document extends Record<string, unknown> {
  readonly id: string;
  readonly primaryKey: PrimaryKey;
}

/** A row that was found. */
export interface Hit {
  readonly primaryKey: PrimaryKey;
  /** The texts of its fields. */
  readonly texts: Readonly<Record<string, string>>;
  /** The words that match, for {@link marked}. */
  readonly words: readonly string[];
  readonly score: number;
}

/** An index that IndexedDB can store, to use it again after a reload. */
export interface Saved {
  readonly place: Place;
  readonly index: AsPlainObject;
}

/** The index of the texts in some columns of a table. */
export class TableSearch {
  private readonly fields: readonly string[];
  private readonly options: Options<Document>;
  private index: MiniSearch<Document>;
  private place: Place | undefined;

  constructor(fields: readonly string[], saved?: Saved) {
    this.fields = fields;
    this.options = {
      fields: [...fields],
      storeFields: ["primaryKey", ...fields],
      searchOptions: {
        prefix: true,
        fuzzy: (term) => (term.length > 6 ? 2 : term.length > 3 ? 1 : false),
        combineWith: "AND",
        boost: { [fields[0] ?? ""]: 2 },
      },
    };
    this.index = saved === undefined ? new MiniSearch(this.options) : MiniSearch.loadJS(saved.index, this.options);
    this.place = saved?.place;
  }

  /** The number of rows in the index. */
  get size(): number {
    return this.index.documentCount;
  }

  /** Takes all rows into the index, then what changes. It gives something after each step, until `signal` or a `break` ends it. */
  async *follow(db: Database, tableName: string, signal?: AbortSignal): AsyncGenerator<void, void> {
    for await (const { anew, rows, gone, place } of follow(db, tableName, this.place, signal)) {
      if (anew) this.index = new MiniSearch(this.options);
      for (const primaryKey of gone) this.remove(textOf(primaryKey));
      for (const row of rows) this.put(row);
      this.place = place;
      yield;
    }
  }

  private put(row: Row): void {
    const id = textOf(row.primaryKey);
    this.remove(id);
    // A missing column is an empty text: MiniSearch's average lengths, and so its scores, would depend on the past.
    const texts = this.fields.map((field) => [field, String(row.get(field) ?? "")]);
    this.index.add({ id, primaryKey: row.primaryKey, ...Object.fromEntries(texts) });
  }

  private remove(id: string): void {
    // The index needs the document as it was, and has stored it.
    if (this.index.has(id)) this.index.remove({ ...this.index.getStoredFields(id), id } as unknown as Document);
  }

  /** The rows that have all words of a text, as beginnings or nearly, the best first. */
  search(text: string): Hit[] {
    return this.index.search(text).map(({ primaryKey, terms, score, ...rest }) => {
      const texts = this.fields.map((field) => [field, (rest as Record<string, unknown>)[field] as string]);
      return { primaryKey: primaryKey as PrimaryKey, texts: Object.fromEntries(texts), words: terms, score };
    });
  }

  /** The index, to be stored. Nothing before its first step. */
  save(): Saved | undefined {
    return this.place && { place: this.place, index: this.index.toJSON() };
  }
}

/** Cuts a text into parts, and tells which of them are words that match. */
export function marked(text: string, words: readonly string[]): { readonly part: string; readonly hit: boolean }[] {
  const parts = text.split(/([\n\r\p{Z}\p{P}]+)/u).filter((part) => part !== "");
  return parts.map((part) => ({ part, hit: words.includes(part.toLowerCase()) }));
}
