/** Which part of the table is read, and in which direction. */

import { useEffect, useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import type { Direction } from "../lib/keys.ts";
import { route } from "../state/route.ts";
import { Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";

/** The props of the bar. */
interface RangeBarProps {
  readonly table: TableDescription;
  readonly onApply: (order: Direction, start: readonly string[], end: readonly string[]) => void;
  readonly onRefresh: () => void;
  /** Puts a row; an index takes none. */
  readonly onPut: (() => void) | undefined;
}

const NOTES = { start: "included", end: "not included" } as const;

/** The bar. Typed text counts when it is applied: by Enter, or by the button. */
export function RangeBar({ table, onApply, onRefresh, onPut }: RangeBarProps) {
  const { order = "FORWARD", start = [], end = [] } = route.value;
  const said = JSON.stringify([start, end]);
  const [typed, setTyped] = useState({ start, end });
  // The address may change without us: by the back button, or when another range is applied.
  useEffect(() => setTyped({ start, end }), [said]);
  const columns = table.primaryKey;
  const apply = (direction: Direction, texts = typed) => onApply(direction, texts.start, texts.end);
  const ends = (side: "start" | "end") => {
    const open = (side === "start") === (order === "FORWARD") ? "INF_MIN" : "INF_MAX";
    return (
      <fieldset class="range-end">
        <legend>
          {side === "start" ? "Start" : "End"} <span class="faint">{NOTES[side]}</span>
        </legend>
        {columns.map(({ name }, at) => (
          <input
            key={name}
            type="text"
            name={`${side}-${name}`}
            aria-label={`${side === "start" ? "Start" : "End"} of the range, ${name}`}
            value={typed[side][at] ?? ""}
            placeholder={columns.length === 1 ? open : `${name}: ${open}`}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => {
              const text = event.currentTarget.value;
              setTyped({ ...typed, [side]: columns.map((_, place) => (place === at ? text : (typed[side][place] ?? ""))) });
            }}
          />
        ))}
      </fieldset>
    );
  };
  const turn = (direction: Direction) => {
    // The start becomes the end when reading backwards.
    const turned = { start: typed.end, end: typed.start };
    setTyped(turned);
    apply(direction, turned);
  };
  const limited = [...start, ...end].some((text) => text !== "");
  return (
    <form
      class="range-bar"
      onSubmit={(event) => {
        event.preventDefault();
        apply(order);
      }}
    >
      <fieldset class="range-end">
        <legend>Direction</legend>
        <Select
          label="Direction"
          value={order}
          onChange={turn}
          options={[
            ["FORWARD", "Forward"],
            ["BACKWARD", "Backward"],
          ]}
        />
      </fieldset>
      {ends("start")}
      {ends("end")}
      <div class="row range-actions">
        <button type="submit" class="button">
          Apply range
        </button>
        {limited && (
          <button type="button" class="button quiet" onClick={() => onApply(order, [], [])}>
            Whole table
          </button>
        )}
      </div>
      <div class="row range-actions push">
        <button type="button" class="button square" aria-label="Read again" title="Read again" onClick={onRefresh}>
          <Icon name="refresh" />
        </button>
        {onPut !== undefined && (
          <button type="button" class="button primary" onClick={onPut}>
            <Icon name="add" /> Put row
          </button>
        )}
      </div>
    </form>
  );
}
