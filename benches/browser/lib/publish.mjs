// Puts the table and the chart where readers find them.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

/** Writes docs/bench/ and the text between the markers in README.md. */
export function publish(root, text, picture) {
  const folder = path.join(root, "docs/bench");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "table.md"), `# TabStore beside other databases in the browser\n\nWritten by \`cargo xtask bench --publish\`.\n\n${text}\n`);
  writeFileSync(path.join(folder, "chart.svg"), picture);
  const file = path.join(root, "README.md");
  const readme = readFileSync(file, "utf8");
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`README.md has no ${BEGIN} ... ${END}`);
  const section = `${BEGIN}\n![Time of an operation, TabStore beside other databases, on a logarithmic scale](docs/bench/chart.svg)\n\n${text}\n${END}`;
  writeFileSync(file, readme.slice(0, begin) + section + readme.slice(end + END.length));
  console.log("Written: docs/bench/table.md, docs/bench/chart.svg, README.md");
}
