/** A store of timelines: its table, and messages for many timelines at once. */

import type { CallOptions } from "../index.js";
import type { Host } from "./check.js";
import { FieldCodec } from "./fields.js";
import { drop, IdentifierCodec, prepare } from "./keys.js";
import { idOf, Queue, rowOf, type Shared, SIGNAL } from "./queue.js";
import type { FanOutResult, NewMessage, SequenceId, TimelineIdentifier, TimelineQueue, TimelineSchema, TimelineStore } from "./types.js";
import { Background, type NewRow, putAll } from "./writes.js";

const SCHEMA = ["tableName", "identifier", "sequenceIdColumn", "sequenceIdGeneration", "allowChosen", "timeToLive", "lists"];

/** Batches of a fan-out under way at once: each receiver has an order of its own. */
const AT_ONCE = 4;

/** A {@link TimelineStore}. */
export class Store<M> implements TimelineStore<M> {
  readonly tableName: string;
  private readonly identifiers: IdentifierCodec;
  private readonly shared: Shared;
  private readonly timeToLive: number | undefined;
  private readonly allowChosen: boolean;

  constructor(
    private readonly host: Host,
    schema: TimelineSchema,
  ) {
    const {
      tableName,
      identifier,
      sequenceIdColumn: column = "sequence_id",
      sequenceIdGeneration: generation = "AUTO_INCREMENT",
      allowChosen = false,
      timeToLive,
      lists,
    } = host.options(schema ?? null, SCHEMA, "schema");
    host.text(tableName, "tableName");
    host.text(column, "sequenceIdColumn");
    host.check(generation, ["AUTO_INCREMENT", "MANUAL"], "sequenceIdGeneration");
    if (typeof allowChosen !== "boolean") throw host.wrong("allowChosen", typeof allowChosen, "true or false");
    this.tableName = tableName;
    // A key has four columns, and the last one is the id.
    this.identifiers = new IdentifierCodec(host, tableName, identifier, 3);
    if (this.identifiers.columns.some(({ name }) => name === column))
      throw host.error("OTSParameterInvalid", `The column '${column}' of '${tableName}' is the sequence id and a part of the identifier.`);
    this.timeToLive = timeToLive;
    this.allowChosen = allowChosen;
    this.shared = {
      host,
      tableName,
      column,
      manual: generation === "MANUAL",
      fields: new FieldCodec(host, lists),
      background: new Background(host, tableName),
    };
  }

  async prepareTables(options?: CallOptions): Promise<void> {
    const { column: name, manual } = this.shared;
    const sequence = { name, type: "INTEGER" as const, autoIncrement: !manual, allowChosen: !manual && this.allowChosen };
    const request = { tableName: this.tableName, primaryKey: [...this.identifiers.columns, sequence], timeToLive: this.timeToLive, maxVersions: 1 };
    await prepare(this.host, request, this.host.options(options, SIGNAL, "prepareTables"));
  }

  async dropAllTables(options?: CallOptions): Promise<void> {
    await drop(this.host, this.tableName, this.host.options(options, SIGNAL, "dropAllTables"));
  }

  createTimelineQueue(identifier: TimelineIdentifier): TimelineQueue<M> {
    return new Queue(this.shared, this.identifiers.take(identifier));
  }

  async fanOut(
    identifiers: Iterable<TimelineIdentifier>,
    message: NewMessage<M>,
    options?: CallOptions & { readonly sequenceId?: SequenceId | undefined },
  ): Promise<FanOutResult[]> {
    const { host, shared } = this;
    const { sequenceId, signal } = host.options(options, ["sequenceId", ...SIGNAL], "fanOut");
    if (typeof (identifiers as Iterable<TimelineIdentifier> | undefined)?.[Symbol.iterator] !== "function" || typeof identifiers === "string")
      throw host.wrong("identifiers", typeof identifiers, "an iterable of identifiers");
    const receivers = [...identifiers];
    // Once, also for the error of a message that fits nobody.
    const { primaryKey: id, attributes } = rowOf(shared, {}, message, sequenceId);
    const rows = receivers.map((identifier, index): NewRow => {
      try {
        return { primaryKey: { ...this.identifiers.take(identifier, `identifiers[${index}]`), ...id }, attributes };
      } catch (error) {
        if (host.isFailure(error)) return error;
        throw error;
      }
    });
    const results = await putAll(host, this.tableName, rows, AT_ONCE, (key) => idOf(shared, key), { signal });
    return results.map((result, index) => ({ ...result, identifier: receivers[index] }));
  }

  flush(): Promise<void> {
    return this.shared.background.flush();
  }

  close(): Promise<void> {
    return this.shared.background.close();
  }
}
