// Filters of the console in groups.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { firstKey, goTo, keysShown, people, shoot, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `R6, W1: a filter has groups in groups, by keyboard too; the address keeps them, and a filter of the shell comes into the form (${size})`,
    async (t) => {
      const { page } = await withProgram(t, "groups", { fill: people, viewport });
      await goTo(page, "#/groups/people");
      await firstKey(page, "ann");
      await page.getByRole("button", { name: "Filter: none" }).click();
      const panel = page.getByRole("form", { name: "Filter" });
      const field = (what, place) => panel.getByLabel(`${what} of condition ${place}`);
      const press = async (name, scope = panel) => {
        await scope.getByRole("button", { name, exact: true }).focus();
        await page.keyboard.press("Enter");
      };
      // city = Oslo, and not (vip or id = dee)
      await field("Column", 1).fill("city");
      await field("Value", 1).fill("Oslo");
      await press("Group");
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Column of condition 2.1", "what is added has the focus");
      await page.keyboard.type("vip");
      await field("Value", "2.1").selectOption("true");
      await press("Condition in group 2");
      await page.keyboard.type("id");
      await field("Value", "2.2").fill("dee");
      await panel.getByRole("checkbox", { name: "not group 2" }).focus();
      await page.keyboard.press("Space");
      assert.equal(await panel.getByLabel("How the conditions of group 2 are joined").inputValue(), "any");
      await press("Apply filter");
      await page.getByText("There are no rows in this range.").waitFor();
      // Without the second part of the group Dee is left.
      await press("Remove condition 2.2");
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Condition in group 2", "the focus is not lost");
      await press("Apply filter");
      await firstKey(page, "dee");
      assert.deepEqual(await keysShown(page), ["dee"]);
      // The last one goes into a group of its own, and that one into another.
      await press("Group it: condition 2.1");
      await press("Condition in group 2.1");
      await page.keyboard.type("city");
      await field("Value", "2.1.2").fill("Rome");
      const found = await faults(page, "groups of a filter", (scheme) => shoot(page, `51-groups-${size}-${scheme}`));
      await fitsWidth(page, "groups of a filter");
      await press("Apply filter");
      await firstKey(page, "dee");
      await page.getByRole("button", { name: "Filter: 3 conditions" }).waitFor();

      // The address has all of it.
      await page.reload();
      await page.getByRole("button", { name: "Filter: 3 conditions" }).click();
      assert.deepEqual(
        [await field("Value", "2.1.2").inputValue(), await panel.getByRole("checkbox", { name: "not group 2", exact: true }).isChecked()],
        ["Rome", true],
      );
      assert.deepEqual(await keysShown(page), ["dee"]);
      await press("Dissolve group 2.1");
      assert.equal(await field("Value", "2.2").inputValue(), "Rome");
      await press("Remove group 2");
      await press("Apply filter");
      await firstKey(page, "ann");
      assert.deepEqual(await keysShown(page), ["ann", "dee"]);
      await press("Group");
      await press("Apply filter");
      await panel.getByText("Condition 2.1: name the column.").waitFor();

      // From the shell, and back to it: the same line.
      const filter =
        '{"operator":"OR","filters":[{"column":"age","comparator":"GREATER_THAN","value":45,"passIfMissing":false},{"operator":"NOT","filters":[{"operator":"AND","filters":[{"column":"city","comparator":"EXIST"},{"column":"vip","comparator":"NOT_EXIST"}]}]}]}';
      await panel.getByText("From the shell …").click();
      await panel.getByLabel(/^A line of the shell/).fill(`scan --limit 5 --filter '${filter}'`);
      await press("Take it");
      await field("Column", "2.2").waitFor();
      await press("Apply filter");
      await page.waitForFunction(() => document.querySelectorAll(".open-row").length === 3);
      assert.deepEqual(await keysShown(page), ["ann", "cy", "dee"]);
      await panel.getByText("What is shown is the same as …").click();
      const line = await panel.getByRole("tabpanel").innerText();
      await panel.getByLabel(/^A line of the shell/).fill(line.split("\n").find((one) => one.startsWith("scan")));
      const address = page.url();
      await press("Take it");
      await press("Apply filter");
      assert.equal(page.url(), address);
      await panel.getByLabel(/^A line of the shell/).fill('{"offset":0,"limit":1}');
      await press("Take it");
      await panel.getByText("The form has no pages of columns (offset and limit).").waitFor();
      assert.deepEqual(found, []);
    },
    { seconds: 90, needs: ["locators"] },
  );
}
