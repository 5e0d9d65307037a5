/** The first lines of a program of this package: what it imports, and its database. */

import { served, serverAddress } from "../state/served.ts";

/** The lines; `names` are what it uses of the package beside that. */
export function opening(instance: string, names: Iterable<string> = []): string[] {
  const rest = [...names].sort();
  if (served === undefined) return [`import { ${["open", ...rest].join(", ")} } from "tabstore";`, "", `const db = await open(${JSON.stringify(instance)});`];
  return [
    ...(rest.length === 0 ? [] : [`import { ${rest.join(", ")} } from "tabstore";`]),
    'import { openRemote } from "tabstore/remote";',
    "",
    `const db = await openRemote(${JSON.stringify(serverAddress())});`,
  ];
}
