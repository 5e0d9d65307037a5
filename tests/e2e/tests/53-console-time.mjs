// The time machine of the console: a copy of a table, whose clock and options are dragged.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { goTo, openConsole, openInstance, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const versions = (page) => page.getByRole("region", { name: "Stored versions" });

test(
  "V3, V5: the time machine of the console hides versions with their reason, brings them back, and lets a compaction take them",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "times");
    await page.evaluate(async () => {
      const { open } = await import("/package/pkg/index.js");
      const db = await open("times", { create: false });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 2, maxVersionOffset: 8_640_000 });
      const temp = [3, 2, 1].map((days) => ({ value: days, version: Date.now() - days * 86_400_000 }));
      await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { temp } });
      await db.close();
    });
    await goTo(page, "#/times/t");
    await page.getByRole("button", { name: "Time machine" }).click();
    assert.match(page.url(), /view=time/);
    await page.getByText("3 stored versions, 1 hidden").waitFor();
    await versions(page).getByText("hidden: surplus").waitFor();
    assert.equal(await page.locator(".time-dot.hollow").count(), 1);
    const slider = (name) => page.getByRole("slider", { name: new RegExp(`^${name}`) });
    await slider("Max versions").press("ArrowRight");
    await page.getByText("3 stored versions, 0 hidden").waitFor();
    await slider("Time to live").fill("2");
    await page.getByText(/3 stored versions, [12] hidden/).waitFor();
    await versions(page).getByText("hidden: expired").first().waitFor();
    await shoot(page, "92-time-machine");
    assert.deepEqual(await faults(page, "time machine"), []);
    // A version outside of the window is refused with the two dates, one inside is a dot more.
    const form = page.getByRole("form", { name: "Try a version" });
    await form.getByLabel("Version (UTC)").fill("2001-02-03 00:00");
    await form.getByRole("button", { name: "Put a value there" }).click();
    await form.getByText(/^Refused: 2001-02-03 00:00/).waitFor();
    await form.getByRole("alert").filter({ hasText: "has to be at least" }).waitFor();
    await slider("Time to live").fill("31");
    await slider("Max version offset").fill("2");
    await form.getByText(/^A version may be given from/).waitFor();
    await form.getByLabel("Version (UTC)").fill(new Date(Date.now() - 3_600_000).toISOString());
    await form.getByRole("button", { name: "Put a value there" }).click();
    await form.getByText(/^Taken: /).waitFor();
    await page.getByText("4 stored versions, 1 hidden").waitFor();
    await shoot(page, "92-time-window");
    await slider("Max versions").fill("1");
    await page.getByText("4 stored versions, 3 hidden").waitFor();
    await page.getByRole("main").getByRole("button", { name: "Compact" }).click();
    await page.getByText("1 stored version, 0 hidden").waitFor();
    await page.setViewportSize(SIZES.phone);
    await fitsWidth(page, "time machine");
    await shoot(page, "93-time-machine-phone");
    assert.deepEqual(await faults(page, "time machine on a phone"), []);
    // The table itself is as it was.
    await page.getByRole("button", { name: "Back to the rows" }).click();
    await page.locator(".open-row").first().waitFor();
  },
  { seconds: 60, needs: ["locators"] },
);
