/** The calls of a client that has no session for now. */

import type { AdminOperation } from "../codec/contract-administration.js";
import { local, type TabStoreError } from "../types/errors.js";
import type { EngineHost } from "../host/host.js";

/** The refusal of a call that an engine may have done: that of a tab that led, or one that has died for the given reason. */
export const leaderChanged = (instance: string, died?: Error): TabStoreError =>
  local(
    "LeaderChanged",
    `The ${died === undefined ? "tab that led" : "engine of"} the instance '${instance}' has ended. It is not known whether this call was done.`,
    { cause: died, hint: "Read what is stored, then decide whether to call again. The handle goes on with another engine." },
  );

/** An administrative call. */
export interface AdminCall {
  readonly op: AdminOperation;
  readonly args: unknown;
  /** Its number among the client's requests, if it changes something and another tab was asked: it is done once. */
  request?: number | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** They leave in call order, as soon as there is a session. */
export class CallQueue implements EngineHost {
  readonly direct = false;
  readonly follows = true;
  /** Whether an earlier leader may have done some of the calls. */
  isDoubtful = false;
  /** Frames and administrative calls. */
  protected readonly waiting: (Uint8Array | AdminCall)[] = [];

  submit(frame: Uint8Array): void {
    this.waiting.push(frame.slice());
  }

  call(op: AdminOperation, args: unknown, request?: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.waiting.push({ op, args, request, resolve, reject }));
  }

  /** Passes them to a session. */
  moveTo(host: EngineHost): void {
    for (const one of this.waiting.splice(0)) {
      if (one instanceof Uint8Array) host.submit(one);
      else host.call(one.op, one.args, one.request).then(one.resolve, one.reject);
    }
  }

  /** Forgets the frames, whose calls are refused or asked again. */
  dropFrames(): void {
    this.isDoubtful = false;
    const calls = this.waiting.filter((one) => !(one instanceof Uint8Array));
    this.waiting.splice(0, Infinity, ...calls);
  }

  async close(): Promise<void> {
    const closed = local("Closed", "The database was closed while this call was under way.");
    for (const one of this.waiting.splice(0)) if (!(one instanceof Uint8Array)) one.reject(closed);
  }
}
