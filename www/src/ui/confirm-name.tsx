/** A field into which the name is typed of what is about to be deleted. */

import { TextField } from "./field.tsx";

/** The field. What it says is right if `value` is the name. */
export function ConfirmName({ name, value, onInput }: { readonly name: string; readonly value: string; readonly onInput: (typed: string) => void }) {
  return (
    <TextField
      label={
        <>
          Type <b>{name}</b> to confirm
        </>
      }
      name="confirm"
      value={value}
      onInput={onInput}
      focused
      passing
    />
  );
}
