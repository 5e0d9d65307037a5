// The process of a lane: imports the files of tests, and does what its parent asks.

import { readdirSync } from "node:fs";

import { engine } from "./engine.mjs";
import { all, run } from "./harness.mjs";

const folder = new URL("../tests/", import.meta.url);
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".mjs"))
  .sort()) {
  all.file = file.replace(/\.mjs$/, "");
  await import(new URL(file, folder));
}

process.on("message", async (question) => {
  if (question === "end") {
    await engine.reset?.();
    process.exit(0);
  }
  if (question === "tests") process.send(all.tests.map(({ name, file, limit, alone, shared, full }, at) => ({ name, file, limit, alone, shared, full, at })));
  else process.send(await run(all.tests[question]));
});
