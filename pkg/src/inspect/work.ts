/** Background work: what was done and why, and by hand what is next. */

import type { Client } from "../client/client.js";
import { checkArguments, count } from "../codec/check.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { SIGNAL, signalOf } from "../client/signals.js";
import type { CallOptions } from "../types/data.js";
import type { GetWorkEventsResult, StepResult, WorkEvent, WorkEventsRequest } from "../types/inspect.js";
import { withIntegers } from "./integers.js";

const EVENTS = new Set(["position", "signal"]);

function checked(request: WorkEventsRequest, what: string): { position: number; call: CallOptions } {
  const given = checkArguments<WorkEventsRequest>(request, EVENTS, what);
  const { position = 0 } = given;
  count(position, "position", 0);
  return { position, call: { signal: signalOf(given) } };
}

/** Asks the engine. The keys in its answer have their integers as the caller wants them. */
const ask = async <T>(client: Client, op: AdminOperation, args: object, call: CallOptions): Promise<T> =>
  withIntegers(await client.admin<T>(op, args, call), client);

/** The implementation of {@link Database.getWorkEvents}. */
export async function getWorkEvents(client: Client, request: WorkEventsRequest = {}): Promise<GetWorkEventsResult> {
  const { position, call } = checked(request, "getWorkEvents");
  return ask(client, "getWorkEvents", { position }, call);
}

/** The implementation of {@link Database.workEvents}. */
export async function* followWork(client: Client, request: WorkEventsRequest = {}): AsyncGenerator<WorkEvent, void, undefined> {
  const { position, call } = checked(request, "workEvents");
  for (let next = position; ; ) {
    const found = await ask<GetWorkEventsResult>(client, "awaitWorkEvents", { position: next }, call);
    next = found.position;
    yield* found.events;
  }
}

/** The implementation of {@link Database.pauseWork}. */
export async function pauseWork(client: Client, options: CallOptions = {}): Promise<StepResult> {
  return ask(client, "pauseWork", {}, checkArguments(options, SIGNAL, "pauseWork"));
}

/** The implementation of {@link Database.resumeWork}. */
export async function resumeWork(client: Client, options: CallOptions = {}): Promise<void> {
  await client.admin("resumeWork", {}, checkArguments(options, SIGNAL, "resumeWork"));
}

/** The implementation of {@link Database.stepWork}. */
export async function stepWork(client: Client, options: CallOptions = {}): Promise<StepResult> {
  return ask(client, "stepWork", {}, checkArguments(options, SIGNAL, "stepWork"));
}
