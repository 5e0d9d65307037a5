// Azurite's table service as a process of its own on loopback, with its data in memory.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const HOST = "127.0.0.1";
const { resolve } = createRequire(import.meta.url);
const main = resolve("azurite/dist/src/table/main.js");

/** A port that nobody listens on. */
async function freePort() {
  const server = net.createServer();
  await new Promise((done) => server.listen(0, HOST, done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const answers = (port) => new Promise((done) => {
  const socket = net.connect(port, HOST);
  socket.once("connect", () => done(true)).once("error", () => done(false));
  socket.once("connect", () => socket.end());
});

/** Starts it with an account. `stop` ends it. */
export async function startAzurite(account, key) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-azurite-"));
  const port = await freePort();
  const options = ["--tableHost", HOST, "--tablePort", String(port), "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"];
  const child = spawn(process.execPath, [main, ...options], { cwd: folder, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, AZURITE_ACCOUNTS: `${account}:${key}` } });
  let ended = false;
  const end = new Promise((done) => child.once("exit", done)).then(() => {
    ended = true;
  });
  const kill = () => process.kill(child.pid);
  process.once("exit", () => ended || kill());
  const stop = async () => {
    if (!ended) kill();
    await end;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + 60_000; !(await answers(port));) {
    if (ended) throw new Error("Azurite ended as it began");
    if (Date.now() > until) {
      await stop();
      throw new Error("Azurite does not listen");
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return { url: `http://${HOST}:${port}/${account}`, stop };
}
