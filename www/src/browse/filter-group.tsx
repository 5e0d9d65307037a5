/** A group of conditions in the filter's form, with the groups in it. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { ValueType } from "tabstore";

import { COMPARATORS, type ConditionText, type GroupText, isGroup, NEW_CONDITION, type PartText, takesValue } from "../lib/filters.ts";
import { VALUE_TYPES } from "../lib/values.ts";
import { Check, Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ValueInput } from "./value-input.tsx";

/** What conditions need to know of the table. */
interface KnownTable {
  /** The list of columns to choose from. */
  readonly columns: string;
  readonly typeOf: (column: string) => ValueType | undefined;
}

/** The props of a condition. */
interface ConditionProps extends KnownTable {
  /** Where it stands: `2.1` is the first part of the second one. */
  readonly place: string;
  readonly value: ConditionText;
  readonly onChange: (value: PartText) => void;
  readonly onRemove: () => void;
}

function Condition({ place, value, columns, typeOf, onChange, onRemove }: ConditionProps) {
  const of = (what: string) => `${what} of condition ${place}`;
  const set = (change: Partial<ConditionText>) => onChange({ ...value, ...change });
  const compares = takesValue(value.comparator);
  return (
    <li class="condition">
      <Check checked={value.not} onChange={(not) => set({ not })}>
        not
      </Check>
      <input
        type="text"
        list={columns}
        aria-label={of("Column")}
        value={value.column}
        placeholder="column"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const column = event.currentTarget.value;
          set({ column, type: typeOf(column) ?? value.type });
        }}
      />
      <Select label={of("Comparator")} value={value.comparator} options={COMPARATORS} onChange={(comparator) => set({ comparator })} />
      {compares && (
        <>
          <Select
            label={of("Type")}
            value={value.type}
            options={VALUE_TYPES}
            onChange={(type) => set({ type, text: type === "BOOLEAN" || value.type === "BOOLEAN" ? "" : value.text })}
          />
          <ValueInput label={of("Value")} type={value.type} value={value.text} onInput={(text) => set({ text })} />
          <Check checked={value.keepMissing} onChange={(keepMissing) => set({ keepMissing })}>
            or no such column
          </Check>
        </>
      )}
      <button
        type="button"
        class="button quiet small"
        aria-label={`Group it: condition ${place}`}
        onClick={() => onChange({ any: true, not: false, parts: [value] })}
      >
        Group it
      </button>
      <button type="button" class="button quiet square" aria-label={`Remove condition ${place}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </li>
  );
}

/** The props of a group. */
interface GroupProps extends KnownTable {
  /** Where it stands; empty: it is the whole filter. */
  readonly place: string;
  readonly value: GroupText;
  readonly onChange: (value: GroupText) => void;
  /** Takes it out with all that is in it; none for the whole filter. */
  readonly onRemove?: (() => void) | undefined;
  /** Leaves its parts in its place. */
  readonly onDissolve?: (() => void) | undefined;
}

/** How the parts are joined. */
function Join({ place, value, onChange }: Pick<GroupProps, "place" | "value" | "onChange">) {
  return (
    <>
      <Check checked={value.not} onChange={(not) => onChange({ ...value, not })}>
        {place === "" ? "not" : `not group ${place}`}
      </Check>
      {value.parts.length > 1 && (
        <>
          {place === "" && <span>{value.not ? "Rows that do not meet" : "Rows that meet"}</span>}
          <Select
            label={place === "" ? "How the conditions are joined" : `How the conditions of group ${place} are joined`}
            value={value.any ? "any" : "all"}
            options={[
              ["all", "all of these"],
              ["any", "at least one of these"],
            ]}
            onChange={(join) => onChange({ ...value, any: join === "any" })}
          />
        </>
      )}
    </>
  );
}

/** The group. What is added gets the focus; from what is removed it goes to the button that adds. */
export function FilterGroup({ place, value, columns, typeOf, onChange, onRemove, onDissolve }: GroupProps) {
  const list = useRef<HTMLOListElement>(null);
  const adds = useRef<HTMLButtonElement>(null);
  const before = useRef(value.parts.length);
  const isOurs = useRef(false);
  const { parts } = value;
  useLayoutEffect(() => {
    const isMore = parts.length > before.current;
    before.current = parts.length;
    if (!isOurs.current) return;
    isOurs.current = false;
    (isMore ? list.current?.lastElementChild?.querySelector<HTMLElement>('input[type="text"]') : adds.current)?.focus();
  }, [parts.length]);
  const set = (next: readonly PartText[]) => {
    isOurs.current = true;
    onChange({ ...value, parts: next });
  };
  const replace = (at: number, ...instead: readonly PartText[]) => [...parts.slice(0, at), ...instead, ...parts.slice(at + 1)];
  const inGroup = (what: string) => (place === "" ? what : `${what} in group ${place}`);
  const placeOf = (at: number) => `${place === "" ? "" : `${place}.`}${at + 1}`;
  return (
    <div class={place === "" ? "stack tight" : "stack tight filter-group"} role="group" aria-label={place === "" ? "Conditions" : `Group ${place}`}>
      {(parts.length > 1 || value.not || place !== "") && (
        <div class="row">
          <Join place={place} value={value} onChange={onChange} />
          {onDissolve !== undefined && (
            <button type="button" class="button quiet small push" aria-label={`Dissolve group ${place}`} title="Its conditions stay" onClick={onDissolve}>
              Dissolve
            </button>
          )}
          {onRemove !== undefined && (
            <button type="button" class="button quiet square" aria-label={`Remove group ${place}`} onClick={onRemove}>
              <Icon name="close" />
            </button>
          )}
        </div>
      )}
      <ol ref={list} class="conditions">
        {parts.map((part, at) => {
          const shared = { place: placeOf(at), columns, typeOf, onRemove: () => set(replace(at)) };
          const change = (one: PartText) => onChange({ ...value, parts: replace(at, one) });
          return isGroup(part) ? (
            <li key={at}>
              <FilterGroup {...shared} value={part} onChange={change} onDissolve={() => set(replace(at, ...part.parts))} />
            </li>
          ) : (
            <Condition key={at} {...shared} value={part} onChange={change} />
          );
        })}
      </ol>
      <div class="row">
        <button ref={adds} type="button" class="button small" aria-label={inGroup("Condition")} onClick={() => set([...parts, NEW_CONDITION])}>
          <Icon name="add" /> Condition
        </button>
        <button
          type="button"
          class="button small"
          aria-label={inGroup("Group")}
          onClick={() => set([...parts, { any: !value.any, not: false, parts: [NEW_CONDITION] }])}
        >
          <Icon name="add" /> Group
        </button>
      </div>
    </div>
  );
}
