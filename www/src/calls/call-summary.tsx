/** A call in one line: operation, subject, cost and time. */

import type { Consumed } from "tabstore";

import { count, elapsed } from "../lib/format.ts";
import type { Call } from "../state/calls.ts";

/** Capacity units, as the product's documents name them. */
export function Units({ consumed }: { readonly consumed: Consumed | undefined }) {
  if (consumed === undefined) return <span class="faint">–</span>;
  return (
    <span class="units">
      <b>{count(consumed.read)}</b> read, <b>{count(consumed.write)}</b> write
    </span>
  );
}

/** The line. */
export function CallSummary({ call }: { readonly call: Call }) {
  return (
    <span class="call-summary">
      <b>{call.operation}</b>{" "}
      {call.error !== undefined ? <span class="wrong">{call.error.code}</span> : call.consumed !== undefined && <Units consumed={call.consumed} />}{" "}
      <span class="faint">{elapsed(call.ms)}</span>
    </span>
  );
}
