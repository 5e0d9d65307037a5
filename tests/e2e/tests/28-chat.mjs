// The chat of the console's examples: tabs of several people, what each has not read, and the end of the tab that leads.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { load, startBrowser } from "../support/browser.mjs";
import { openConsole, shoot, SIZES } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const at = (settings) => `#/examples/chat?${new URLSearchParams(settings)}`;
/** The conversation in the list. */
const room = (page, name) => page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name });
/** How many messages the list says are unread. */
const unread = (page, name) => room(page, name).locator(".badge");
const field = (page, name) => page.getByRole("textbox", { name: `Message to ${name}` });
/** All that is shown of a conversation: messages, who has joined, and the line of new messages. */
const shown = (page) =>
  page
    .locator(".chat-messages")
    .evaluate((list) =>
      [...list.querySelectorAll(".chat-message p, .chat-joined, .chat-new")].map(
        (one) => one.firstChild.textContent + (one.matches(".chat-joined") ? " joined" : ""),
      ),
    );
/** Waits until the last message shown is this one. */
const last = (page, text) => page.locator(".chat-message").last().getByText(text, { exact: true }).waitFor();

async function say(page, name, text) {
  await field(page, name).fill(text);
  await field(page, name).press("Enter");
}

/** Waits until a list of unread counts says so; `undefined`: nothing is unread. */
async function counts(page, name, wanted) {
  if (wanted === undefined) await unread(page, name).waitFor({ state: "detached" });
  else
    await unread(page, name)
      .filter({ hasText: new RegExp(`^${wanted} unread$`) })
      .waitFor();
}

test(
  "L3, L2: people in two tabs talk, one comes late and one comes back; the tab that leads is closed while they do",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.desktop });
    const open = (settings) => openConsole(t, context, server, at(settings));
    const ann = await open({ as: "Ann" });
    await ann.getByText("You are in no conversation yet.").waitFor();
    const bob = await open({ as: "Bob" });
    await bob.getByText("You are in no conversation yet.").waitFor();

    // A conversation that begins in one tab is seen in the other, and so is who joins.
    await ann.getByRole("textbox", { name: "Name of a new conversation" }).fill("Lunch");
    await ann.keyboard.press("Enter");
    await say(ann, "Lunch", "Who is hungry?");
    await last(ann, "Who is hungry?");
    await bob.getByRole("button", { name: "Join Lunch" }).click();
    await last(bob, "Who is hungry?");
    await ann.getByText("You and Bob", { exact: true }).waitFor();
    await ann.locator(".chat-joined").getByText("Bob joined").waitFor();

    // Who reads something else has unread messages, and finds the first of them.
    await ann.goto(`${server.origin}/${at({ as: "Ann" })}`);
    await ann.getByText("Choose a conversation").waitFor();
    for (const text of ["I am.", "Soup?", "Or the place\nat the corner?"]) await say(bob, "Lunch", text);
    await counts(ann, "Lunch", 3);
    await ann.waitForFunction(() => document.title === "(3) Ann – Chat – TabStore console");
    await shoot(ann, "70-chat-unread");
    await room(ann, "Lunch").click();
    await counts(ann, "Lunch", undefined);
    assert.deepEqual(await shown(ann), ["You joined", "Who is hungry?", "Bob joined", "New messages", "I am.", "Soup?", "Or the place\nat the corner?"]);
    // The same person in another tab has read them too.
    const again = await open({ as: "Ann" });
    await room(again, "Lunch").waitFor();
    await counts(again, "Lunch", undefined);
    await again.close();

    // The third one comes late, and reads what was said before.
    const eve = await open({ as: "Eve", room: "Lunch" });
    await eve.getByRole("heading", { name: "You are not in Lunch yet" }).waitFor();
    await shoot(eve, "71-chat-late");
    await eve.locator(".chat-main").getByRole("button", { name: "Join Lunch" }).click();
    await last(eve, "Or the place\nat the corner?");
    assert.equal((await shown(eve)).length, 7);
    await eve.getByText("You, Ann and Bob", { exact: true }).waitFor();
    await shoot(eve, "72-chat-joined");

    // The tab that leads is closed while another one writes.
    const said = Array.from({ length: 30 }, (_, number) => `number ${number}`);
    for (const [number, text] of said.entries()) {
      await say(bob, "Lunch", text);
      if (number === 10) await ann.close();
    }
    await last(eve, "number 29");
    for (const page of [bob, eve])
      assert.deepEqual(
        (await shown(page)).filter((one) => one.startsWith("number")),
        said,
      );
    await say(eve, "Lunch", "You can stop counting.");
    await last(bob, "You can stop counting.");
    assert.equal(await bob.locator(".error-note").count(), 0);
    await shoot(bob, "73-chat-handed-over");

    // Who comes back catches up from the last read message on. Its tab could read some of the numbers before it was closed.
    const back = await open({ as: "Ann" });
    await unread(back, "Lunch").waitFor();
    const missed = Number.parseInt(await unread(back, "Lunch").innerText(), 10);
    assert.ok(missed >= 20 && missed <= 31, `${missed} are unread`);
    await room(back, "Lunch").click();
    await back.locator(".chat-new").waitFor();
    const whole = await shown(back);
    assert.deepEqual(whole.slice(whole.indexOf("New messages") + 1), [...said, "You can stop counting."].slice(-missed));
    // What is below the screen is still unread.
    await counts(back, "Lunch", missed);
    await shoot(back, "74-chat-back");
    await back.getByRole("button", { name: `${missed} new messages` }).click();
    await counts(back, "Lunch", undefined);
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "L3, L2: a long history is read back from its end and forward from its beginning, and the place stays when it grows",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.desktop });
    const ann = await openConsole(t, context, server, at({ as: "Ann" }));
    await ann.getByRole("button", { name: /^Add a sample/ }).click();
    // Bob says three of the last five messages. The conversation can be opened before they are there.
    await counts(ann, "Allotment", 3);
    await room(ann, "Allotment").click();
    await ann.locator(".chat-new").waitFor();
    await counts(ann, "Allotment", undefined);
    const log = ann.locator(".chat-log");
    // Only some pages are there before somebody scrolls back.
    const before = await ann.locator(".chat-message").count();
    assert.ok(before >= 40 && before < 100, `${before} messages`);
    // What is in sight stays in sight while older messages come above it.
    const moved = await log.evaluate(async (element) => {
      const first = element.querySelector(".chat-message");
      element.scrollTop = first.offsetTop;
      const place = first.getBoundingClientRect().top;
      const count = element.querySelectorAll(".chat-message").length;
      while (element.querySelectorAll(".chat-message").length === count) await new Promise(requestAnimationFrame);
      return first.getBoundingClientRect().top - place;
    });
    assert.ok(Math.abs(moved) < 2, `it has moved by ${moved} pixels`);
    while (!(await ann.getByText("This is the beginning of Allotment.").isVisible())) {
      await log.evaluate((element) => {
        element.scrollTop = 0;
      });
      await ann.waitForTimeout(20);
    }
    const whole = await shown(ann);
    const top = await log.evaluate((element) => element.scrollTop);

    // Somebody writes meanwhile: the place stays, and a button leads there.
    const bob = await openConsole(t, context, server, at({ as: "Bob", room: "Allotment" }));
    await say(bob, "Allotment", "Is anybody there?");
    await counts(ann, "Allotment", 1);
    assert.equal(await log.evaluate((element) => element.scrollTop), top);
    await ann.getByRole("button", { name: "1 new message" }).click();
    await last(ann, "Is anybody there?");
    await counts(ann, "Allotment", undefined);
    assert.equal(await ann.locator(".chat-newest").count(), 0);

    // The other way: from the beginning forward, to the end.
    await bob.getByRole("button", { name: "Go to the beginning" }).click();
    await bob.getByText("This is the beginning of Allotment.").waitFor();
    assert.equal(await bob.locator(".chat-log").evaluate((element) => element.scrollTop), 0);
    assert.equal((await bob.locator(".chat-message").count()) < 50, true);
    // Ann writes all the while: a message that comes while the last page is being read is shown too.
    await bob.evaluate(() => {
      globalThis.scrolling = setInterval(() => {
        const log = document.querySelector(".chat-log");
        log.scrollTop = log.scrollHeight;
      }, 4);
    });
    const spoken = Array.from({ length: 15 }, (_, number) => `meanwhile ${number}`);
    for (const text of spoken) await say(ann, "Allotment", text);
    await last(bob, "meanwhile 14");
    await bob.evaluate(() => clearInterval(scrolling));
    await counts(bob, "Allotment", undefined);
    const plain = (texts) => texts.filter((one) => one !== "New messages").map((one) => one.replace(/^(You|Ann|Bob) joined/, "joined"));
    assert.deepEqual(plain(await shown(bob)), [...plain(whole), "Is anybody there?", ...spoken]);
    await bob.getByRole("button", { name: "Go to the beginning" }).click();
    await bob.getByRole("button", { name: "Newest messages" }).click();
    await last(bob, "meanwhile 14");
  },
  { full: true, needs: ["locators"] },
);

test(
  "L3: what the chat stores are timelines, which the package reads",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.desktop });
    const ann = await openConsole(t, context, server, at({ as: "Ann" }));
    await ann.getByRole("textbox", { name: "Name of a new conversation" }).fill("Lunch");
    await ann.keyboard.press("Enter");
    await say(ann, "Lunch", "Soup?");
    await last(ann, "Soup?");
    const other = await context.newPage();
    await load(other, server, "/package/");
    const stored = await other.evaluate(async () => {
      const db = await T.open("example-chat");
      const rows = async (tableName) => (await db.getRange({ tableName })).rows.map((row) => row.toObject());
      return { messages: await rows("chat_message"), inboxes: await rows("chat_inbox"), role: db.role };
    });
    assert.equal(stored.role, "follower");
    assert.deepEqual(
      stored.messages.map(({ room, from, kind, text }) => [room, from, kind, text]),
      [
        ["Lunch", "Ann", "join", ""],
        ["Lunch", "Ann", "text", "Soup?"],
      ],
    );
    assert.deepEqual(
      stored.inboxes.map(({ user, id, text }) => [user, id, text]),
      stored.messages.map(({ sequence_id: id, text }) => ["Ann", id, text]),
    );
  },
  { needs: ["locators"] },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `L3: axe finds nothing in the examples and in the chat, and it works by the keyboard (${size}, light and dark)`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport });
      const page = await openConsole(t, context, server, "#/examples");
      const findings = [];
      const look = async (name) => {
        findings.push(...(await faults(page, name, (theme) => shoot(page, `75-chat-${size}-${name}-${theme}`))));
        await fitsWidth(page, name);
      };
      await page.getByRole("heading", { name: "Examples", exact: true }).waitFor();
      await look("examples");
      await page.getByRole("link", { name: /^Chat/ }).click();
      await page.getByText("Who are you in this tab?").waitFor();
      await look("who");
      await page.getByRole("textbox", { name: "Another name" }).fill("Zoë");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Add a sample/ }).waitFor();
      await look("empty");
      // From here on only keys: to the sample, to its conversation, and a message.
      const focus = (name) =>
        page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent).then((text) => text?.startsWith(name));
      const tabTo = async (name) => {
        for (let tries = 0; tries < 40 && !(await focus(name)); tries++) await page.keyboard.press("Tab");
        assert.ok(await focus(name), `no key leads to ${name}`);
      };
      await tabTo("Add a sample");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Join Allotment" }).waitFor();
      await look("to join");
      await tabTo("Join Allotment");
      await page.keyboard.press("Enter");
      await field(page, "Allotment").waitFor();
      await page.locator(".chat-message").first().waitFor();
      await tabTo("Message to Allotment");
      await page.keyboard.type("Hello!");
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("I am new here.");
      await page.keyboard.press("Enter");
      await last(page, "Hello!\nI am new here.");
      assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
      await look("conversation");
      // The messages take the focus too, so that keys scroll them.
      await page.locator(".chat-log").focus();
      await page.keyboard.press("Home");
      await page.getByRole("button", { name: "Newest messages" }).waitFor();
      await look("scrolled back");
      assert.deepEqual(findings, []);
    },
    { needs: ["locators"], seconds: 90 },
  );
}
