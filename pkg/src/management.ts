/** The public types of what an instance is watched, charged and guarded by: capacity units, prices, limits, access keys. */

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
   * Capacity units that one partition-key value may use in a clock second; the service's limit is 10,000. What goes over it
   * is refused with `OTSCapacityUnitExhausted`, stores nothing, and is tried again by itself (see {@link RetryOptions}).
   */
  readonly unitsPerSecond?: number | undefined;
  /** Operations on tables in a clock second; the service's limit is 10. */
  readonly tableOperationsPerSecond?: number | undefined;
}

/**
 * When partitions are split and merged [P1]. Both happen by themselves, in the background, between two partition-key values,
 * and no request waits for them or notices. Small sizes make it visible with little data.
 */
export interface PartitionOptions {
  /** A partition that holds more stored bytes is split in halves; 64 MiB unless given. */
  readonly splitBytes?: number | undefined;
  /**
   * Neighbours that together hold fewer stored bytes are merged when little was asked of them for half a minute; a quarter of
   * `splitBytes` unless given, and never more than half of it.
   */
  readonly mergeBytes?: number | undefined;
  /**
   * A partition that is asked for more operations than this in each of three seconds is split where half of them lie before,
   * unless nearly all are about one partition-key value; 20,000 unless given, 0: never.
   */
  readonly splitOperations?: number | undefined;
}

/** What capacity units cost, in any currency [C3]. What is not given is an example that nobody charges. */
export interface Prices {
  /** One unit a second, reserved for an hour, used or not; 0.004 for reads and 0.008 for writes unless given. */
  readonly reserved?: Partial<ReadWrite> | undefined;
  /** 10,000 units above the reserved ones; 0.02 for reads and 0.04 for writes unless given. */
  readonly onDemand?: Partial<ReadWrite> | undefined;
}

/** What {@link Database.computeConsumed} takes. */
export interface ComputeConsumedRequest extends CallOptions {
  /** One table; all of them unless given. */
  readonly tableName?: string | undefined;
  /** From when on, milliseconds since 1970 UTC (included); as far back as is kept unless given. */
  readonly start?: number | undefined;
  /** Until when (not included); now unless given. */
  readonly end?: number | undefined;
  /** By hours UTC (the default; the last 30 days are kept) or by clock seconds (the last hour). */
  readonly period?: "hour" | "second" | undefined;
  /** Other prices than those of `open`. */
  readonly prices?: Prices | undefined;
}

/** Capacity units and what they cost. */
export interface ConsumedUnits {
  /** Reserved units a second; of an hour the average. Paid for whether used or not [C2]. */
  readonly reserved: ReadWrite;
  /** Units used above the reserved ones of their second, summed up. */
  readonly onDemand: ReadWrite;
  /** All units used. */
  readonly consumed: ReadWrite;
  /** What it costs. */
  readonly cost: number;
}

/** The units of one second or hour. */
export interface ConsumedPeriod extends ConsumedUnits {
  /** When it began, milliseconds since 1970 UTC. */
  readonly start: number;
}

/** What {@link Database.computeConsumed} gives. */
export interface ComputeConsumedResult {
  /** The seconds or hours in which anything was reserved or used, the oldest first. */
  readonly periods: readonly ConsumedPeriod[];
  /** All of them together. */
  readonly total: ConsumedPeriod;
}

/** What an access key allows [I6]: reading rows; writing rows; operations on tables and keys. */
export type AccessRight = "read" | "write" | "admin";

/** An access key, without its secret [I6]. Requests that come over a protocol are signed with one. */
export interface AccessKey {
  /** Its name in requests. */
  readonly accessKeyId: string;
  /** What it allows. */
  readonly rights: readonly AccessRight[];
  /** Whether it is taken. */
  readonly enabled: boolean;
  /** When it was created, milliseconds since 1970 UTC. */
  readonly creationTime: number;
}

/** A new access key. The secret is given this once. */
export interface NewAccessKey extends AccessKey {
  /** What requests are signed with. */
  readonly accessKeySecret: string;
}

/** What {@link Database.createAccessKey} takes. */
export interface CreateAccessKeyRequest extends CallOptions {
  /** What it allows. */
  readonly rights: readonly AccessRight[];
}

/** What {@link Database.updateAccessKey} takes. */
export interface UpdateAccessKeyRequest extends CallOptions {
  /** The key. */
  readonly accessKeyId: string;
  /** Whether it is taken from now on. */
  readonly enabled?: boolean | undefined;
  /** What it allows from now on. */
  readonly rights?: readonly AccessRight[] | undefined;
}
