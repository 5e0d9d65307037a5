/** What a person has typed into the fields of a form, and has not sent: it must not go with a key. */

/** A field, as far as this needs it. */
export interface TypedField {
  readonly value: string;
  readonly isConnected: boolean;
}

/** A field that had the focus. */
interface Trace {
  /** Its text when it first had the focus. */
  readonly first: string;
  /** Its text now, or when it was there last. */
  last: string;
  /** Whether the form was sent since. */
  sent: boolean;
}

/** The fields of a form that were typed in. */
export class Typed {
  readonly #traces = new Map<TypedField, Trace>();

  /** A field has got the focus. */
  focused(field: TypedField): void {
    if (!this.#traces.has(field)) this.#traces.set(field, { first: field.value, last: field.value, sent: false });
  }

  /** Something was typed. */
  typed(field: TypedField): void {
    const trace = this.#traces.get(field) ?? { first: "", last: "", sent: false };
    this.#traces.set(field, { ...trace, last: field.value, sent: false });
  }

  /** The form was sent. A field that is gone then was taken in; one that stays with its text was refused. */
  sent(): void {
    for (const trace of this.#traces.values()) trace.sent = true;
  }

  /** What the fields have now is stored. */
  taken(): void {
    for (const field of this.#traces.keys()) this.#traces.set(field, { first: field.value, last: field.value, sent: false });
  }

  /** Whether something would be lost. */
  get isThere(): boolean {
    for (const [field, { first, last, sent }] of this.#traces) {
      if (field.isConnected ? field.value !== first : last !== first && !sent) return true;
    }
    return false;
  }
}

/** The text field that an event comes from. One whose text is no work of anybody's says so by `data-passing`. */
export function fieldOf({ target }: Event): HTMLInputElement | HTMLTextAreaElement | undefined {
  if (target instanceof HTMLTextAreaElement) return target;
  return target instanceof HTMLInputElement && target.type === "text" && target.dataset.passing === undefined ? target : undefined;
}
