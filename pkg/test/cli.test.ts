/** `npx tabstore`: the program, started as a person starts it. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { skip } from "./support/package.js";

const program = path.resolve("dist/cli.js");
const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
function run(args: readonly string[], input = ""): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { input, encoding: "utf8", cwd: folder });
  return { status, stdout, stderr };
}

/** The arguments that run lines. */
const lines = (...all: readonly string[]): string[] => all.flatMap((line) => ["-e", line]);

const CREATE = `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`;

test("W2: npx tabstore -e runs lines on an instance in files, and the next run finds the rows", { skip }, () => {
  const at = ["--data", path.join(folder, "data"), "--instance", "Shop"];
  const first = run([...at, ...lines(CREATE, "use -t mytable", `put --pk '["86", 6771]' --attr '[{"c":"name","v":"名前"}]'`)]);
  assert.deepEqual([first.status, first.stderr], [0, `The instance Shop in ${path.join(folder, "data")} is new.\n`]);
  assert.match(first.stdout, /^Table mytable is created\.\nTable mytable is used\.\nThe row is put\.\n1 write unit, [\d.]+ ms\n$/);
  const second = run([...at, ...lines("alter -t mytable --ttl 86400 --version 1", "use -t mytable", "scan --limit 10")]);
  assert.deepEqual([second.status, second.stderr], [0, ""]);
  assert.match(second.stdout, /\nuid \| +pid \| name\n----\+------\+-----\n86 +\| 6771 \| 名前\n1 row, 1 read unit, /);
  const json = run([...at, ...lines("scan -f json -t mytable")]);
  assert.equal(JSON.parse(json.stdout)[0].Attr.Values[0].V, "名前");
});

test("W2: lines of the standard input end at the first error with code 1, unless told to go on", { skip }, () => {
  const input = `${CREATE}\n# a comment\n\nlst\nlist\n`;
  const stopped = run([], input);
  assert.equal(stopped.status, 1);
  assert.equal(stopped.stdout, "Table mytable is created.\n");
  assert.match(stopped.stderr, /^lst\n\^\^\^\nThere is no command 'lst'; did you mean 'list'\?\n$/);
  const onward = run(["--keep-going"], input);
  assert.equal(onward.status, 1);
  assert.match(onward.stdout, /mytable\n1 row, /);
  const quit = run([], "quit\nlst\n");
  assert.deepEqual([quit.status, quit.stdout], [0, ""]);
  const refused = run(lines(CREATE, CREATE));
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /^OTSObjectAlreadyExist: /);
});

test("W2: import and export work on files, which are whole or not there", { skip }, () => {
  writeFileSync(path.join(folder, "rows.csv"), "uid,pid,age\na,1,32\nb,2,33\n");
  const done = run(lines(CREATE, "use -t mytable", "import -i rows.csv", "export -o out", "export -o out.csv -l 1", "desc -o meta.json", "scan"));
  assert.deepEqual([done.status, done.stderr], [0, "Written to meta.json.\n"]);
  assert.match(
    readFileSync(path.join(folder, "out"), "utf8"),
    /^\{"PK":\{"Values":\["a",1\]\},"Attr":\{"Values":\[\{"C":"age","V":32,"t":"integer","TS":\d+\}\]\}\}\n/,
  );
  assert.equal(readFileSync(path.join(folder, "out.csv"), "utf8"), "uid,pid,age\r\na,1,32\r\n");
  assert.equal(JSON.parse(readFileSync(path.join(folder, "meta.json"), "utf8")).Name, "mytable");
  const failed = run(lines(CREATE, "use -t mytable", "export -o nowhere/out"));
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /ENOENT/);
  const missing = run(lines(CREATE, "use -t mytable", "import -i missing"));
  assert.match(missing.stderr, /The file cannot be read: .*(?:ENOENT|missing|open)/);
  assert.ok(!readdirSync(folder).some((name) => name.includes(".part-")));
});

test("W2: --help and --version tell, and wrong arguments are refused with code 2", { skip }, () => {
  assert.match(run(["--help"]).stdout, /^Usage: tabstore \[--data DIR\]/);
  assert.equal(run(["--version"]).stdout.trim(), JSON.parse(readFileSync("package.json", "utf8")).version);
  const wrong = run(["--nothing"]);
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /--nothing.*\nUsage: /);
  const name = run(["--instance", "-", "-e", "list"]);
  assert.notEqual(name.status, 0);
});

test("W2: a reader that leaves early ends the program without a word", { skip }, async () => {
  const child = spawn(process.execPath, [program, ...lines(...Array.from({ length: 50 }, () => "help"))], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  child.stdout.once("data", () => child.stdout.destroy());
  await new Promise((resolve) => child.on("close", resolve));
  assert.equal(said, "");
});

const hasScript = existsSync("/usr/bin/script") && process.platform === "linux";

test("W2: in a terminal it asks for lines, completes, asks before a drop, and keeps the history", {
  skip: skip || (!hasScript && "no script(1)"),
}, async (t) => {
  const data = path.join(folder, "asked");
  const command = `${process.execPath} ${program} --data ${data} --instance talk`;
  const child = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], { env: { ...process.env, TERM: "xterm", COLUMNS: "200" } });
  t.after(() => child.kill());
  let seen = "";
  child.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString("utf8")));
  /** Waits until a text has come, and forgets what came before it. */
  const see = async (text: string): Promise<void> => {
    for (const end = Date.now() + 20_000; !seen.includes(text); ) {
      if (Date.now() > end || child.exitCode !== null) assert.fail(`no ${JSON.stringify(text)} in ${JSON.stringify(seen)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    seen = seen.slice(seen.indexOf(text) + text.length);
  };
  const say = (text: string): void => void child.stdin.write(text);
  await see("talk> ");
  say(`${CREATE}\r`);
  await see("Table mytable is created.");
  await see("talk> ");
  say("use -t my");
  await see("my");
  // Keys that come together with others are a paste, which is not completed.
  say("\t");
  await see("table");
  say("\r");
  await see("Table mytable is used.");
  await see("talk/mytable> ");
  say("pt\r");
  await see("did you mean 'put'?");
  await see("talk/mytable> ");
  say("half of a line\u0003");
  await see("leaves");
  await see("talk/mytable> ");
  say("drop -t mytable\r");
  await see("[y/N] ");
  say("n\r");
  await see("Table mytable is kept.");
  await see("talk/mytable> ");
  say("\u001b[A");
  say("\u001b[A");
  await see("pt");
  say("\r");
  await see("did you mean 'put'?");
  await see("talk/mytable> ");
  say("quit\r");
  await new Promise((resolve) => child.on("close", resolve));
  const history = path.join(data, ".tabstore_history");
  assert.deepEqual(readFileSync(history, "utf8").trimEnd().split("\n"), [CREATE, "use -t mytable ", "pt", "drop -t mytable", "pt", "quit"]);
  assert.equal(statSync(history).mode & 0o777, 0o600);
});
