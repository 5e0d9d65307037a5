/**
 * How tabs find each other: the messages on the channel of an instance, and those by way of the shared worker.
 *
 * A follower seeks the leader, and the leader answers that it has heard. The follower's port goes by way of the shared
 * worker then. Where there is none, the two have a channel of their own. A new leader says so, and all followers seek it.
 */

import type { ErrorRecord } from "../types/errors.js";
import type { EngineOptions } from "../host/host.js";
import type { PortLike } from "../host/session.js";

/** The version of these messages, and of those between a follower and its session: test/protocol.test.ts notices changes. */
export const PROTOCOL = 5;

/**
 * Followers of another version understand this much. Any script of the origin may say on the channel what it likes, so a listener looks for
 * the number. It does so itself: a function for both sides would be one more file for a page to load.
 */
interface Versioned {
  readonly tabstore: number;
}

/** A follower wants a session. */
export interface Seek extends Versioned {
  readonly kind: "seek";
  readonly client: number;
  /** A later one of the same client has a higher number. */
  readonly number: number;
  /** The number of the worker or page whose end is the follower's end; see `live` in lock.ts. */
  readonly life: number;
  /** Whether a port will come by way of the shared worker. */
  readonly hub: boolean;
  /** Whether it is a guest. Releases before guests say nothing of it. */
  readonly guest?: boolean;
}

/** A follower without a session asks whether the leader lives. */
export interface Ping extends Versioned {
  readonly kind: "ping";
  readonly client: number;
}

/** A message of the leader, or of the next one. */
export type FromLeader = Versioned &
  (
    | { readonly kind: "lead"; readonly leader: number }
    /** A follower takes the lock from a leader that it finds frozen. */
    | { readonly kind: "takeOver"; readonly leader: number }
    /** The answer to a ping. `progress` changes when the leader's storage does something. */
    | { readonly kind: "pong"; readonly leader: number; readonly client: number; readonly progress: number }
    /** `hub` tells whether the shared worker knows the leader. Before it is `ready`, it is still opening the engine. */
    | { readonly kind: "heard"; readonly leader: number; readonly client: number; readonly ready: boolean; readonly hub: boolean }
  );

/** A message to the shared worker: the leader's introduction, or a follower's port for the leader. */
export type ToHub = { readonly lead: string; readonly leader: number } | Introduction;

/** A follower's port for the leader of an instance. */
export interface Introduction {
  readonly follow: string;
  readonly leader: number;
  readonly seek: Seek;
  readonly port: MessagePort;
}

/** What a follower gets with its session. */
export interface Welcome {
  /** The options of the engine, for those that compare theirs, and for the next leader. */
  readonly options: EngineOptions;
  readonly trouble: ErrorRecord | null;
}

/** A message to a follower's session that is no answer. */
export type ToFollower =
  /** The leader ends in order: calls without an answer were not done. */
  | { readonly kind: "bye" }
  | { readonly kind: "pong"; readonly progress: number }
  /** The injected clock was moved: the next leader begins there. */
  | { readonly kind: "clock"; readonly now: number }
  | { readonly kind: "trouble"; readonly error: ErrorRecord | null };

/** Connects to the shared worker, if the host has any. */
export type Connect = () => Promise<PortLike | undefined>;
