/** Code as parts that are broken into lines where one line is too short for them. */

/** A part: a text, or a list between brackets. */
export type Part = string | { readonly open: string; readonly items: readonly Part[]; readonly close: string; readonly pad: string };

/** The most characters of a line. */
const WIDTH = 88;

/** A list between brackets; `pad` stands inside of them where it fits one line. */
export const list = (open: string, items: readonly Part[], close: string, pad = ""): Part => ({ open, items, close, pad });

/** A part with a text before it: `name: [...]`. */
export function before(text: string, part: Part): Part {
  return typeof part === "string" ? text + part : { ...part, open: text + part.open };
}

function flat(part: Part): string {
  if (typeof part === "string") return part;
  const inner = part.items.map(flat).join(", ");
  return inner === "" ? part.open + part.close : part.open + part.pad + inner + part.pad + part.close;
}

/** The text of a part that begins so far to the right. */
export function render(part: Part, indent = ""): string {
  const one = flat(part);
  if (typeof part === "string" || part.items.length === 0 || indent.length + one.length <= WIDTH) return one;
  const inner = `${indent}  `;
  return `${part.open}\n${part.items.map((item) => `${inner}${render(item, inner)},\n`).join("")}${indent}${part.close}`;
}
