/** The public types for watching, charging and protecting an instance: capacity units, prices, limits, access keys. */

import type { CallOptions } from "./data.js";

/** Amounts of read and write. */
export interface ReadWrite {
  /** For reads. */
  readonly read: number;
  /** For writes. */
  readonly write: number;
}

/** Limits over which requests are refused [C5]. */
export interface Throttle {
  /**
   * Capacity units that one partition-key value may use in a clock second; the service's limit is 10,000. Requests above
   * it are refused with `OTSCapacityUnitExhausted`, store nothing, and are tried again automatically (see {@link
   * RetryOptions}).
   */
  readonly unitsPerSecond?: number | undefined;
  /** Operations on tables in a clock second; the service's limit is 10. */
  readonly tableOperationsPerSecond?: number | undefined;
}

/**
 * Thresholds for splitting and merging partitions [P1]. Both happen automatically, in the background, between two
 * partition-key values. No request waits for them or notices. Small sizes show it with little data.
 */
export interface PartitionOptions {
  /** A partition with more stored bytes is split in halves; default 64 MiB. */
  readonly splitBytes?: number | undefined;
  /**
   * Neighbours that together hold fewer stored bytes are merged if they had little traffic for half a minute. Default a
   * quarter of `splitBytes`, and never more than half of it.
   */
  readonly mergeBytes?: number | undefined;
  /**
   * A partition with more operations than this in each of three seconds is split where half of them lie before, unless
   * nearly all are about one partition-key value. Default 20,000; 0: never.
   */
  readonly splitOperations?: number | undefined;
}

/** The price of capacity units, in any currency [C3]. The defaults are examples that are charged to nobody. */
export interface Prices {
  /** One unit a second, reserved for an hour, used or not; default 0.004 for reads and 0.008 for writes. */
  readonly reserved?: Partial<ReadWrite> | undefined;
  /** 10,000 units above the reserved ones; default 0.02 for reads and 0.04 for writes. */
  readonly onDemand?: Partial<ReadWrite> | undefined;
}

/** The parameters of {@link Database.computeConsumed}. */
export interface ComputeConsumedRequest extends CallOptions {
  /** One table; by default all of them. */
  readonly tableName?: string | undefined;
  /** The start, milliseconds since 1970 UTC (included); by default the oldest that is kept. */
  readonly start?: number | undefined;
  /** The end (not included); by default now. */
  readonly end?: number | undefined;
  /** By hours UTC (the default; the last 30 days are kept) or by clock seconds (the last hour). */
  readonly period?: "hour" | "second" | undefined;
  /** Other prices than those given to `open`. */
  readonly prices?: Prices | undefined;
}

/** Capacity units and their cost. */
export interface ConsumedUnits {
  /**
   * Reserved units a second; for an hour the average. They are paid for, used or not [C2]. In a total these figures are summed up:
   * of hours they are unit-hours, which a price is for.
   */
  readonly reserved: ReadWrite;
  /** Units used above the reserved ones of their second, summed up. */
  readonly onDemand: ReadWrite;
  /** All units used. */
  readonly consumed: ReadWrite;
  /** The cost. */
  readonly cost: number;
}

/** The units of one second or hour. */
export interface ConsumedPeriod extends ConsumedUnits {
  /** The start, milliseconds since 1970 UTC. */
  readonly start: number;
}

/** The result of {@link Database.computeConsumed}. */
export interface ComputeConsumedResult {
  /** The seconds or hours with reserved or used units, the oldest first. */
  readonly periods: readonly ConsumedPeriod[];
  /** All of them together. */
  readonly total: ConsumedPeriod;
}

/** A right of an access key [I6]: read rows; write rows; operate on tables and keys. */
export type AccessRight = "read" | "write" | "admin";

/** An access key, without its secret [I6]. It signs requests that come over a protocol. */
export interface AccessKey {
  /** Its name in requests. */
  readonly accessKeyId: string;
  /** Its rights. */
  readonly rights: readonly AccessRight[];
  /** Whether it is accepted. */
  readonly enabled: boolean;
  /** When it was created, milliseconds since 1970 UTC. */
  readonly creationTime: number;
}

/** A new access key. This is the only time that the secret is returned. */
export interface NewAccessKey extends AccessKey {
  /** The secret that signs requests. */
  readonly accessKeySecret: string;
}

/** The parameters of {@link Database.createAccessKey}. */
export interface CreateAccessKeyRequest extends CallOptions {
  /** Its rights. */
  readonly rights: readonly AccessRight[];
  /**
   * Its id, for clients that know one already: 1 to 64 letters, digits, `.`, `_` and `-`. The secret is given with it. Without both,
   * they are random.
   */
  readonly accessKeyId?: string | undefined;
  /** Its secret: 1 to 128 visible ASCII characters. */
  readonly accessKeySecret?: string | undefined;
}

/** The parameters of {@link Database.updateAccessKey}. */
export interface UpdateAccessKeyRequest extends CallOptions {
  /** The key. */
  readonly accessKeyId: string;
  /** Whether it is accepted from now on. */
  readonly enabled?: boolean | undefined;
  /** Its rights from now on. */
  readonly rights?: readonly AccessRight[] | undefined;
}
