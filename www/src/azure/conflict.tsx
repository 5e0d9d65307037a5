/** A change that was refused because somebody else has changed the entity: what is stored now, beside what was wanted. */

import { type Difference, differences, type Entity, type Property, type Wish } from "../lib/entities.ts";
import { asError } from "../state/calls.ts";
import { Banner } from "../ui/notice.tsx";
import { PropertyText } from "./value.tsx";

/** A refused change. */
export interface Conflict {
  readonly error: unknown;
  readonly wish: Wish;
  /** What is stored now. */
  readonly now: Entity;
}

const WANTS = { Merge: "After your merge", Replace: "After your replace", Delete: "After your delete" } as const;

function Cell({ value }: { readonly value: Property | undefined }) {
  if (value === undefined) return <span class="none">none</span>;
  return <><PropertyText value={value} most={400} /> <span class="type">{value.type}</span></>;
}

const differs = ({ now, wanted }: Difference) => now?.type !== wanted?.type || now?.text !== wanted?.text;

/** What is shown in place of the entity. `read` is the entity as it was read here. */
export function ConflictView({ conflict: { error, wish, now }, read }: { readonly conflict: Conflict; readonly read: Entity }) {
  const { code, message, status } = asError(error);
  const all = differences(read.properties, now.properties, wish);
  return (
    <div class="stack">
      <Banner tone="warning" title="Somebody else has changed this entity">
        <p><code>{code}</code> ({status}) {message}</p>
        <p>Nothing was stored: the entity has another ETag than the one that was read.</p>
      </Banner>
      <dl class="etags">
        <dt>ETag that was read</dt><dd><code>{read.etag}</code></dd>
        <dt>ETag now</dt><dd><code>{now.etag}</code></dd>
      </dl>
      <div class="grid-scroll">
        {/* On a phone the name stands above both values, and then only the roles say that it is a table. */}
        <table class="grid conflict" role="table">
          <thead role="rowgroup"><tr role="row">{["Property", "Stored now", WANTS[wish.mode]].map((heading) => <th key={heading} role="columnheader" scope="col">{heading}</th>)}</tr></thead>
          <tbody role="rowgroup">
            {all.map((one) => (
              <tr key={one.name} role="row" class={differs(one) ? "differs" : ""}>
                <th role="rowheader" scope="row">{one.name}{one.changed && <span class="tag caution">changed elsewhere</span>}</th>
                <td role="cell" class="whole"><Cell value={one.now} /></td>
                <td role="cell" class="whole"><Cell value={one.wanted} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">Reload shows what is stored, and gives up what was typed here. {wish.mode === "Delete" ? "Delete" : "Overwrite"} sends the request again with the ETag <code>*</code>, which fits whatever is stored.</p>
    </div>
  );
}
