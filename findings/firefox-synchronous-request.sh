#!/bin/sh
# A page that waits for a synchronous request: does it hear messages?
#
# Guess, before the run: no browser runs any handler of a page while its script waits for a synchronous XMLHttpRequest. So a page that leads
# others by a BroadcastChannel is silent meanwhile, and they notice that it hangs.
#
# Found: Chromium does as guessed. Firefox runs the handlers of BroadcastChannel and MessagePort in the middle of `request.send()`, and no
# timers. Each of 20 questions of another tab, which has a process of its own, was answered while the page waited. So a sign of life by
# messages does not tell that a page of Firefox can go on with its work, and a handler may run in the middle of a function.
#
# Needs Firefox ESR and Chromium of the system (here 153.8.0esr and 156.0.8078.108), Node 20 and npm. playwright-core is pinned: from 1.65 on
# it needs a command of WebDriver BiDi that this Firefox has not.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund playwright-core@1.64.1
cat >probe.mjs <<'SCRIPT'
import http from "node:http";
import { chromium, firefox } from "playwright-core";

const PAGE = "<!doctype html><title>page</title>";
let release;
const server = http.createServer((request, response) => {
  if (request.url !== "/held") return response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  release = () => response.end("over");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}/`;
const kinds = {
  firefox: () => firefox.launch({ executablePath: process.env.FIREFOX, env: process.env, channel: "moz-firefox", headless: true, firefoxUserPrefs: { "dom.ipc.processCount.webIsolated": 32 } }),
  chromium: () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"], headless: true }),
};
for (const [name, launch] of Object.entries(kinds)) {
  const browser = await launch();
  const context = await browser.newContext();
  const [waits, asks] = [await context.newPage(), await context.newPage()];
  for (const page of [waits, asks]) await page.goto(origin);
  await waits.evaluate(() => {
    globalThis.heard = { channel: 0, timer: 0, port: 0 };
    globalThis.isWaiting = false;
    globalThis.channel = new BroadcastChannel("asking");
    channel.onmessage = () => {
      if (isWaiting) heard.channel += 1;
      channel.postMessage("answer");
    };
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { if (isWaiting) heard.port += 1; };
    globalThis.port = port2;
  });
  await asks.evaluate(() => {
    globalThis.answers = 0;
    globalThis.channel = new BroadcastChannel("asking");
    channel.onmessage = () => (answers += 1);
  });
  const waiting = waits.evaluate(() => {
    isWaiting = true;
    const timer = setInterval(() => (heard.timer += 1), 10);
    port.postMessage("to itself");
    const request = new XMLHttpRequest();
    request.open("GET", "/held", false);
    request.send();
    isWaiting = false;
    clearInterval(timer);
    return { ...heard, text: request.responseText };
  });
  while (release === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  const answers = await asks.evaluate(async () => {
    for (let i = 0; i < 20; i++) {
      channel.postMessage("question");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return answers;
  });
  release();
  release = undefined;
  console.log(name, JSON.stringify({ answers, ...(await waiting) }));
  console.error(name, browser.version());
  await browser.close();
}
server.close();
SCRIPT
export FIREFOX="${FIREFOX:-/usr/bin/firefox-esr}" CHROMIUM="${CHROMIUM:-/usr/bin/chromium}"
node probe.mjs >found
cat >expected <<'TEXT'
firefox {"answers":20,"channel":20,"timer":0,"port":1,"text":"over"}
chromium {"answers":0,"channel":0,"timer":0,"port":0,"text":"over"}
TEXT
diff expected found && cat found
