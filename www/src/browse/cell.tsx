/** A cell of the grid: what it shows, and how it is edited in its place. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Row, ValueType } from "tabstore";

import type { CellEdit } from "../lib/edits.ts";
import { text, typeOf, VALUE_TYPES } from "../lib/values.ts";
import { Select } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { ValueInput } from "./value-input.tsx";
import { TypedText } from "./value.tsx";

/** What was typed in a cell, and is not saved. */
export function EditText({ edit, most }: { readonly edit: CellEdit; readonly most?: number | undefined }) {
  return edit.gone ? <span class="none">no value</span> : <TypedText type={edit.type} text={edit.text} most={most} />;
}

/** The props of an editor. */
interface CellEditorProps {
  readonly row: Row;
  readonly column: string;
  /** The type that the column has in other rows. */
  readonly likely: ValueType | undefined;
  readonly edit: CellEdit | undefined;
  /** Takes a change; throws an error for a text that is no value. */
  readonly onEdit: (edit: CellEdit) => void;
  readonly onEnd: () => void;
}

/** The type and the text that an editor begins with. */
function beginning({ row, column, likely, edit }: CellEditorProps): { readonly type: ValueType; readonly text: string } {
  if (edit !== undefined && !edit.gone) return edit;
  const value = row.get(column);
  return value === undefined ? { type: likely ?? "STRING", text: "" } : { type: typeOf(value), text: text(value) };
}

/** The control for a text: of one line, unless there are more. */
function Input({
  type,
  value,
  label,
  onInput,
}: {
  readonly type: ValueType;
  readonly value: string;
  readonly label: string;
  readonly onInput: (text: string) => void;
}) {
  if (type !== "STRING" || !/[\r\n]/.test(value)) return <ValueInput type={type} value={value} label={label} onInput={onInput} />;
  return <textarea aria-label={label} rows={4} value={value} spellcheck={false} onInput={(event) => onInput(event.currentTarget.value)} />;
}

/** The editor. Enter keeps what was typed, and so does leaving it; Escape gives it up. */
export function CellEditor(props: CellEditorProps) {
  const { column, onEdit, onEnd } = props;
  const [begun] = useState(() => beginning(props));
  const [{ type, text: typed }, setTyped] = useState(begun);
  const [wrong, setWrong] = useState<unknown>();
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const control = form.current?.querySelector<HTMLInputElement>("input, textarea, .cell-value select");
    control?.focus();
    if (control instanceof HTMLInputElement) control.select();
  }, []);
  const keep = (edit: CellEdit) => {
    try {
      onEdit(edit);
      onEnd();
    } catch (error) {
      setWrong(error);
    }
  };
  // A look into a cell changes nothing, also if there is nothing in it.
  const done = () => (type === begun.type && typed === begun.text ? onEnd() : keep({ type, text: typed }));
  return (
    <form
      ref={form}
      class="cell-edit"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        keep({ type, text: typed });
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onEnd();
        else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target instanceof HTMLSelectElement)) keep({ type, text: typed });
      }}
      onFocusOut={(event) => {
        if (event.relatedTarget instanceof Node && !event.currentTarget.contains(event.relatedTarget)) done();
      }}
    >
      <span class="row tight">
        <Select
          label={`Type of ${column}`}
          value={type}
          options={VALUE_TYPES}
          onChange={(next) => setTyped({ type: next, text: next === "BOOLEAN" || type === "BOOLEAN" ? "" : typed })}
        />
        <span class="cell-value">
          <Input type={type} value={typed} label={`Value of ${column}`} onInput={(next) => setTyped({ type, text: next })} />
        </span>
        <button type="submit" class="button small">
          Keep
        </button>
        <button type="button" class="button small quiet" title="The row will not have this column" onClick={() => keep({ gone: true })}>
          Delete value
        </button>
      </span>
      <ErrorNote error={wrong} />
    </form>
  );
}
