/** The columns of a row with their versions, newest first. */

import type { Row, UpdateRow, Value } from "tabstore";

import { instant } from "../lib/format.ts";
import { text, typeOf } from "../lib/values.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Heading, Headings, HiddenHeading } from "../ui/headings.tsx";
import { lazily } from "../ui/lazily.tsx";
import { Icon } from "../ui/icon.tsx";
import { useSome } from "../ui/some.tsx";
import { ValueText } from "./value.tsx";

const WholeValue = lazily<{ readonly value: Value; readonly name: string }>(async () => (await import("./whole-value.tsx")).WholeValue);

/** The props of the table. */
interface VersionsProps {
  readonly row: Row;
  readonly editable: boolean;
  readonly onUpdate: (change: Omit<UpdateRow, "primaryKey">) => void;
  /** Shows the history of a column. */
  readonly onHistory: (column: string) => void;
}

/** How many are shown at first. */
const MOST_VERSIONS = 200;

/** Characters of a value that are shown at first. */
const MOST_CHARACTERS = 400;

/** Whether a value is cut. */
function isLong(value: Value): boolean {
  return (typeof value === "string" && value.length > MOST_CHARACTERS) || (value instanceof Uint8Array && value.length * 3 > MOST_CHARACTERS);
}

/** The versions of a row by column, those that are shown of `most` in all. */
function firstVersions(columns: Row["columns"], names: readonly string[], most: number) {
  let left = most;
  return names.flatMap((name) => {
    const cells = (columns[name] ?? []).slice(0, left);
    left -= cells.length;
    return cells.length === 0 ? [] : [{ name, cells }];
  });
}

/** The table. */
export function Versions({ row, editable, onUpdate, onHistory }: VersionsProps) {
  // A row with bytes makes this object anew each time.
  const { columns, columnNames } = row;
  const { shown, more } = useSome(
    columnNames.reduce((sum, name) => sum + (columns[name]?.length ?? 0), 0),
    MOST_VERSIONS,
    "versions",
  );
  if (columnNames.length === 0) return <p class="empty">This row has no attribute columns.</p>;
  return (
    <>
      <div class="grid-scroll">
        {/* On a phone its parts stand below each other, and then only their roles say that it is a table. */}
        <table class="grid versions" role="table">
          <Headings titles={["Column", "Type", "Value"]}>
            <Heading>
              Version <span class="type">milliseconds, and UTC</span>
            </Heading>
            {editable && <HiddenHeading>Actions</HiddenHeading>}
          </Headings>
          <tbody role="rowgroup">
            {firstVersions(columns, columnNames, shown).flatMap(({ name, cells }) =>
              cells.map(({ value, version }, at) => (
                <tr key={`${name} ${version}`} role="row" class={at === 0 ? "newest" : "older"}>
                  {at === 0 && (
                    <th role="rowheader" scope="rowgroup" rowSpan={cells.length}>
                      <span class="row tight">
                        {name}
                        <button
                          type="button"
                          class="button quiet square small"
                          aria-label={`History of ${name}`}
                          title="History"
                          onClick={() => onHistory(name)}
                        >
                          <Icon name="clock" />
                        </button>
                        {editable && (
                          <button
                            type="button"
                            class="button quiet square small"
                            aria-label={`Delete the column ${name} with all its versions`}
                            title="Delete the column"
                            onClick={() => onUpdate({ deleteColumns: [name] })}
                          >
                            <Icon name="remove" />
                          </button>
                        )}
                      </span>
                    </th>
                  )}
                  <td role="cell">
                    <span class="type">{typeOf(value)}</span>
                  </td>
                  <td role="cell" class="whole" title={text(value).slice(0, 2000)}>
                    <ValueText value={value} most={MOST_CHARACTERS} />
                    {isLong(value) && <WholeValue value={value} name={name} />}
                  </td>
                  <td role="cell" class="version">
                    <code>{version}</code> <span class="type">{instant(version)}</span>
                  </td>
                  {editable && (
                    <td role="cell" class="right">
                      <AskFirst
                        label="Delete"
                        about={`Delete the version ${version} of ${name}`}
                        yes="Delete this version"
                        busy={false}
                        onYes={() => onUpdate({ deleteVersions: { [name]: [version] } })}
                      />
                    </td>
                  )}
                </tr>
              )),
            )}
          </tbody>
        </table>
      </div>
      {more}
    </>
  );
}
