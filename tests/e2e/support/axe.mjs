// What a machine can see of a page's faults: axe's rules, and whether the page fits its width.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { tier } from "../../report.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds in the page as it is shown now: a line for each fault. */
async function faultsOf(page, name) {
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(AXE);
  // Of what passes only the rules are looked at: to describe each element would take as long as to find the faults.
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  assert.ok(passes.length > 10, `axe has looked at ${name}`);
  return violations.map(({ id, nodes }) => `${name}: ${id} at ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/**
 * What axe finds in the light page and in the dark one; at the gate in the light one if the page is wide, and else in the dark one.
 * `shown` is called with each, when it stands still.
 */
export async function faults(page, name, shown = () => {}) {
  const found = [];
  const schemes = tier === "full" ? ["light", "dark"] : [page.viewportSize().width > 600 ? "light" : "dark"];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))));
    found.push(...(await faultsOf(page, `${name}, ${colorScheme}`)));
    await shown(colorScheme);
  }
  return found;
}

/** Fails where something reaches beyond the page at the side. */
export async function fitsWidth(page, name) {
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= width, `${name} is ${content} pixels wide, the screen ${width}`);
}
