/** A chat in this page, on timelines and on Dexie: the same messages, and the reads of a chat. `lib/chat.mjs` controls it. */

import { Dexie, type EntityTable } from "dexie";
import { type Database, deleteInstance, open } from "tabstore";
import { timelines, type TimelineStore } from "tabstore/timeline";
import { random, row } from "./data.js";

/** A message; `n` is its number among all. */
interface Message {
  readonly from: string;
  readonly text: string;
  readonly n: number;
}
type Id = number | bigint;
/** Two tables: one is loaded and read, the other takes what is written while others read. */
type Table = "loaded" | "live";

/** What a chat asks of a database. Every write resolves when it is stored, with relaxed durability. */
interface Chat {
  open(name: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Stores all messages, in their order, in whatever way the database likes best. */
  load(messages: readonly { readonly room: string; readonly message: Message }[]): Promise<void>;
  store(table: Table, room: string, message: Message): Promise<unknown>;
  /** One message for each room. */
  fanOut(table: Table, rooms: readonly string[], message: Message): Promise<void>;
  latest(room: string): Promise<Message | undefined>;
  /** The last messages, newest first. */
  back(room: string, count: number): Promise<Message[]>;
  /** The ids of a room, ascending. */
  ids(room: string): Promise<Id[]>;
  /** All messages behind an id. */
  since(room: string, id: Id): Promise<Message[]>;
  settle(): Promise<void>;
}

function ours(): Chat {
  let db: Database;
  let stores: Record<Table, TimelineStore<Message>>;
  const at = (table: Table, room: string) => stores[table].createTimelineQueue({ room });
  const loaded = (room: string) => at("loaded", room);
  return {
    async open(name) {
      db = await open(name, { storage: "indexeddb" });
      const { createTimelineStore } = timelines(db);
      const make = (tableName: Table) => createTimelineStore<Message>({ tableName, identifier: [{ name: "room", type: "STRING" }] });
      stores = { loaded: make("loaded"), live: make("live") };
      await Promise.all([stores.loaded.prepareTables(), stores.live.prepareTables()]);
    },
    async remove(name) {
      await db.close();
      await deleteInstance(name);
    },
    async load(messages) {
      const queues = new Map<string, ReturnType<typeof loaded>>();
      for (const { room, message } of messages) {
        let queue = queues.get(room);
        if (queue === undefined) queues.set(room, (queue = loaded(room)));
        const wait = queue.storeAsync(message);
        if (wait) await wait;
      }
      await stores.loaded.flush();
    },
    store: (table, room, message) => at(table, room).store(message),
    async fanOut(table, rooms, message) {
      const results = await stores[table].fanOut(
        rooms.map((room) => ({ room })),
        message,
      );
      if (!results.every(({ ok }) => ok)) throw new Error("a receiver was left out");
    },
    latest: async (room) => (await loaded(room).getLatestTimelineEntry())?.message,
    async back(room, count) {
      const found: Message[] = [];
      for await (const { message } of loaded(room).scanBackward({ maxCount: count })) found.push(message);
      return found;
    },
    async ids(room) {
      const found: Id[] = [];
      for await (const { sequenceId } of loaded(room).scanForward({ maxCount: Infinity })) found.push(sequenceId);
      return found;
    },
    async since(room, after) {
      const found: Message[] = [];
      for await (const { message } of loaded(room).scanForward({ after, maxCount: Infinity })) found.push(message);
      return found;
    },
    settle: () => db.flush(),
  };
}

/** The usual tables of a chat on Dexie: the store gives the key, and an index finds a room's messages in its order. */
function dexie(): Chat {
  type Stored = Message & { id: number; room: string };
  let db: Dexie & Record<Table, EntityTable<Stored, "id">>;
  const of = (room: string, from: unknown = Dexie.minKey, included = true) =>
    db.loaded.where("[room+id]").between([room, from], [room, Dexie.maxKey], included, true);
  return {
    async open(name) {
      db = new Dexie(name, { chromeTransactionDurability: "relaxed" }) as typeof db;
      db.version(1).stores({ loaded: "++id, [room+id]", live: "++id, [room+id]" });
      await db.open();
    },
    async remove(name) {
      db.close();
      await Dexie.delete(name);
    },
    async load(messages) {
      await db.loaded.bulkAdd(messages.map(({ room, message }) => ({ room, ...message })));
    },
    store: (table, room, message) => db[table].add({ room, ...message }) as Promise<unknown>,
    async fanOut(table, rooms, message) {
      await db[table].bulkAdd(rooms.map((room) => ({ room, ...message })));
    },
    latest: (room) => of(room).last() as Promise<Message | undefined>,
    back: (room, count) => of(room).reverse().limit(count).toArray() as Promise<Message[]>,
    ids: (room) => of(room).primaryKeys() as Promise<Id[]>,
    since: (room, id) => of(room, id, false).toArray() as Promise<Message[]>,
    async settle() {},
  };
}

const CHATS = { tabstore: ours(), dexie: dexie() };
type Name = keyof typeof CHATS;

let messages: { room: string; message: Message }[] = [];
/** The messages of each room, in their order. */
let rooms = new Map<string, Message[]>();

const made = (n: number): Message => {
  const { name, note } = row(n);
  return { from: name, text: note, n };
};
/** Something of all fields of messages, so that each is read; and that they are the right ones. */
function check(what: string, found: readonly (Message | undefined)[], wanted: readonly Message[]): void {
  const sum = (all: readonly (Message | undefined)[]) =>
    all.reduce((to, one, at) => to + (one === undefined ? 0 : (one.n + one.text.length + one.from.length) * (at + 1)), 0);
  if (found.length !== wanted.length || sum(found) !== sum(wanted))
    throw new Error(`${what}: ${found.length} messages were read, ${wanted.length} others were written`);
}

/** Microseconds of one of `operations` since `start`. */
const each = (start: number, operations: number) => ((performance.now() - start) * 1000) / operations;
const some = (count: number, seed: number): string[] => {
  const [next, names] = [random(seed), [...rooms.keys()]];
  return Array.from({ length: count }, () => names[next() % names.length]);
};

/** The functions that `lib/chat.mjs` calls. Times are microseconds an operation. */
const chat = {
  /** Makes the messages, of so many rooms in a random order. */
  make(count: number, roomCount: number): void {
    const next = random(1);
    messages = Array.from({ length: count }, (_, n) => ({ room: `room ${n < roomCount ? n : next() % roomCount}`, message: made(n) }));
    rooms = new Map();
    for (const { room, message } of messages) rooms.set(room, [...(rooms.get(room) ?? []), message]);
  },
  open: (name: Name, database: string) => CHATS[name].open(database),
  remove: (name: Name, database: string) => CHATS[name].remove(database),
  async load(name: Name): Promise<number> {
    const start = performance.now();
    await CHATS[name].load(messages);
    const time = each(start, messages.length);
    await CHATS[name].settle();
    return time;
  },
  async store(name: Name, operations: number, inFlight: boolean, seed: number): Promise<number> {
    const [places, engine] = [some(operations, seed), CHATS[name]];
    const all = places.map((_, n) => made(n));
    const start = performance.now();
    if (inFlight) await Promise.all(places.map((room, n) => engine.store("live", room, all[n])));
    else for (const [n, room] of places.entries()) await engine.store("live", room, all[n]);
    const time = each(start, operations);
    await engine.settle();
    return time;
  },
  /** One message to all rooms; per receiver. */
  async fanOut(name: Name, operations: number): Promise<number> {
    const receivers = [...rooms.keys()];
    const start = performance.now();
    for (let n = 0; n < operations; n++) await CHATS[name].fanOut("live", receivers, made(n));
    const time = each(start, operations * receivers.length);
    await CHATS[name].settle();
    return time;
  },
  async latest(name: Name, operations: number, seed: number): Promise<number> {
    const places = some(operations, seed);
    const found: (Message | undefined)[] = [];
    const start = performance.now();
    for (const room of places) found.push(await CHATS[name].latest(room));
    const time = each(start, operations);
    check(
      "latest",
      found,
      places.map((room) => rooms.get(room)!.at(-1)!),
    );
    return time;
  },
  async back(name: Name, operations: number, count: number, seed: number): Promise<number> {
    const places = some(operations, seed);
    const found: Message[][] = [];
    const start = performance.now();
    for (const room of places) found.push(await CHATS[name].back(room, count));
    const time = each(start, operations);
    check(
      "back",
      found.flat(),
      places.flatMap((room) => rooms.get(room)!.slice(-count).reverse()),
    );
    return time;
  },
  /** A device that has seen the first half of each room reads the rest; per message. */
  async catchUp(name: Name): Promise<number> {
    const engine = CHATS[name];
    const seen: [string, number, Id][] = [];
    for (const [room, { length }] of rooms) seen.push([room, length >> 1, length < 2 ? 0 : (await engine.ids(room))[(length >> 1) - 1]]);
    const found: Message[][] = [];
    const start = performance.now();
    for (const [room, , id] of seen) found.push(await engine.since(room, id));
    const ms = performance.now() - start;
    const wanted = seen.flatMap(([room, half]) => rooms.get(room)!.slice(half));
    check("catching up", found.flat(), wanted);
    return (ms * 1000) / wanted.length;
  },
};

/** The functions of `globalThis.chat`. */
export type ChatTools = typeof chat;
(globalThis as unknown as { chat: ChatTools }).chat = chat;
