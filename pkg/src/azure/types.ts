import type { TabStoreError } from "../index.js";

/**
 * The types of properties, as the service names them without `Edm.` [Z2].
 *
 * | type | in JavaScript | range |
 * |---|---|---|
 * | `String` | string | 32,768 UTF-16 units (64 KiB) |
 * | `Int32` | integral number | -2^31 to 2^31 - 1 |
 * | `Int64` | bigint | -2^63 to 2^63 - 1 |
 * | `Double` | any other number, also NaN and the infinities | |
 * | `Boolean` | boolean | |
 * | `DateTime` | `Date` | years 1601 to 9999; stored in steps of 100 ns, a `Date` has milliseconds |
 * | `Binary` | `Uint8Array` | 64 KiB |
 * | `Guid` | {@link Typed} | |
 */
export type EdmType = "Binary" | "Boolean" | "DateTime" | "Double" | "Guid" | "Int32" | "Int64" | "String";

/** A value with its type and in the service's text. Guids come back like this, and nothing else does. */
export interface Typed<T extends EdmType = EdmType> {
  readonly type: T;
  /** The value as the service writes it: decimal, ISO 8601, base64, `true`, or 8-4-4-4-12 hexadecimal digits. */
  readonly value: string;
}

/**
 * A value with its type, as properties are given one: `{ type: "Guid", value: "…" }`, or `{ type: "Double", value: 3 }` for a number
 * that JavaScript cannot tell from an Int32. A value of JavaScript may stand for the text.
 */
export type TypedValue =
  | Typed
  | { readonly type: "Double" | "Int32"; readonly value: number }
  | { readonly type: "Boolean"; readonly value: boolean }
  | { readonly type: "DateTime"; readonly value: Date };

/** A value that a property can be given. `null` is stored as no property; a merge leaves a property alone that is null. */
export type PropertyValue = string | number | bigint | boolean | Date | Uint8Array | TypedValue | null | undefined;

/** The keys of an entity: strings of at most 1,024 UTF-16 units without `/ \ # ?` and control characters; they may be empty. */
export interface EntityKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/**
 * An entity to be written: its keys, and at most 252 properties with names of at most 255 characters. `timestamp` and `etag`
 * are left out of what is stored, so an entity that was read can be written back. A Double that is integral then becomes an Int32,
 * and a DateTime loses what is below a millisecond, because JavaScript does not have them: give a {@link TypedValue} to keep them.
 */
export type Entity<T extends object = Record<string, unknown>> = EntityKey & T;

/** An entity as it is read. */
export type StoredEntity<T extends object = Record<string, unknown>> = EntityKey &
  T & {
    /** Its version, to be given to an update or a delete. */
    readonly etag: string;
    /** The time of its last change, in UTC with steps of 100 ns, such as `2026-11-25T08:00:00.1234567Z`. */
    readonly timestamp: string;
  };

/** The properties of an entity of which some are read: the others are missing, and those that it lacks are null. */
export type Selected<T extends object> = { [K in keyof T]?: T[K] | null };

/** The choice of properties to be read. */
export interface Selecting {
  readonly select: readonly string[];
}

/** How an entity is changed: `Merge` keeps the properties that are not given, `Replace` removes them. */
export type UpdateMode = "Merge" | "Replace";

/** The options of a call. */
export interface CallOptions {
  /** Gives the call up. A write may still be done. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a change of one entity that is there. */
export interface MatchOptions extends CallOptions {
  /** The version that the entity must have; `*`, the default, is any. */
  readonly etag?: string | undefined;
}

/** The answer to a write. */
export interface EntityWritten {
  /** The new version of the entity. */
  readonly etag: string;
}

/** The options of {@link AzureTable.getEntity}. */
export interface GetEntityOptions extends CallOptions {
  /** The properties to be read, beside the keys, `timestamp` and `etag`. One that the entity lacks is read as null. */
  readonly select?: readonly string[] | undefined;
}

/** Which entities are read [Z3]. */
export interface ListEntitiesOptions extends GetEntityOptions {
  /**
   * A filter of the service, such as `PartitionKey eq 'sea' and Size gt 3`, of at most 15 comparisons. {@link odata} writes
   * values into one. Bounds of both keys become ranges; the rest is decided entity by entity.
   */
  readonly filter?: string | undefined;
  /** The entities of a page: 1 to 1,000, which is the default. */
  readonly pageSize?: number | undefined;
}

/** A page of entities. */
export interface EntityPage<T extends object = Record<string, unknown>> {
  /** The entities, by partition key and row key in the order of UTF-16 units. A page may be empty and not be the last one. */
  readonly entities: StoredEntity<T>[];
  /** The start of the next page; `undefined` on the last one. */
  readonly continuation: string | undefined;
}

/** An action of a transaction: its kind, the entity or its key, and as in the call for one entity the mode and the version. */
export type TransactionAction<T extends object = Record<string, unknown>> =
  | readonly ["create", Entity<T>]
  | readonly ["update", Entity<Partial<T>>, UpdateMode?, MatchOptions?]
  | readonly ["upsert", Entity<Partial<T>>, UpdateMode?]
  | readonly ["delete", EntityKey, MatchOptions?];

/** The error of a transaction: the first action that failed. No action was done. */
export interface TransactionError extends TabStoreError {
  /**
   * The place of the action, from 0. It is `undefined` if no single action is at fault: the transaction is larger than 4 MiB
   * (`RequestBodyTooLarge`, 413), it is too much for a second (`ServerBusy`, 503), the disk is full (`InsufficientStorage`, 507),
   * or the error is none of the service (`OTSParameterInvalid` for a wrong argument, `Closed`, …).
   */
  readonly index: number | undefined;
}

/** The stream of a table [ST1]. */
export interface EntityStreamOptions extends CallOptions {
  /** How long changes are kept, in hours: 1 to 168. */
  readonly expirationHours: number;
  /**
   * The properties whose old values changes have too; none by default. Each of `timestamp`, `etag` and `Timestamp` stands for
   * `timestamp` and `etag`. The keys are refused: every change has them.
   */
  readonly originColumns?: readonly string[] | undefined;
}

/** Which changes are read. */
export interface EntityChangesOptions extends CallOptions {
  /**
   * Where to begin: `"oldest"` (the default), `"latest"`, a time (milliseconds since 1970 UTC), or the `token` of a change, to go
   * on behind it, also after a reload.
   */
  readonly from?: string | number | undefined;
  /** `true`: end after the changes that exist now. `false`, the default: wait for more. */
  readonly once?: boolean | undefined;
  /** Ends the reader with its reason, which the loop throws. `break` ends it too. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A change of an entity, as a stream has recorded it [ST2]. The changes of a partition come in the order in which they were made.
 * Those of one transaction come one by one, and nothing marks them as one.
 *
 * Values are what a read of the entity gives. So a Double that is integral comes as the number of an Int32, and a DateTime loses
 * what is below a millisecond. If you write such values elsewhere, they are stored so: see {@link Entity}.
 */
export interface EntityRecord<T extends object = Record<string, unknown>> {
  /** `"PUT"`: the entity has these properties and no others. `"UPDATE"`: a merge gave it these. `"DELETE"`: it is gone. */
  readonly type: "PUT" | "UPDATE" | "DELETE";
  /**
   * Its keys, and what was written, with `etag` and `timestamp`: all properties of a `"PUT"`, the merged ones alone of an
   * `"UPDATE"`. A `"DELETE"` has the keys alone.
   */
  readonly entity: EntityKey & Partial<T> & { readonly etag?: string; readonly timestamp?: string };
  /** The values before the change, of the properties in `originColumns`. */
  readonly original: Partial<T> & { readonly etag?: string; readonly timestamp?: string };
  /** When it was recorded, milliseconds since 1970 UTC. */
  readonly recorded: number;
  /** Ascends in a partition. */
  readonly sequence: number;
}

/** A change of an entity, as {@link AzureTable.changes} gives it [ST2]. */
export interface EntityChange<T extends object = Record<string, unknown>> extends EntityRecord<T> {
  /** The place behind this change, for `from`. It is made when it is read. */
  readonly token: string;
}

/** Tables of an account. */
export interface AzureAccount {
  /** The account's name, in lower case. */
  readonly name: string;
  /**
   * Makes a table. Names are 3 to 63 letters and digits, the first one a letter; case does not distinguish them.
   *
   * @throws `TableAlreadyExists`, `InvalidResourceName`, `OutOfRangeInput`.
   */
  createTable<T extends object = Record<string, unknown>>(name: string, options?: CallOptions): Promise<AzureTable<T>>;
  /**
   * Deletes a table and its entities.
   *
   * @throws `ResourceNotFound`.
   */
  deleteTable(name: string, options?: CallOptions): Promise<void>;
  /** The names of the tables, in their order. `filter` is one on `TableName`. */
  listTables(options?: CallOptions & { readonly filter?: string | undefined }): AsyncIterableIterator<string>;
  /** A table, there or not. Nothing is asked by this. */
  table<T extends object = Record<string, unknown>>(name: string): AzureTable<T>;
}

/**
 * Entities of a table [Z1], [Z2], [Z3].
 *
 * Each method rejects with a `TabStoreError` that has the code of the service: `TableNotFound`; `InvalidInput`,
 * `OutOfRangeInput`, `PropertyNameInvalid`, `PropertyValueTooLarge`, `EntityTooLarge` (1 MiB), `TooManyProperties` for what is
 * given; `ServerBusy` (503) over the limit of `throttle`, `InsufficientStorage` (507) on a full disk; and the codes that are named
 * with the method. The service has no streams, so `enableStream`, `disableStream` and `changes` have the codes of the database's own
 * streams: `OTSObjectNotExist`, `OTSParameterInvalid` and `OTSTrimmedDataAccess`.
 */
export interface AzureTable<T extends object = Record<string, unknown>> {
  /** Its name, as it was given. */
  readonly name: string;
  /**
   * Stores a new entity.
   *
   * @throws `EntityAlreadyExists`.
   */
  createEntity(entity: Entity<T>, options?: CallOptions): Promise<EntityWritten>;
  /**
   * Reads chosen properties of an entity.
   *
   * @throws `ResourceNotFound`.
   */
  getEntity(partitionKey: string, rowKey: string, options: GetEntityOptions & Selecting): Promise<StoredEntity<Selected<T>>>;
  /**
   * Reads an entity.
   *
   * @throws `ResourceNotFound`.
   */
  getEntity(partitionKey: string, rowKey: string, options?: GetEntityOptions): Promise<StoredEntity<T>>;
  /**
   * Changes an entity that is there.
   *
   * @throws `ResourceNotFound`; `UpdateConditionNotSatisfied` if it has another version.
   */
  updateEntity(entity: Entity<Partial<T>>, mode?: UpdateMode, options?: MatchOptions): Promise<EntityWritten>;
  /** Changes an entity, or stores it if it is not there. */
  upsertEntity(entity: Entity<Partial<T>>, mode?: UpdateMode, options?: CallOptions): Promise<EntityWritten>;
  /**
   * Deletes an entity.
   *
   * @throws `ResourceNotFound`; `UpdateConditionNotSatisfied` if it has another version.
   */
  deleteEntity(partitionKey: string, rowKey: string, options?: MatchOptions): Promise<void>;
  /** Reads chosen properties of entities, as below. */
  listEntities(options: ListEntitiesOptions & Selecting): AsyncIterableIterator<StoredEntity<Selected<T>>>;
  /** Reads entities one after another. Entities that are deleted meanwhile disturb nothing. */
  listEntities(options?: ListEntitiesOptions): AsyncIterableIterator<StoredEntity<T>>;
  /** Reads one page of chosen properties, as below. */
  listPage(options: ListEntitiesOptions & Selecting & { readonly continuation?: string | undefined }): Promise<EntityPage<Selected<T>>>;
  /** Reads one page of them, from the `continuation` of the page before on. */
  listPage(options?: ListEntitiesOptions & { readonly continuation?: string | undefined }): Promise<EntityPage<T>>;
  /**
   * Does 1 to 100 actions on entities of one partition, all or none. Each entity comes once. Together they have at most 4 MiB.
   * The answers are in the order of the actions; a delete's has no version.
   *
   * @throws {@link TransactionError}.
   */
  submitTransaction(actions: readonly TransactionAction<T>[], options?: CallOptions): Promise<{ readonly etag: string | undefined }[]>;
  /**
   * Records changes from now on, or changes what is recorded [ST1]. The service has no streams: this is ours. A stream is the one of
   * the database, which `db.listStream()` names with the table `account/table`.
   *
   * @throws `OTSObjectNotExist` without the table; `OTSParameterInvalid` for wrong hours or names.
   */
  enableStream(options: EntityStreamOptions): Promise<void>;
  /**
   * Records no more changes, and drops those that are recorded.
   *
   * @throws `OTSObjectNotExist` without the table.
   */
  disableStream(options?: CallOptions): Promise<void>;
  /**
   * Reads changes of entities [ST2], [ST3]. Those of a partition come in the order in which they were made.
   *
   * @throws `OTSObjectNotExist` without a table or a stream. `OTSTrimmedDataAccess` if changes behind `from` are gone: they have
   * expired, or the token is from before `disableStream`, or of a table of that name that was deleted. Then note the time, read the
   * table, and go on from that time. `OTSParameterInvalid` for a wrong argument. The signal's reason.
   */
  changes(options?: EntityChangesOptions): AsyncIterableIterator<EntityChange<T>>;
}

/** Who may use an {@link azureHttpClient} [I6]. */
export interface HttpClientOptions {
  /** `off`: every request passes. */
  readonly auth?: "off" | undefined;
  /** The secret of an access key of the instance: requests pass as if they were signed with it. */
  readonly key?: string | undefined;
}

/** A request, as the clients of Azure give it to an HTTP client. */
export interface HttpRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body?: unknown;
  /** In milliseconds; 0 is none. */
  readonly timeout?: number;
  readonly abortSignal?: HttpAbortSignal | undefined;
}

/** The part of an `AbortSignal` that is used. */
export interface HttpAbortSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The headers of a response. Their names have any case. */
export interface HttpHeaders extends Iterable<[string, string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  set(name: string, value: string | number | boolean): void;
  delete(name: string): void;
  toJSON(options?: { preserveCase?: boolean }): Record<string, string>;
}

/** A response, as the clients of Azure take it. */
export interface HttpResponse<R extends HttpRequest> {
  readonly request: R;
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly bodyAsText: string;
}

/** An HTTP client that asks the engine and no network. */
export interface AzureHttpClient {
  sendRequest<R extends HttpRequest>(request: R): Promise<HttpResponse<R>>;
}
