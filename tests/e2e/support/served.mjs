// `npx tabstore serve` of the built package, as a person starts it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { root } from "./server.mjs";

const dist = (file) => path.join(root, "pkg/dist", file);

/** Starts a server; ports that are not given are free ones. Gives its addresses, and what kills it. */
export async function serve(t, ...args) {
  const ports = ["--port", "--azure-port", "--console-port"].flatMap((name) => (args.includes(name) ? [] : [name, "0"]));
  const child = spawn(process.execPath, [dist("cli.js"), "serve", ...ports, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  t.after(kill);
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (/^(?:The access key is|Every request passes)/.test(line)) break;
  }
  const of = (name) => new RegExp(`^ {2}${name} +(http://\\S+)`, "m").exec(lines.join("\n"))?.[1];
  return { tablestore: of("Table Store"), console: of("Console"), kill };
}

/** The same instance by the official protocol, as another program has it. */
export async function program(t, { tablestore }, credentials = { accessKeyId: "testid", accessKeySecret: "testsecret" }) {
  const { connect } = await import(pathToFileURL(dist("cloud.js")).href);
  const db = await connect(tablestore, credentials, { instanceName: "demo" });
  t.after(() => db.close());
  return db;
}
