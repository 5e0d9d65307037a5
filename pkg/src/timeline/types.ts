/**
 * The public types of the entry `tabstore/timeline`: schemas, messages, options, results.
 *
 * Ids in brackets, such as [L2], name the statement of the product's specification behind a rule. Sizes are in bytes.
 */

import type { CallOptions, Condition, DefinedColumn, Double, Filter, IndexSpec, KeyType, KeyValue, PrimaryKey, TabStoreError, Value } from "../index.js";

// ------------------------------------------------------------------------------------------------ messages

/** A value of a message or of a meta: a value of the database, or a list of texts (see `lists` of the schema). */
export type Field = Value | readonly string[];

/** A message or a meta of any fields. */
export type Fields = Readonly<Record<string, Field>>;

/** The bound of the types of messages and metas: every field is a {@link Field}. Interfaces fit too. */
export type Shape<M> = { readonly [K in keyof M]: Field | undefined };

/**
 * A message as it is written. Where it has a number, {@link double}`(3)` may stand, which is a Double and no Integer. A
 * field that is `undefined` or `null` is refused: leave it out.
 */
export type NewMessage<M> = { readonly [K in keyof M]: M[K] | (Extract<M[K], number> extends never ? never : Double) };

/**
 * The id of a message in its timeline: an integer from 0 to 2^63 - 1, exact as all integers of the package. It is read as
 * a `number` if that is exact and as a `bigint` if not [L2].
 */
export type SequenceId = number | bigint;

/** A message with its sequence id. */
export interface TimelineEntry<M> {
  /** The id. */
  readonly sequenceId: SequenceId;
  /** The message. */
  readonly message: M;
}

/** A message to store. */
export interface NewEntry<M> {
  /** The message. At most 1024 fields, 2 MB each and 4 MB together; names are those of columns. */
  readonly message: NewMessage<M>;
  /** The id by hand. Required if the schema says `"MANUAL"`; otherwise the store gives one. */
  readonly sequenceId?: SequenceId | undefined;
}

// ------------------------------------------------------------------------------------------------ schemas

/** A column of an identifier. */
export interface IdentifierColumn {
  /** Its name, as that of any column. */
  readonly name: string;
  /** Its type. */
  readonly type: KeyType;
}

/** The name of a timeline: a value for each column of the schema's identifier; texts and bytes up to 1 KB [L1]. */
export type TimelineIdentifier = PrimaryKey;

/** What a timeline store keeps, in one table. */
export interface TimelineSchema {
  /** The table. */
  readonly tableName: string;
  /**
   * The columns of an identifier, 1 to 3. The first is the partition key of the table: timelines that share its value are
   * stored together.
   */
  readonly identifier: readonly IdentifierColumn[];
  /** The column of the sequence id, the last key column; default `"sequence_id"`. */
  readonly sequenceIdColumn?: string | undefined;
  /**
   * `"AUTO_INCREMENT"` (the default): the store gives positive ids, each larger than all before it in its timeline, but
   * mostly not the next number: other timelines take numbers too. A given id names a message that is there, which it replaces.
   * `"MANUAL"`: each message comes with its id.
   */
  readonly sequenceIdGeneration?: "AUTO_INCREMENT" | "MANUAL" | undefined;
  /**
   * With ids from the store: whether a new message may have an id that you chose, as those of an import have. Later ids of the store are
   * larger than those up to 2^53 - 1. The service does not have this. It is set when the table is made. Default `false`.
   */
  readonly allowChosen?: boolean | undefined;
  /** Seconds that a message lives, at least 86400, or -1 (the default): for ever. It is set when the table is made. */
  readonly timeToLive?: number | undefined;
  /**
   * The fields that are lists of texts. They are stored as JSON texts and read as arrays. A stored text that is no JSON
   * list of texts is read as it is. An array in any other field is refused.
   */
  readonly lists?: readonly string[] | undefined;
}

/** An index of a meta store. */
export type TimelineMetaIndex = Pick<IndexSpec, "indexName" | "primaryKey">;

/** What a meta store keeps, in one table with indexes. */
export interface TimelineMetaSchema {
  /** The table. */
  readonly tableName: string;
  /** The columns of an identifier, 1 to 4, as those of the timeline store. */
  readonly identifier: readonly IdentifierColumn[];
  /** The fields that an index names, with their types: up to 32. Their values have that type from then on. */
  readonly definedColumns?: readonly DefinedColumn[] | undefined;
  /**
   * The indexes for {@link TimelineMetaStore.search}, up to 5: each has a name, which counts as a table, and `primaryKey`,
   * the fields in the order in which it sorts. A meta is in an index if it has all of its fields.
   */
  readonly indexes?: readonly TimelineMetaIndex[] | undefined;
  /** The fields that are lists of texts, as in {@link TimelineSchema}. */
  readonly lists?: readonly string[] | undefined;
}

// ------------------------------------------------------------------------------------------------ options and results

/** Options of `timelines`. */
export interface TimelinesOptions {
  /**
   * `"bigint"`: every sequence id is a `bigint`, also the 0 of an empty timeline. Give it together with the option of the
   * same name of `open`. Default `"auto"`: ids are what the database gives, and the 0 is a `number`.
   */
  readonly integers?: "auto" | "bigint" | undefined;
}

/** Options of a call that writes one message or meta. */
export interface ConditionOptions extends CallOptions {
  /** A condition on what is stored, as in all writes of rows. Not for a message whose id the store gives. */
  readonly condition?: Condition | undefined;
}

/** Options of {@link TimelineQueue.store}. */
export interface StoreOptions extends ConditionOptions {
  /** The id by hand. Required if the schema says `"MANUAL"`. A message of the same id is replaced. */
  readonly sequenceId?: SequenceId | undefined;
}

/** The result of one message of a batch. */
export type StoreResult =
  | { readonly ok: true; readonly sequenceId: SequenceId; readonly error?: undefined }
  | { readonly ok: false; readonly error: TabStoreError; readonly sequenceId?: undefined };

/** The result of one receiver of a {@link TimelineStore.fanOut}. */
export type FanOutResult = StoreResult & {
  /** The timeline of the receiver. */
  readonly identifier: TimelineIdentifier;
};

/**
 * Options of a scan. Forward the bounds must be `0 <= from < to`, backward `0 <= to < from`; without a bound the scan goes
 * from the first message, or to the last one, in its direction [L2].
 */
export interface ScanOptions extends CallOptions {
  /** The first id, included. */
  readonly from?: SequenceId | undefined;
  /** The id before the first one, not included: the last one that a reader has seen. Not together with `from`. */
  readonly after?: SequenceId | undefined;
  /** The id to stop before, not included. */
  readonly to?: SequenceId | undefined;
  /** The most messages to give; default 100. `Infinity` for all. */
  readonly maxCount?: number | undefined;
  /** Only messages that pass. It judges fields as they are stored: a list is a JSON text. */
  readonly filter?: Filter | undefined;
}

/** Options of {@link TimelineQueue.page}. */
export interface PageOptions extends Omit<ScanOptions, "maxCount"> {
  /** Default `"FORWARD"`. */
  readonly direction?: "FORWARD" | "BACKWARD" | undefined;
  /** The messages of a page; default 100. */
  readonly maxCount?: number | undefined;
  /**
   * The token of the page before, instead of `direction`, `from`, `after` and `to`, which it contains. Give the same `filter`
   * again. It is a short text, and stays good after a reload and in another tab.
   */
  readonly token?: string | undefined;
}

/** A page of messages. */
export interface TimelinePage<M> {
  /** The messages in the order of the direction. Fewer than `maxCount` only at the end. */
  readonly entries: readonly TimelineEntry<M>[];
  /** The token of the next page, which may be empty; `null` at the end. */
  readonly token: string | null;
}

/** A part of the values of a field: from `from` (included) to `to` (not included), either or both. */
export interface FieldRange {
  /** The least value. */
  readonly from?: KeyValue | undefined;
  /** The value to stop before. */
  readonly to?: KeyValue | undefined;
}

/** Options of {@link TimelineMetaStore.search}. */
export interface SearchOptions extends CallOptions {
  /**
   * The searched fields, each with its value, and the last one of the index with its value or a {@link FieldRange}. They
   * must be the first columns of one index, or of the identifier, in any order here. `{}` (the default) finds all metas.
   */
  readonly where?: Readonly<Record<string, KeyValue | FieldRange>> | undefined;
  /** `"FORWARD"` (the default) by ascending values of the index, `"BACKWARD"` by descending ones. */
  readonly direction?: "FORWARD" | "BACKWARD" | undefined;
  /** The most metas to give; default 100. `Infinity` for all. */
  readonly maxCount?: number | undefined;
}

/** A meta with the identifier of its timeline. */
export interface TimelineMeta<M> {
  /** The timeline. */
  readonly identifier: TimelineIdentifier;
  /** Its meta. */
  readonly meta: M;
}

// ------------------------------------------------------------------------------------------------ stores

/**
 * One timeline: messages in the order of their sequence ids [L1], [L2]. It costs nothing to make: a store may have any
 * number of timelines, and one without messages takes no space.
 *
 * Every method rejects with the {@link TabStoreError} of the database: `OTSParameterInvalid` for a wrong argument,
 * `OTSObjectNotExist` before {@link TimelineStore.prepareTables}, and those of `putRow`, `getRow` and `getRange`. A call
 * that its `signal` gives up rejects with the signal's reason.
 */
export interface TimelineQueue<M> {
  /** The identifier, in the order of the schema. Do not change its bytes. */
  readonly identifier: TimelineIdentifier;
  /**
   * Stores a message. Resolves with its id once it is stored.
   *
   * @throws `OTSParameterInvalid`, "The sequence id of this timeline is not auto generated.", if the schema says `"MANUAL"`
   * and there is no id; `OTSConditionCheckFail`, also for a given id of a message that is not there
   * ({@link TimelineSchema.allowChosen}).
   * @example
   * ```ts
   * await room.store({ from: "ann", text: "hello" });                                 // 1
   * await room.store({ from: "bob", text: "hi" });                                    // 2
   * ```
   */
  store(message: NewMessage<M>, options?: StoreOptions): Promise<SequenceId>;
  /**
   * Stores messages in order, in batches of up to 200 messages and 4 MB. Resolves with a result for each. One that is
   * refused does not stop the others. If the signal aborts, the first of them may be stored.
   *
   * @example
   * ```ts
   * const results = await room.batchStore([{ message: { from: "ann", text: "one" } }, { message: { from: "ann", text: "two" } }]);
   * for (const { ok, sequenceId, error } of results) console.log(ok ? sequenceId : error.message);
   * ```
   */
  batchStore(entries: readonly NewEntry<M>[], options?: CallOptions): Promise<StoreResult[]>;
  /**
   * Takes a message and stores it without waiting. Returns `undefined` or, if too much is on its way, a promise to await
   * before the next message; that promise never rejects. {@link TimelineStore.flush} and {@link TimelineStore.close} tell
   * what was not stored: call one of them. Throws if the arguments are wrong or the store is closed; the message is not
   * taken then.
   *
   * @example
   * ```ts
   * for (const text of ["one", "two", "three"]) {
   *   const wait = room.storeAsync({ from: "ann", text });
   *   if (wait) await wait;
   * }
   * await room.flush();                                       // all of them are stored
   * ```
   */
  storeAsync(message: NewMessage<M>, options?: { readonly sequenceId?: SequenceId | undefined }): undefined | Promise<void>;
  /**
   * Puts fields of a message; its other fields stay. If there is none, it is created where ids may be chosen and no condition forbids
   * it, and else refused.
   *
   * @throws `OTSConditionCheckFail`; `OTSParameterInvalid` without a field.
   * @example
   * ```ts
   * const id = await room.store({ from: "ann", text: "helo" });
   * await room.update(id, { text: "hello" }, { condition: { rowExistence: "EXPECT_EXIST" } });
   * ```
   */
  update(sequenceId: SequenceId, fields: Partial<NewMessage<M>>, options?: ConditionOptions): Promise<void>;
  /** The message of an id; `null` if there is none. */
  get(sequenceId: SequenceId, options?: CallOptions): Promise<TimelineEntry<M> | null>;
  /** Deletes the message of an id, if there is one. @throws `OTSConditionCheckFail`. */
  delete(sequenceId: SequenceId, options?: ConditionOptions): Promise<void>;
  /** The id of the last message; 0 if the timeline is empty. */
  getLatestSequenceId(options?: CallOptions): Promise<SequenceId>;
  /** The last message; `null` if the timeline is empty. */
  getLatestTimelineEntry(options?: CallOptions): Promise<TimelineEntry<M> | null>;
  /**
   * Messages by ascending ids. They are read page by page as the loop goes on; each page is one instant. Wrong options
   * reject the first step.
   *
   * @example
   * ```ts
   * let seen: number | bigint = 0;
   * for await (const { sequenceId, message } of room.scanForward({ after: seen, maxCount: Infinity })) {
   *   console.log(message.from, message.text);
   *   seen = sequenceId;
   * }
   * ```
   */
  scanForward(options?: ScanOptions): AsyncIterableIterator<TimelineEntry<M>>;
  /**
   * Messages by descending ids, otherwise as {@link TimelineQueue.scanForward}.
   *
   * @example
   * ```ts
   * for await (const { message } of room.scanBackward({ maxCount: 20 })) console.log(message.text);   // the last 20
   * ```
   */
  scanBackward(options?: ScanOptions): AsyncIterableIterator<TimelineEntry<M>>;
  /**
   * One page of messages, and the token of the next one.
   *
   * @throws `OTSParameterInvalid` for a token that is none.
   * @example
   * ```ts
   * const last = await room.page({ direction: "BACKWARD", maxCount: 20 });
   * const older = last.token === null ? undefined : await room.page({ token: last.token, maxCount: 20 });
   * ```
   */
  page(options?: PageOptions): Promise<TimelinePage<M>>;
  /** {@link TimelineStore.flush}: the timelines of a store write together. */
  flush(): Promise<void>;
}

/** The timelines of one table. */
export interface TimelineStore<M> {
  /** The table. */
  readonly tableName: string;
  /**
   * Makes the table if there is none. Resolves if it is there with the schema's key and, if the schema gives one, its time
   * to live.
   *
   * @throws `OTSObjectAlreadyExist` if the table is another one: its hint tells both keys, or both times to live.
   */
  prepareTables(options?: CallOptions): Promise<void>;
  /** Deletes the table with all timelines, if there is one. */
  dropAllTables(options?: CallOptions): Promise<void>;
  /** A timeline; nothing is stored by this. @throws `OTSParameterInvalid` for an identifier that the schema does not have. */
  createTimelineQueue(identifier: TimelineIdentifier): TimelineQueue<M>;
  /**
   * Stores one message in many timelines, in batches of up to 200 timelines and 4 MB: the write of a sync queue [L3].
   * Resolves with a result for each receiver, in order. One that fails does not stop the others; call again with those.
   *
   * @example
   * ```ts
   * const results = await inboxes.fanOut([{ user: "ann" }, { user: "bob" }], { from: "eve", text: "hello" });
   * const again = results.flatMap(({ ok, identifier }) => ok ? [] : [identifier]);
   * ```
   */
  fanOut(
    identifiers: Iterable<TimelineIdentifier>,
    message: NewMessage<M>,
    options?: CallOptions & { readonly sequenceId?: SequenceId | undefined },
  ): Promise<FanOutResult[]>;
  /**
   * Resolves when all messages that {@link TimelineQueue.storeAsync} has taken are stored.
   *
   * @throws `WriterError` if some are not stored: `failures` has their places among the messages since the last flush, and
   * why.
   */
  flush(): Promise<void>;
  /** Flushes, and takes no more messages by `storeAsync`. The database stays open. @throws as {@link TimelineStore.flush}. */
  close(): Promise<void>;
}

/** The metas of timelines: one set of fields for each identifier, in one table [L1]. Errors are as in {@link TimelineQueue}. */
export interface TimelineMetaStore<M> {
  /** The table. */
  readonly tableName: string;
  /**
   * Makes the table with its indexes if there is none. If it is there, defined columns and indexes that it lacks are added,
   * and built over its metas. Resolves when they can be searched.
   *
   * @throws `OTSObjectAlreadyExist` if the table has another key, a defined column another type, or an index other columns.
   */
  prepareTables(options?: CallOptions): Promise<void>;
  /** Deletes the table with its indexes, if there is one. */
  dropAllTables(options?: CallOptions): Promise<void>;
  /** The meta of a timeline; `null` if there is none. */
  read(identifier: TimelineIdentifier, options?: CallOptions): Promise<M | null>;
  /**
   * Stores a meta. Replaces the whole one that is there.
   *
   * @example
   * ```ts
   * await rooms.insert({ room: "lobby" }, { owner: "ann", title: "The lobby", members: ["ann", "bob"] });
   * ```
   */
  insert(identifier: TimelineIdentifier, meta: NewMessage<M>, options?: ConditionOptions): Promise<void>;
  /** Puts fields of a meta; the others stay. Creates it if there is none, unless a condition forbids it. */
  update(identifier: TimelineIdentifier, fields: Partial<NewMessage<M>>, options?: ConditionOptions): Promise<void>;
  /** Deletes a meta, if there is one. Its timeline stays. */
  delete(identifier: TimelineIdentifier, options?: ConditionOptions): Promise<void>;
  /**
   * Finds metas by their fields, through the index that begins with them, in the order of the index. Each found meta is read
   * whole from the table and passes `where` at that moment.
   *
   * @throws `OTSParameterInvalid` if no index begins with these fields: its hint has the index to add.
   * @example
   * ```ts
   * for await (const { identifier, meta } of rooms.search({ where: { owner: "ann" } })) console.log(identifier.room, meta.title);
   * ```
   */
  search(options?: SearchOptions): AsyncIterableIterator<TimelineMeta<M>>;
}

/** Makes stores of timelines on a database. */
export interface Timelines {
  /**
   * A store of timelines. Nothing is read or written by this; call {@link TimelineStore.prepareTables} next.
   *
   * @throws `OTSParameterInvalid` for a wrong schema.
   */
  createTimelineStore<M extends Shape<M> = Fields>(schema: TimelineSchema): TimelineStore<M>;
  /** A store of metas, in the same way. */
  createMetaStore<M extends Shape<M> = Fields>(schema: TimelineMetaSchema): TimelineMetaStore<M>;
}
