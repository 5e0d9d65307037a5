// What a person types into the console's dialogs is not lost by a key.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { firstKey, goTo, people, shoot, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

const focused = (page) => page.evaluate(() => document.activeElement.innerText || document.activeElement.getAttribute("name"));

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1: neither Escape nor the cross nor a click outside takes away what was typed into a dialog (${size})`,
    async (t) => {
      const { page } = await withProgram(t, "forms", { fill: people, viewport });
      await goTo(page, "#/forms/people");
      await firstKey(page, "ann");
      const dialog = page.getByRole("dialog");
      const question = page.getByRole("alertdialog", { name: "Discard what you typed?" });
      const key = dialog.getByLabel(/^id/);
      const put = () => page.getByRole("button", { name: "Put row" }).first().click();
      await put();
      await key.fill("eve");
      for (let presses = 0; presses < 3; presses++) {
        await page.keyboard.press("Escape");
        await question.waitFor();
        assert.equal(await focused(page), "Keep typing");
        await page.keyboard.press("Escape");
        await question.waitFor({ state: "detached" });
        assert.deepEqual([await key.inputValue(), await focused(page)], ["eve", "key-id"], "it stands there, and the focus is back");
      }
      await page.mouse.click(3, 3);
      assert.equal(await key.inputValue(), "eve");
      await dialog.getByRole("button", { name: "Close" }).click();
      await question.waitFor();
      const found = await faults(page, "the question", (scheme) => shoot(page, `51-question-${size}-${scheme}`));
      await fitsWidth(page, "the question");
      await question.getByRole("button", { name: "Keep typing" }).click();
      await dialog.getByRole("button", { name: "Close" }).click();
      await question.getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal(await focused(page), "Put row");

      // Nothing typed, or taken back: nothing is asked. Nor does the button ask that says so.
      await put();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await put();
      await key.fill("eve");
      await key.fill("");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await put();
      await key.fill("eve");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });

      // A name that is typed to confirm is no work.
      await page.getByRole("button", { name: "Delete table" }).click();
      await dialog.getByRole("textbox").fill("peo");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });

      // A form inside a dialog that stays: what was sent is not lost.
      await page.locator(".open-row").first().click();
      const value = dialog.getByLabel("Value", { exact: true });
      await dialog.getByLabel("Column", { exact: true }).fill("note");
      await value.fill("new");
      await page.keyboard.press("Escape");
      await question.getByRole("button", { name: "Keep typing" }).click();
      await dialog.getByRole("button", { name: "Update", exact: true }).click();
      await dialog.getByText("new", { exact: true }).waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });

      // What was refused is not stored by the next change of the row.
      await page.locator(".open-row").first().click();
      await dialog.getByLabel("Column", { exact: true }).fill("note");
      await value.fill("newer");
      await dialog.getByLabel("Version", { exact: true }).fill("5");
      await dialog.getByRole("button", { name: "Update", exact: true }).click();
      await dialog.getByRole("alert").waitFor();
      await dialog.getByRole("button", { name: "Delete the column city with all its versions" }).click();
      await dialog.getByRole("rowheader", { name: /^city/ }).waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      await question.getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.deepEqual(found, []);
    },
    { needs: ["locators"] },
  );
}
