// The lessons of the console: predict, run, explain, check, break it. Right and wrong solutions of all are tried in the console's own tests.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { openConsole, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const next = (page) => page.getByRole("button", { name: "Next", exact: true }).click();
const lines = (page) => page.getByRole("textbox", { name: "Lines" });
const run = (page) => page.getByRole("button", { name: "Run the lines" }).click();
const check = (page) => page.getByRole("button", { name: "Check", exact: true }).click();
const answered = (page) => page.getByRole("list", { name: "Answers of the store" });

/** Each lesson: the answer that is right, its verdict on a wrong solution of the check, a right one, and a right one of the harder try. */
const put = (day) => `put -k '["S7",${day}]' -a '[{"c":"ok","v":true}]'`;
const latest = (day) => `put -k '["S7",${9999 - day}]' -a '[{"c":"day","v":${day}}]'`;
const fair = (columns) =>
  `create -t fair -k '[${columns.map((name) => `{"c":"${name}","t":"${name === "at" ? "integer" : "string"}"}`).join(",")}]'\nuse -t fair\nfill 3000 100\nflush\nwork`;
const LESSONS = [
  {
    title: "Rows and keys",
    option: 1,
    wrong: [`create -t visit -k '[{"c":"station","t":"string"},{"c":"day","t":"string"}]'`, /^As a text, 10 stands before 9/],
    right: `drop -t visit -y\ncreate -t visit -k '[{"c":"station","t":"string"},{"c":"day","t":"integer"}]'\nuse -t visit\n${[9, 10, 11].map(put).join("\n")}`,
    harder: `create -t latest -k '[{"c":"station","t":"string"},{"c":"down","t":"integer"}]'\nuse -t latest\n${[9, 10, 11].map(latest).join("\n")}`,
  },
  {
    title: "Versions",
    option: 1,
    wrong: ["list", /^A read does not give 600, 500 and 400/],
    right: "alter -t media --version 3",
    harder: `update -t media -k '["6555"]' --delete_versions '[{"c":"Length","ts":${1_466_676_354_000 + 86_400_000}}]'`,
  },
  {
    title: "A day, to the millisecond",
    option: 2,
    wrong: ["list", /^Row 1 is visible/],
    right: "clock +1",
    harder: "alter -t lesson_day --ttl 172800",
  },
  {
    title: "Log, memtable, kill",
    option: 2,
    wrong: ["flush", /^There are not 500 letters/],
    right: "use -t letter\nfill 200\nflush",
    harder: "delete -t letter -k '[\"k000007\"]'\nflush\ncompact",
  },
  {
    title: "Compaction and filters",
    option: 2,
    wrong: ["flush", /^There is more than one place to look/],
    right: "compact",
    harder: "alter -t reading --ttl 86400\nclock +86401\ncompact",
  },
  {
    title: "Partitions and hot keys",
    option: 2,
    wrong: [fair(["page", "user", "at"]), /^The first key column has to be user/],
    right: `drop -t fair -y\n${fair(["user", "page", "at"])}`,
    harder: "use -t fair\nfill 6000 200\nflush\nwork",
  },
  {
    title: "Units and the bill",
    option: 1,
    wrong: ["list", /^There is no table mine yet/],
    right: 'create -t mine -k \'[{"c":"id","t":"string"}]\' --write_cu 10\nuse -t mine\nfill 5',
    harder: "use -t mine\nfill 30",
  },
  {
    title: "Conditions and transactions",
    option: 1,
    wrong: ["list", /^That is not the amount/],
    right: "use -t account\ntransfer bob 17",
    harder: 'delete -t account -k \'["ann","savings"]\' --if \'{"column":"balance","comparator":"EQUAL","value":2}\'',
  },
];

/** The lessons that the gate goes through: one without a kill and one with it. */
const AT_THE_GATE = [1, 4];

for (const [at, { title, option, wrong, right, harder }] of LESSONS.entries()) {
  test(
    `D4, V7, W1: lesson ${at + 1}, ${title}: predicted, run, explained, checked by the store's state, broken`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport: at % 2 === 0 ? VIEWPORT : SIZES.phone });
      const page = await openConsole(t, context, server, `#/lesson/${at + 1}?step=1&seed=7`);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await shoot(page, `${80 + at}-lesson-predict`);
      assert.deepEqual(await faults(page, `lesson ${at + 1}, predict`), []);
      await next(page);
      await page.getByText("Predict first: then running tells more.").waitFor();
      await page.getByRole("button", { name: "Back", exact: true }).click();
      await page.getByRole("radio").nth(option).check();
      await next(page);
      await run(page);
      await page.getByText("As you said.").waitFor();
      assert.match(page.url(), /step=2&seed=7$/);
      await shoot(page, `${80 + at}-lesson-run`);
      await fitsWidth(page, title);
      assert.deepEqual(await faults(page, `lesson ${at + 1}, run`), []);
      await next(page);
      await page.getByText(/^The rule is in/).click();
      await page.locator(".lesson-document pre").waitFor();
      await next(page);
      const solve = async (text) => {
        await lines(page).fill(text);
        await run(page);
        const all = text.split("\n");
        await page.waitForFunction(
          ([lines, last]) => {
            const shown = document.querySelectorAll(".lesson-answers > li");
            return shown.length === lines && shown[lines - 1].textContent.startsWith(last);
          },
          [all.length, all.at(-1)],
        );
        await page.locator(".lesson-editor button[aria-disabled=false]").waitFor();
        await check(page);
      };
      await solve(wrong[0]);
      await page.getByText(wrong[1]).waitFor();
      await solve(right);
      await page.getByText("Reached: the store is as it has to be.").waitFor();
      await next(page);
      await page.getByText("Reached: the store is as it has to be.").waitFor({ state: "hidden" });
      await solve(harder);
      await page.getByText("Reached: the store is as it has to be.").waitFor();
      await shoot(page, `${80 + at}-lesson-broken`);
      assert.deepEqual(await faults(page, `lesson ${at + 1}, broken`), []);
      assert.ok((await answered(page).locator("li").count()) > 0);
    },
    { full: !AT_THE_GATE.includes(at + 1), seconds: 90, needs: ["locators"] },
  );
}

test(
  "a lesson for a class is large and keeps its answers; a reset begins anew; Chinese is kept over a reload",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await page.getByRole("link", { name: "2. Versions" }).click();
    await page.getByRole("link", { name: "For a class" }).click();
    assert.match(page.url(), /#\/lesson\/2\?step=1&teacher=1$/);
    await next(page);
    await run(page);
    await answered(page).getByText("600").first().waitFor();
    assert.equal(await page.getByText(/^The store says otherwise|^As you said/).count(), 0);
    await next(page);
    assert.equal(await page.getByText(/^A column keeps the newest values/).count(), 0);
    await page.getByRole("button", { name: "Show the answer" }).click();
    await page.getByText(/^A column keeps the newest values/).waitFor();
    await page.getByText("The store says: Two").waitFor();
    await shoot(page, "90-lesson-class");
    assert.deepEqual(await faults(page, "lesson for a class"), []);
    await page.getByRole("button", { name: "Reset" }).click();
    await page.getByText("step 1 of 5").waitFor();
    await page.getByRole("link", { name: /Explain/ }).click();
    await page.getByRole("button", { name: "Show the answer" }).click();
    await page.getByText("Nothing was run yet.").waitFor();
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByText(/^一列保留最新的若干个值/).waitFor();
    assert.equal(await page.locator("#main").getAttribute("lang"), "zh-CN");
    await shoot(page, "91-lesson-chinese");
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "版本" }).waitFor();
    assert.deepEqual(await faults(page, "lesson in Chinese"), []);
    await page.getByRole("link", { name: "下一课" }).click();
    await page.getByRole("heading", { level: 1, name: "精确到毫秒的一天" }).waitFor();
  },
  { seconds: 60, needs: ["locators"] },
);
