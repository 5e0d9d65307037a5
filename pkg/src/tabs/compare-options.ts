/**
 * Compares the options of an opener with those of an engine that runs already, maybe in a tab with another release.
 *
 * Only options that the opener gave are compared, each with the value that is in force: releases may have other defaults.
 * What the opener left out agrees with anything, so an option that only the engine's release knows does no harm. One that
 * only the opener's release knows is refused: the engine does not do it. `salvage` alone is not shared with those that left it
 * out. `create`, `guest`, `lost`, `storage`, `integers`, `retry`, `wasm` and `signal` are each opener's own (`SHARED` in options.ts).
 */

import type { AdminOperation } from "../codec/contract-administration.js";
import { shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { Client } from "../client/client.js";
import type { EngineOptions, Opening } from "../host/host.js";
import type { Metrics } from "../types/metrics.js";
import type { Given } from "../open/options.js";

/** Options that metrics tell. They depend on the kind, which is stored. */
const FIGURES: Readonly<Record<string, (metrics: Metrics) => unknown>> = {
  kind: ({ kind }) => kind,
  cacheBytes: ({ cache }) => cache.capacity,
  memtableBytes: ({ memtable }) => memtable.budget,
  reserveBytes: ({ reserve }) => reserve.capacity,
};

/** The path of the clock. */
const CLOCK = "clock.now";

function equal(one: unknown, other: unknown): boolean {
  return one === other || (typeof one !== "function" && typeof other !== "function" && String(one) === String(other));
}

function told(value: unknown): string {
  return value === undefined ? "the default" : typeof value === "function" ? "another function" : shown(value);
}

/** The options of the next leader: those of this one, as far as they can go along. `own` are those that the next one was given. */
function inherit(options: EngineOptions, own: EngineOptions): EngineOptions {
  // A function of another tab is not to be had.
  const { clock } = "clock.now" in options.given ? options : { clock: undefined };
  // What has been lost meanwhile is not created anew, without data. A leader of another release may lack options.
  return { ...own, ...options, clock, name: own.name, place: own.place, client: own.client, guest: own.guest, create: false, lost: "refuse" };
}

/** The value of an option by its path, as the engine was opened. */
function optionOf(has: EngineOptions, path: string): unknown {
  return has.given[path] ?? path.split(".").reduce<unknown>((value, name) => (value as Given | undefined)?.[name], has);
}

/**
 * Whether the engine of guests gives way to this opener: it has an option that the opener has not given, or another value than the
 * opener wants, which `isRefused` says. It never gives way to a clock: what the guests have stored has the times of theirs. `ask` asks
 * the leader; one of an older release knows no guests, and refuses that.
 */
async function giveWay(wanted: Given, has: EngineOptions, isRefused: boolean, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean> {
  if (has.salvage || !equal(wanted[CLOCK] ?? optionOf(has, CLOCK), optionOf(has, CLOCK))) return false;
  const isForeign = has.guest && Object.keys(has.given).some((option) => !(option in wanted));
  return (isForeign || isRefused) && (await ask("yield").catch(() => false)) === true;
}

/**
 * Refuses options other than those of the engine. `has` are the options with which the engine was opened, and `metrics` asks
 * for its figures.
 */
export async function agree(instance: string, wanted: Given, has: EngineOptions, metrics: () => Promise<unknown>): Promise<void> {
  // The one option that must not be left out: writes would be refused, and data be missing, without a word.
  if (has.salvage && wanted.salvage !== true) {
    throw invalid(
      `The instance '${instance}' is open already, with salvage: true, so it is read-only.`,
      "Give salvage: true to read what is left of it, or close it first.",
    );
  }
  for (const [option, value] of Object.entries(wanted)) {
    const known = optionOf(has, option);
    if (equal(value, known)) continue;
    const real = FIGURES[option]?.((await metrics()) as Metrics) ?? known;
    if (equal(value, real)) continue;
    const other = real !== undefined || option.split(".")[0] in has ? `with ${told(real)}` : "by a version of TabStore that does not know it";
    throw invalid(
      `The argument '${option}' is ${typeof value === "function" ? "a function" : shown(value)}, but the instance '${instance}' is open already, ${other}.`,
      `Leave '${option}' out to share the open engine as it is, or close it first.`,
    );
  }
}

/** A page's engine that follows another tab. */
interface Follows {
  readonly checked: { readonly engine: EngineOptions; readonly given: Given };
  readonly clients: { get(client: Client): Given | undefined };
  readonly opening: Pick<Opening, "inherit">;
  options: EngineOptions;
  given: Given;
}

/**
 * Compares the options of a handle with those of the leader's engine, and takes the latter for the time when this tab leads. Rejects if
 * they differ. `false`: the leader's guests give way, so this tab opens with its own.
 */
export async function settle(tab: Follows, client: Client, options: EngineOptions, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean> {
  const { worker, ...wanted } = tab.clients.get(client) ?? {};
  const { engine, given } = tab.checked;
  const refusal = await agree(engine.name, wanted, options, () => ask("metrics")).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const isFirst = !client.guest && (await giveWay(wanted, options, refusal !== undefined, ask));
  tab.options = isFirst ? engine : inherit(options, engine);
  tab.given = isFirst ? given : tab.options.given;
  tab.opening.inherit(tab.options);
  if (!isFirst && refusal !== undefined) throw refusal.error;
  return !isFirst;
}
