// The console's code view: programs on the open instance, in a worker that the page outlives.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { goTo, openConsole, openInstance, paste, editorOf, shoot, SIZES, VIEWPORT, withProgram } from "../support/console.mjs";
import { startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const output = (page) => page.getByRole("log", { name: "Output" });
const state = (page) => page.locator(".code-state");

/** Shows the view. */
const showCode = async (page) => {
  await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Code" }).click();
  await editorOf(page).waitFor();
};

/** Puts a program in place of the one that is there, and runs it. */
const run = async (page, text) => {
  await paste(page, text);
  await page.getByRole("button", { name: "Run", exact: true }).click();
};

/** Waits until a program has come to its end. */
const ended = (page, said = /^Done in /) => state(page).filter({ hasText: said }).waitFor();

/** Three orders. */
const orders = async () => {
  await db.createTable({ tableName: "order", primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 1; id <= 3; id++) await db.putRow({ tableName: "order", primaryKey: { id }, attributes: { total: id * 10 } });
};

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1, R1: a program works on the open instance, and its lines, its last value and its errors with their lines are shown (${size})`,
    async (t) => {
      const { page, other } = await withProgram(t, "coded", { fill: orders, viewport });
      await showCode(page);
      await run(
        page,
        `import { col } from "tabstore";
const found = [];
for await (const row of db.scan({ tableName: "order", filter: col("total").gt(10) })) found.push(row);
console.log("rows:", found.length);
console.log(found[0]);
await db.putRow({ tableName: "order", primaryKey: { id: 4 }, attributes: { total: 40n } });
found.map((row) => row.get("total")) // in all`,
      );
      await ended(page);
      assert.deepEqual(await output(page).locator("li").allInnerTexts(), ["rows: 2", "Row { id: 2, total: 20 }", "[20, 30]"]);
      const stored = await other.evaluate(async () => (await db.getRow({ tableName: "order", primaryKey: { id: 4 } })).row.get("total"));
      assert.equal(stored, 40, "it is the instance that is open");
      assert.equal(await page.evaluate(() => "db" in globalThis || "col" in globalThis), false, "nothing of it runs in the page");
      const calls = page.getByRole("region", { name: "Calls" });
      await calls.getByRole("button", { name: "Calls" }).click();
      await calls.getByRole("rowheader", { name: "PutRow" }).waitFor();
      await calls.getByRole("button", { name: "Calls" }).click();

      await run(page, 'const a = 1;\n\nawait db.getRow({ tableName: "none", primaryKey: { id: 1 } });');
      await ended(page, "Ended by an error");
      const failure = output(page).locator(".code-failure");
      assert.match(await failure.innerText(), /^OTSObjectNotExist line 3: /);
      await run(page, "let n = 1;\nn = n.no.thing;\n");
      await failure.filter({ hasText: /^TypeError line 2: / }).waitFor();
      await run(page, "let n = 1;\n\nn = (;\n");
      await failure.filter({ hasText: /^SyntaxError line 3: This is not JavaScript/ }).waitFor();
      await failure.getByRole("button", { name: "line 3" }).click();
      await page.keyboard.type("// ");
      assert.match(await editorOf(page).innerText(), /\n\/\/ n = \(;/, "the caret went to the line");
      await run(page, 'import x from "lodash";');
      await failure.filter({ hasText: /^SyntaxError line 1: / }).waitFor();
      await run(page, "setTimeout(() => {\n  throw new Error('late');\n}, 1);");
      await failure.filter({ hasText: /^Error line 2: late/ }).waitFor();
      await run(page, "Promise.reject(new RangeError('unheard'));\n1");
      await failure.filter({ hasText: /^RangeError line 1: unheard/ }).waitFor();

      const found = await faults(page, "the code view", (scheme) => shoot(page, `73-code-${size}-${scheme}`));
      await fitsWidth(page, "the code view");
      assert.deepEqual(found, []);
    },
    { seconds: 90, needs: ["locators"] },
  );
}

test(
  "W1: a program that never ends is ended, one that floods the page is cut, one that waits is stopped, and the page stays usable",
  async (t) => {
    const { page, other } = await withProgram(t, "runaway", { fill: orders });
    await showCode(page);
    await run(page, 'console.log("before");\nwhile (true) {}');
    await output(page).getByText("before").waitFor();
    const before = Date.now();
    await page
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /^order/ })
      .click();
    await page.locator(".open-row").first().waitFor();
    await page.goBack();
    await editorOf(page).waitFor();
    const took = Date.now() - before;
    assert.ok(took < 4000, `rows are shown meanwhile, in ${took} ms`);
    await ended(page, /did not answer for 5 seconds/);
    await output(page).getByText("before").waitFor();
    await shoot(page, "73-code-hung");

    await run(page, "for (let n = 0; n < 100_000; n++) console.log(n);\n'end'");
    await ended(page);
    await page.getByText(/earlier lines not kept\.$/).waitFor();
    assert.deepEqual((await output(page).locator("li").allInnerTexts()).slice(-2), ["99999", '"end"']);

    await run(page, 'for await (const { rows } of db.watch({ tableName: "order" })) console.log(rows.length, "rows");');
    await output(page).getByText("3 rows").waitFor();
    await other.evaluate(() => db.putRow({ tableName: "order", primaryKey: { id: 4 }, attributes: { total: 1 } }));
    await output(page).getByText("4 rows").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await ended(page, "Stopped");
    await other.evaluate(() => db.putRow({ tableName: "order", primaryKey: { id: 5 }, attributes: { total: 1 } }));
    await run(page, '(await db.count({ tableName: "order" })).count');
    await output(page).getByText("5", { exact: true }).waitFor();
    assert.deepEqual(await output(page).locator("li").allInnerTexts(), ["5"], "the stopped program has said no more");
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "W1: each example runs, by mouse and by keyboard; what was typed can be brought back, and a reload keeps it; in Chinese too",
  async (t) => {
    const { page } = await withProgram(t, "examples-1");
    await showCode(page);
    const choose = page.getByRole("combobox", { name: /Example/ });
    for (const [title, last] of [
      ["Put and get a row", /^\{ read: 1, write: 0 \}$/],
      ["Scan with a filter", "300"],
      ["All rows or none", "{ id: 2, total: 90 }"],
      ["Changes of a table", /^delete 7/i],
      ["Watch a table", /^\d+ changed: \[/],
    ]) {
      await choose.selectOption({ label: title });
      await editorOf(page).press("Control+Enter");
      await output(page).locator("li").filter({ hasText: last }).first().waitFor();
      await state(page)
        .filter({ hasText: title === "Watch a table" ? "Running" : /^Done in / })
        .waitFor();
    }
    await page.getByRole("button", { name: "Stop" }).click();

    // A backquote is a letter here, and opens no shell.
    await paste(page, "");
    await editorOf(page).press("Delete");
    await editorOf(page).pressSequentially("`answer`");
    assert.equal(await page.getByRole("region", { name: "Shell" }).count(), 0);
    await page.keyboard.press("Control+Enter");
    await output(page).getByText('"answer"').waitFor();
    await choose.selectOption({ label: "Scan with a filter" });
    await page.getByRole("button", { name: "Bring back my program" }).click();
    await page.reload();
    await editorOf(page).waitFor();
    assert.match(await editorOf(page).innerText(), /^`answer`/);
    // Completion: a method of the database.
    await paste(page, "db.describe");
    await editorOf(page).pressSequentially("T");
    await page.getByRole("option", { name: "describeTable" }).waitFor();
    const found = await faults(page, "the completion");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "代码" }).waitFor();
    await page.getByRole("textbox", { name: /^程序/ }).waitFor();
    found.push(...(await faults(page, "in Chinese", (scheme) => shoot(page, `73-code-zh-${scheme}`))));
    assert.deepEqual(found, []);
    await page.getByRole("button", { name: "English" }).click();
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

test(
  "W1: the code of a dialog comes into the editor, and does what the dialog would have done",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "from-dialog");
    await page.getByRole("button", { name: "Create table" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Table name").fill("made");
    await dialog.getByText("The same as …").click();
    await dialog.getByRole("tab", { name: "JavaScript" }).click();
    await dialog.getByRole("button", { name: "Open in Code" }).click();
    await editorOf(page).waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0, "the dialog is gone");
    assert.match(await editorOf(page).innerText(), /createTable/);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await ended(page);
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^made/ }).waitFor();

    // An instance in memory is no other thread's.
    await goTo(page, "#/lonely?storage=memory&view=code");
    await page.getByText(/lives in the memory of the page alone/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Run", exact: true }).count(), 0);
  },
  { needs: ["locators"] },
);

test(
  "W1: a program that posts messages of its own, or changes what is global, is shown as any other, and comes to its end",
  async (t) => {
    const { page } = await withProgram(t, "posting");
    await showCode(page);
    await run(
      page,
      `for (const one of [null, { kind: "said", lines: null }, { kind: "said", lines: [{ level: "failure" }] }, { kind: "failed", failure: null },
  { kind: "calls", calls: null }, { kind: "said", leftOut: 0, lines: [{ level: "log", text: "forged" }] }]) postMessage(one);
globalThis.postMessage = () => {};
console.log("said");
5`,
    );
    await ended(page);
    assert.deepEqual(await output(page).locator("li").allInnerTexts(), ["said", "5"]);
    for (const thrown of ["Object.create(null)", "Object.assign(new Error('x'), { message: () => 1 })", "Symbol('x')"]) {
      await run(page, `throw ${thrown}`);
      await ended(page, "Ended by an error");
    }
    await run(page, "for (;;) postMessage({ kind: 'pong' });");
    await page.getByRole("button", { name: "Stop" }).click();
    await ended(page, "Stopped");
    await run(page, "'alive'");
    await ended(page);
    assert.deepEqual(await output(page).locator("li").allInnerTexts(), ['"alive"']);
  },
  { full: true, seconds: 60, needs: ["locators"] },
);
