// For TypeDoc: names the modules as users import them, and finds what comments link to in another entry.

import { Converter, ReflectionKind } from "typedoc";

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.getChildrenByKind(ReflectionKind.Module)) {
      entry.name = entry.name === "index" ? "tabstore" : `tabstore/${entry.name}`;
    }
  });
  converter.addUnknownSymbolResolver(({ moduleSource, symbolReference }, { project }) => {
    const names = symbolReference?.path?.map(({ path }) => path) ?? [];
    const target = project.children?.map((entry) => entry.getChildByName(names)).find((found) => found !== undefined);
    return moduleSource === undefined && target !== undefined ? { target } : undefined;
  });
}
