// `npx tabstore serve` as a process of its own, on ports that are free.

import { spawn } from "node:child_process";
import path from "node:path";

/**
 * Starts the server of a build, and gives the address that it prints for `door`: "Table Store" or "Azure tables". `stop` resolves
 * when it has ended.
 */
export async function startServer(dist, door, options = []) {
  const args = [path.join(dist, "cli.js"), "serve", "--port", "0", "--azure-port", "0", "--console-port", "0", ...options];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((resolve, reject) => {
    let printed = "";
    child.stdout.on("data", (data) => {
      printed += data;
      const found = new RegExp(`${door} +(http:\\S+)`).exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  };
  return { address, stop };
}
