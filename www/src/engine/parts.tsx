/** The parts that the engine's panel is made of. */

import type { ComponentChildren } from "preact";

import { bytes, count, share } from "../lib/format.ts";

/** A group of facts under a title. */
export function Group({ title, children }: { readonly title: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <section class="group">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** A fact: its name and its amount. */
export function Fact({ label, title, children }: { readonly label: string; readonly title?: string; readonly children: ComponentChildren }) {
  return (
    <p class="fact" title={title}>
      <span>{label}</span>
      <span class="fact-value">{children}</span>
    </p>
  );
}

/** Bytes, rounded for people; the exact number stands beside. */
export function Size({ value }: { readonly value: number }) {
  return (
    <data value={value} title={`${count(value)} bytes`}>
      {bytes(value)}
    </data>
  );
}

/** How many. */
export function Count({ value }: { readonly value: number }) {
  return <data value={value}>{count(value)}</data>;
}

/** Bytes in use of bytes that there are. */
export function Gauge({ label, value, most }: { readonly label: string; readonly value: number; readonly most: number }) {
  return (
    <div class="gauge" title={`${label}: ${share(value, most)}`}>
      <Fact label={label}>
        <Size value={value} /> <span class="faint">of {bytes(most)}</span>
      </Fact>
      <meter aria-label={label} min={0} max={Math.max(most, 1)} value={Math.min(value, most)} />
    </div>
  );
}
