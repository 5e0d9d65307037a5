// Lives whose keys and values are mostly not ASCII, beside a model: in Node, in a page, on the package's worker.

import { tier } from "../../report.mjs";
import { BACKENDS, openPage, startBrowser } from "../support/browser.mjs";
import { singles, test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { live } from "../pages/foreign.js";

const SEED = Number(process.env.E2E_SEED ?? 20_261_122);
const OPERATIONS = Number(process.env.E2E_OPERATIONS ?? (tier === "full" ? 6000 : 1500));

const told = (figures) =>
  Object.entries(figures)
    .map(([what, count]) => `${what} ${count.toLocaleString("en")}`)
    .join(", ");

test(
  `D2, R5: random operations on foreign texts agree with a model, in Node (seed ${SEED})`,
  async (t) => {
    const tabstore = await import(new URL("../../../pkg/dist/node.js", import.meta.url));
    const open = () => tabstore.open("foreign", { storage: "memory", memtableBytes: 256 << 10, cacheBytes: 1 << 20 });
    t.note(told(await live({ open, seed: SEED, operations: OPERATIONS * (tier === "full" ? 2 : 1), reopens: false, double: tabstore.double })));
  },
  { seconds: 120, needs: ["node"] },
);

test(
  `T2, D2: random operations on columns of any name agree with a model under limits "sdk", in Node (seed ${SEED})`,
  async (t) => {
    const tabstore = await import(new URL("../../../pkg/dist/node.js", import.meta.url));
    const open = () => tabstore.open("foreign", { storage: "memory", limits: "sdk", memtableBytes: 256 << 10, cacheBytes: 1 << 20 });
    t.note(told(await live({ open, seed: SEED, operations: OPERATIONS, reopens: false, double: tabstore.double, anyNames: true })));
  },
  { seconds: 120, needs: ["node"] },
);

for (const [[place, worker], [i, backend]] of singles(
  [
    ["in a page", false],
    ["on a worker", true],
  ],
  BACKENDS.entries(),
)) {
  test(
    `D2, R5: random operations on foreign texts agree with a model, ${place}, also after reopening (${backend}, seed ${SEED + i + (worker ? 2 : 1)})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const page = await openPage(t, context, server);
      t.note(
        told(
          await page.evaluate(
            async ([seed, operations, worker]) => {
              const { live } = await import("/foreign.js");
              // On the worker with names of columns in any script too.
              const open = () => T.open("foreign", { worker, limits: worker ? "sdk" : "document", memtableBytes: 256 << 10, cacheBytes: 1 << 20 });
              return live({ open, seed, operations, reopens: true, double: T.double, anyNames: worker });
            },
            [SEED + i + (worker ? 2 : 1), OPERATIONS, worker],
          ),
        ),
      );
    },
    { seconds: 120 },
  );
}
