// Puts the table and the chart where readers find them.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const CHART = "![Time of an operation, TabStore beside other databases, on a logarithmic scale](chart.svg)";

/** Writes the cold reads and a worker's first work on a backend of IndexedDB into docs/bench/. */
export function publishCold(root, text, backend) {
  const file = `docs/bench/cold-${backend.toLowerCase()}.md`;
  const command = `cargo xtask bench --cold --publish${backend === "SQLite" ? " --sqlite-idb" : ""}`;
  writeFileSync(path.join(root, file), `# After a reload, IndexedDB on ${backend}\n\nWritten by \`${command}\`.\n\n${text}\n`);
  console.log(`Written: ${file}`);
}

/** Writes docs/bench/. The README shows its chart. */
export function publish(root, text, picture) {
  const folder = path.join(root, "docs/bench");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, "table.md"),
    `# TabStore beside other databases in the browser\n\nWritten by \`cargo xtask bench --publish\`.\n\n${CHART}\n\n${text}\n`,
  );
  writeFileSync(path.join(folder, "chart.svg"), picture);
  console.log("Written: docs/bench/table.md, docs/bench/chart.svg");
}
