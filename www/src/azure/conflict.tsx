/** A change that was refused because somebody else has changed the entity: what is stored now, beside what was wanted. */

import { asError } from "../lib/ended-call.ts";
import type { Difference } from "../lib/differences.ts";
import { differences, type Entity, type Property, type Wish } from "../lib/entities.ts";
import { ConflictTable } from "../ui/conflict-table.tsx";
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

const differs = ({ now, wanted }: Difference<Property>) => now?.type !== wanted?.type || now?.text !== wanted?.text;

/** What is shown in place of the entity. `read` is the entity as it was read here. */
export function ConflictView({ conflict: { error, wish, now }, read }: { readonly conflict: Conflict; readonly read: Entity }) {
  const { code, message, status } = asError(error);
  const all = differences(read.properties, now.properties, wish);
  return (
    <div class="stack">
      <Banner tone="warning" title="Somebody else has changed this entity">
        <p>
          <code>{code}</code> ({status}) {message}
        </p>
        <p>Nothing was stored: the entity has another ETag than the one that was read.</p>
      </Banner>
      <dl class="etags">
        <dt>ETag that was read</dt>
        <dd>
          <code>{read.etag}</code>
        </dd>
        <dt>ETag now</dt>
        <dd>
          <code>{now.etag}</code>
        </dd>
      </dl>
      <ConflictTable
        part="Property"
        wish={WANTS[wish.mode]}
        differences={all}
        differs={differs}
        cell={(value) => (
          <>
            <PropertyText value={value} most={400} /> <span class="type">{value.type}</span>
          </>
        )}
      />
      <p class="hint">
        Reload shows what is stored, and gives up what was typed here. {wish.mode === "Delete" ? "Delete" : "Overwrite"} sends the request again with the ETag{" "}
        <code>*</code>, which fits whatever is stored.
      </p>
    </div>
  );
}
