/** Something that was changed elsewhere: what is stored now beside what a person wants, part by part. */

import type { ComponentChildren } from "preact";

import type { Difference } from "../lib/differences.ts";
import { count } from "../lib/format.ts";
import { Headings } from "./headings.tsx";

/** The props of the table. */
interface ConflictTableProps<T> {
  /** What the parts are: `Column`. */
  readonly part: string;
  /** The heading of what is wanted: `After your replace`. */
  readonly wish: string;
  readonly differences: readonly Difference<T>[];
  /** Whether the two sides look different. */
  readonly differs: (one: Difference<T>) => boolean;
  readonly cell: (value: T) => ComponentChildren;
}

/** Of more parts only those are shown that a person has to see. */
const MOST_ALIKE = 60;

/** The table. */
export function ConflictTable<T>({ part, wish, differences, differs, cell }: ConflictTableProps<T>) {
  const rows = differences.length > MOST_ALIKE ? differences.filter((one) => one.changed || differs(one)) : differences;
  const hidden = differences.length - rows.length;
  const draw = (value: T | undefined) => (value === undefined ? <span class="none">none</span> : cell(value));
  return (
    <>
      <div class="grid-scroll">
        {/* On a phone the name stands above both values, and then only the roles say that it is a table. */}
        <table class="grid conflict" role="table">
          <Headings titles={[part, "Stored now", wish]} />
          <tbody role="rowgroup">
            {rows.map((one) => (
              <tr key={one.name} role="row" class={differs(one) ? "differs" : ""}>
                <th role="rowheader" scope="row">
                  {one.name}
                  {one.changed && <span class="tag caution">changed elsewhere</span>}
                </th>
                <td role="cell" class="whole">
                  {draw(one.now)}
                </td>
                <td role="cell" class="whole">
                  {draw(one.wanted)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {hidden > 0 && <p class="hint">The other {count(hidden)} are the same on both sides.</p>}
    </>
  );
}
