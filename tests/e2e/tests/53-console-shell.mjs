// The console's shell: the official tool's lines in a drawer, with proposals, a history, marked errors, files, and the keyboard alone.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { openConsole, openInstance, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const CREATE = `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`;

/** The shell of a page, opened by its key. */
async function openShell(page) {
  await page.getByRole("button", { name: "Shell", exact: true }).waitFor();
  await page.locator("#main").focus();
  await page.keyboard.press("`");
  const shell = page.getByRole("region", { name: "Shell" });
  const line = shell.getByRole("combobox", { name: "Line" });
  await line.waitFor();
  /** Runs a line, and waits until it has an answer or an error; gives that as text. */
  const run = async (text) => {
    const before = await shell.locator(".shell-log li").count();
    await line.fill(text);
    await line.press("Enter");
    await shell.locator(".shell-log li").nth(before).waitFor();
    return shell.locator(".shell-log li").nth(before).innerText();
  };
  return { shell, line, run };
}

test(
  "W2: the shell in the console creates, alters, puts, gets and drops by the tool's lines, and the page follows",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "lines");
    const { shell, line, run } = await openShell(page);
    assert.match(await run(CREATE), /Table mytable is created\./);
    await page
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /mytable/ })
      .click();
    assert.match(await run("alter -t mytable --ttl 86400 --version 1"), /data lives 86400 seconds, each column keeps 1 version/);
    await page.getByText("expires after 1 day").first().waitFor();
    await run("use -t mytable");
    assert.match(await shell.locator(".shell-prompt").innerText(), /^lines\/mytable>$/);
    assert.match(
      await run(`put --pk '["86", 6771]' --attr '[{"c":"name","v":"redchen"},{"c":"age","v":32}]' --condition ignore`),
      /The row is put\.\s+1 write unit, [\d.]+ ms/,
    );
    // The rows of the page show it without anything else being done.
    await page.locator(".browser table.grid").getByText("redchen").waitFor();
    const got = await run(`get --pk '["86",6771]'`);
    assert.match(got, /uid\s+pid\s+age\s+name\s+86\s+6771\s+32\s+redchen\s+1 row, 1 read unit/);
    // Its calls are in the log, as all of the console's.
    await page
      .getByRole("region", { name: "Calls" })
      .getByText(/GetRow/)
      .first()
      .waitFor();
    assert.match(await run("desc"), /"Name": "mytable"/);
    const wrong = await run(`put --pk '["86"]' --atr 1`);
    assert.match(wrong, /has no option '--atr'; did you mean '--attr'\?\s+Usage: put /);
    assert.equal(await shell.locator("mark").last().innerText(), "--atr");
    await run(CREATE);
    await shell.getByText("OTSObjectAlreadyExist").waitFor();
    await shoot(page, "53-shell");
    assert.deepEqual(await faults(page, "the shell"), []);

    // A drop asks in the place of the line; the focus is on what changes nothing.
    await line.fill("drop -t mytable");
    await line.press("Enter");
    await shell.getByText("Delete the table mytable with all its rows?").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Keep it");
    await page.keyboard.press("Enter");
    await shell.getByText("Table mytable is kept.").waitFor();
    assert.match(await run("drop -t mytable -y"), /Table mytable is deleted\./);
    await page
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /mytable/ })
      .waitFor({ state: "detached" });

    // The key in an empty line closes it, and the focus goes back.
    await line.press("`");
    await shell.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.getByRole("button", { name: "Shell" }).click();
    await line.waitFor();
    await line.press("Escape");
    await shell.waitFor({ state: "detached" });
  },
  { needs: ["locators"] },
);

test(
  "W2: the shell proposes, and its history outlives a reload, by the keyboard alone",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "typed");
    const first = await openShell(page);
    await first.run(CREATE);
    await first.run("use -t mytable");
    await first.run(`put --pk '["it'\\''s",1]' --attr '[{"c":"name","v":"a"}]'`);
    const { line, shell } = first;
    const options = shell.getByRole("option");
    const proposed = async (text, names) => {
      await line.fill("");
      await line.pressSequentially(text);
      await options.first().waitFor();
      await page.waitForFunction(
        (names) => JSON.stringify([...document.querySelectorAll(".shell-list [role=option] code")].map((one) => one.innerText)) === JSON.stringify(names),
        names,
      );
    };
    await proposed("de", ["desc", "delete"]);
    assert.equal(await line.getAttribute("aria-expanded"), "true");
    await line.press("ArrowDown");
    await line.press("ArrowDown");
    const active = await line.getAttribute("aria-activedescendant");
    assert.equal(await page.evaluate((id) => document.getElementById(id).getAttribute("aria-selected"), active), "true");
    await line.press("Enter");
    assert.equal(await line.inputValue(), "delete ");
    await options.first().waitFor();
    assert.deepEqual(await faults(page, "the shell's proposals"), []);
    await proposed("use -t my", ["mytable"]);
    await line.press("Tab");
    assert.equal(await line.inputValue(), "use -t mytable ");
    await proposed("get -c n", ["name"]);
    await proposed("get --pk ", [`'["it'\\''s",1]'`]);
    await line.press("Tab");
    await line.press("Enter");
    await shell.getByText("1 row, 1 read unit").waitFor();

    await page.reload();
    const again = await openShell(page);
    await again.line.press("ArrowUp");
    assert.equal((await again.line.inputValue()).trim(), `get --pk '["it'\\''s",1]'`);
    for (let up = 0; up < 3; up++) await again.line.press("ArrowUp");
    assert.equal(await again.line.inputValue(), CREATE);
    for (let down = 0; down < 4; down++) await again.line.press("ArrowDown");
    assert.equal(await again.line.inputValue(), "");
  },
  { full: true, needs: ["locators"] },
);

test(
  "W2: import takes a sample by its name and a file by a picker, export is a download, and all of it fits a phone",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.phone });
    const page = await openConsole(t, context, server);
    await openInstance(page, "files");
    const { shell, line, run } = await openShell(page);
    await run(`create -t stocks --pk '[{"c":"symbol","t":"string"},{"c":"date","t":"string"}]'`);
    await run("use -t stocks");
    assert.match(await run("import -i stocks.csv"), /560 rows of stocks\.csv are stored/);
    assert.match(await run("scan --limit 3"), /3 rows, 1 read unit/);
    const downloading = page.waitForEvent("download");
    await run("export -l 2 -o /tmp/two");
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "two");
    const text = readFileSync(await download.path(), "utf8");
    assert.equal(text.trim().split("\n").length, 2);

    const choosing = page.waitForEvent("filechooser");
    await line.fill("import -i /tmp/two");
    await line.press("Enter");
    await (await choosing).setFiles({ name: "two", mimeType: "text/plain", buffer: Buffer.from(text) });
    await shell.getByText("2 rows of /tmp/two are stored; 2 of them replaced another one.").waitFor();
    await fitsWidth(page, "the shell on a phone");
    assert.deepEqual(await faults(page, "the shell on a phone"), []);
    await shoot(page, "53-shell-phone");
  },
  { full: true, needs: ["locators", "downloads"] },
);

test(
  "W2: dialogs show the shell line and the code of what they do, and the line does it",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "same");
    const dialog = page.getByRole("dialog");
    const code = dialog.getByRole("tabpanel");
    /** What a foot of the dialog shows in a language. */
    const shown = async (lead, language) => {
      const foot = dialog.locator("details.same-as").filter({ hasText: lead });
      if (!(await foot.evaluate((one) => one.open))) await foot.locator("summary").click();
      await foot.getByRole("tab", { name: language }).click();
      return foot.getByRole("tabpanel").innerText();
    };
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Create table" }).click();
    assert.equal(await dialog.getByText("Fill in the form first.").isVisible(), false);
    await dialog.getByText("The same as …").click();
    await dialog.getByText("Fill in the form first.").waitFor();
    await dialog.getByLabel("Table name").fill("mytable");
    await code.waitFor();
    const create = await code.innerText();
    assert.match(create, /^create -t mytable --pk '\[\{"c":"id","t":"string"\}\]' --ttl -1 --version 1 /);
    await dialog.getByRole("tab", { name: "Shell" }).press("ArrowRight");
    assert.match(await code.innerText(), /^import \{ open \} from "tabstore";\s+const db = await open\("same"\);\s+await db\.createTable\(\{/);
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "JavaScript");
    assert.match(await shown("The same as", "npm SDK"), /client\.createTable\(/);
    assert.match(await shown("The same as", "Python"), /client\.create_table\(/);
    assert.deepEqual(await faults(page, "the code of a dialog"), []);
    await shoot(page, "53-same-as");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });

    // The line that was shown makes the table.
    const { shell, run } = await openShell(page);
    assert.match(await run(create), /Table mytable is created\./);
    await page
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /mytable/ })
      .click();
    await page.getByRole("button", { name: "Close the shell" }).click();
    await page.getByRole("button", { name: "Modify table" }).click();
    await dialog.getByLabel("Max versions").fill("3");
    assert.equal(await shown("The same as", "Shell"), "alter -t mytable --version 3");
    await dialog.getByRole("button", { name: "Save changes" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Put row" }).click();
    await dialog.getByLabel("id").fill("it's");
    await dialog.getByLabel("Column", { exact: true }).fill("name");
    await dialog.getByLabel("Value of name").fill("x");
    const put = await shown("The same as", "Shell");
    assert.equal(put, `use -t mytable\nput --pk '["it'\\''s"]' --attr '[{"c":"name","v":"x"}]' --condition not_exist`);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    const again = await openShell(page);
    for (const line of put.split("\n")) await again.run(line);
    await page.getByRole("button", { name: "Close the shell" }).click();
    await shell.waitFor({ state: "detached" });
    await page.locator(".browser table.grid button.open-row").first().click();
    assert.match(await shown("Delete row is", "Shell"), /delete --pk '\["it'\\''s"\]' --condition exist --if /);
    await dialog
      .getByRole("button", { name: /^Delete the column name|Delete column name|Delete all versions of name/ })
      .first()
      .click();
    assert.match(await shown("The last deletion is", "Shell"), /update --pk .* --delete_columns name --condition exist/);
  },
  { needs: ["locators"] },
);

test("W2: the main path of the shell works in every engine: the key, lines, an answer, a marked error", async (t) => {
  const server = await serveConsole(t);
  const context = await startBrowser(t);
  const page = await context.newPage();
  await page.goto(`${server.origin}/#/everywhere?storage=memory`);
  await page.waitForFunction(() => document.querySelector("[aria-controls=shell]") !== null);
  await page.evaluate(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "`", bubbles: true })));
  await page.waitForFunction(() => document.querySelector("#shell [role=combobox]") !== null);
  const run = async (line, until) => {
    await page.evaluate((line) => {
      const field = document.querySelector("#shell [role=combobox]");
      field.value = line;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, line);
    await page.waitForFunction((line) => document.querySelector("#shell [role=combobox]").value === line, line);
    await page.evaluate(() => document.querySelector("#shell [role=combobox]").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })));
    await page.waitForFunction((until) => document.querySelector("#shell .shell-log").innerText.includes(until), until);
  };
  await run(CREATE, "Table mytable is created.");
  await run("alter -t mytable --ttl 86400 --version 1", "data lives 86400 seconds");
  await run("use -t mytable", "Table mytable is used.");
  await run(`put --pk '["86",6771]' --attr '[{"c":"name","v":"redchen"}]'`, "The row is put.");
  await run("scan --limit 10", "redchen");
  await run("lst", "did you mean 'list'?");
  assert.equal(await page.evaluate(() => document.querySelector("#shell mark").innerText), "lst");
});
