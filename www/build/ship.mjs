// Puts the built console into the package: `node build/ship.mjs`, which `npm run build` calls. The package's console is the same but for
// two things: it has the small data sets only, and a service worker that keeps its files for a visit without a network.

import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const from = at("../dist");
const to = at("../../pkg/dist/console");
/** The largest data set that everybody who installs the package downloads, in bytes. */
const LARGEST_DATA = 1.5 * 1024 * 1024;

const isShipped = (file) => path.dirname(file) !== path.join(from, "data") || statSync(file).size <= LARGEST_DATA;

/** The files of the console, as addresses that are relative to it. */
const files = () =>
  readdirSync(to, { recursive: true })
    .map((name) => name.split(path.sep).join("/"))
    .filter((name) => statSync(path.join(to, name)).isFile())
    .sort();

/** Replaces a text of the page that its build has put there. */
function replaced(html, before, after) {
  if (!html.includes(before)) throw new Error(`the built page has no ${before}`);
  return html.replace(before, after);
}

rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true, filter: isShipped });

const shipped = files();
const data = shipped.filter((name) => name.startsWith("data/") && name !== "data/NOTICE.txt").map((name) => name.slice("data/".length));
const page = path.join(to, "index.html");
const html = readFileSync(page, "utf8");
const known = /<meta name="data-sets" content="[^"]*">/.exec(html)?.[0];
if (known === undefined) throw new Error("the built page does not name its data sets");
const withData = replaced(html, known, `<meta name="data-sets" content="${data.join(" ")}">`);
writeFileSync(page, replaced(withData, "</head>", '  <meta name="service-worker" content="service-worker.js">\n  </head>'));

const digest = createHash("sha256");
for (const name of shipped) digest.update(`${name}\n`).update(readFileSync(path.join(to, name)));
const worker = readFileSync(at("service-worker.js"), "utf8");
writeFileSync(
  path.join(to, "service-worker.js"),
  `const VERSION = "${digest.digest("hex").slice(0, 16)}";\nconst FILES = ${JSON.stringify(shipped.map((name) => (name === "index.html" ? "./" : name)))};\n${worker}`,
);
