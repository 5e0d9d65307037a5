// The figures as a table, and what they must be.

import { figure, median, times } from "../../browser/lib/statistics.mjs";
import { title, WORKLOADS } from "./workloads.mjs";

/** How many times as long the other one must take, at least. */
const ASKED = 3;
/** How many times as long a workload may take when the table has grown. */
const GROWTH = 2;

/** Less than this cannot be told from nothing, in milliseconds. */
const LEAST = 0.001;
const over = (value, floor) => Math.max(LEAST, value - floor);

/** The medians of a workload, by engine. */
const mediansOf = (samples, name) => Object.fromEntries(Object.entries(samples[name]).map(([engine, values]) => [engine, median(values)]));

/** All times in milliseconds. `sizes` has the samples by the number of entities. */
export function compared(sizes) {
  const head = ["ms", "entities", "client alone", "TabStore", "Azurite", "TabStore − client", "Azurite − client", "Azurite ÷ TabStore", "spread"];
  const [lines, failures, nets] = [[], [], new Map()];
  for (const name of WORKLOADS) {
    for (const [size, samples] of Object.entries(sizes)) {
      const { floor, tabstore, azurite } = mediansOf(samples, name);
      const [ours, theirs] = [over(tabstore, floor), over(azurite, floor)];
      const perRound = samples[name].azurite.map((value, at) => over(value, samples[name].floor[at]) / over(samples[name].tabstore[at], samples[name].floor[at]));
      lines.push([title(name), Number(size).toLocaleString("en"), ...[floor, tabstore, azurite, ours, theirs].map(digits), times(theirs / ours), `${times(Math.min(...perRound))} to ${times(Math.max(...perRound))}`]);
      if (theirs / ours < ASKED) failures.push(`${title(name)} with ${size} entities: Azurite takes ${times(theirs / ours)} as long, asked are ${ASKED}x`);
      nets.set(name, [...(nets.get(name) ?? []), ours]);
    }
    const [first, ...rest] = nets.get(name);
    for (const ours of rest) if (ours > GROWTH * first) failures.push(`${title(name)} takes ${times(ours / first)} as long in the larger table, allowed are ${GROWTH}x`);
  }
  return { head, lines, failures };
}

/** The figures of the page. */
export function durable(sizes) {
  const head = ["ms", "entities", "client alone", "relaxed", "strict", "relaxed − client", "strict − client"];
  const [lines, failures] = [[], []];
  for (const name of WORKLOADS) {
    const nets = [];
    for (const [size, samples] of Object.entries(sizes)) {
      const { floor, relaxed, strict } = mediansOf(samples, name);
      lines.push([title(name), Number(size).toLocaleString("en"), ...[floor, relaxed, strict, over(relaxed, floor), over(strict, floor)].map(digits)]);
      nets.push(over(relaxed, floor));
    }
    for (const net of nets.slice(1)) if (net > GROWTH * nets[0]) failures.push(`${title(name)} takes ${times(net / nets[0])} as long in the larger table of the page, allowed are ${GROWTH}x`);
  }
  return { head, lines, failures };
}

const digits = (value) => (value < 1 ? value.toFixed(3) : figure(value));
