/** What was thrown: anything, also something that throws when somebody looks at it. */

/** A member that is a text; none where it is something else, or where reading it throws. */
export function textMember(thrown: unknown, name: string): string | undefined {
  try {
    const value: unknown = (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is an error. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** It as a text. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "something that has no text";
  }
}
