// For TypeDoc: names the modules as users import them, finds what comments link to in another entry, and leaves out types that only the
// compiler reads, and what pages would say twice.

import { Converter, ReflectionKind, UnknownType } from "typedoc";
import { MarkdownPageEvent } from "typedoc-plugin-markdown";

/** Whether a type is computed of another one. Its comment says what comes out of it. */
const isComputed = (type) => type?.type === "conditional" || (type?.type === "indexedAccess" && type.objectType.type === "mapped");

/** A page without what the signatures say already: the types of parameters and results, and where a member is inherited from. */
const brief = (page) =>
  page
    // A table stays where a parameter is an object without a name.
    .replace(/^#+ Parameters\n\n\| Parameter \| Type \|\n(?:\|.*\n)+\n?/gm, (table) => (/^\| `\w+\.\w/m.test(table) ? table : ""))
    .replace(/^#+ Returns\n\n.*\n(?:\n(?=#|\*\*\*)|$(?![^]))/gm, "")
    .replace(/^(#+ Returns\n\n).*\n\n/gm, "$1")
    .replace(/^#+ (?:Inherited from|Overrides)\n\n.*\n\n?/gm, "");

export function load({ converter, renderer }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.getChildrenByKind(ReflectionKind.Module)) {
      // Some say their names themselves.
      if (!entry.name.startsWith("tabstore/")) entry.name = entry.name === "index" ? "tabstore" : `tabstore/${entry.name}`;
    }
    for (const alias of project.getReflectionsByKind(ReflectionKind.TypeAlias)) if (isComputed(alias.type)) alias.type = new UnknownType("…");
  });
  converter.addUnknownSymbolResolver(({ moduleSource, symbolReference }, { project }) => {
    const names = symbolReference?.path?.map(({ path }) => path) ?? [];
    const target = project.children?.map((entry) => entry.getChildByName(names)).find((found) => found !== undefined);
    return moduleSource === undefined && target !== undefined ? { target } : undefined;
  });
  renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = brief(page.contents);
  });
}
