/** Programs in processes of their own: of Node, and of Python with the official SDK, which `cargo xtask test package` installs. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

import { skip as notBuilt } from "./package.js";

/** The folder of the SDK and of what it needs. */
const FOLDER = process.env["TABSTORE_PYTHON_SDK"] ?? path.resolve("../target/python-sdk");

/** Why tests with the SDK are skipped, if so. */
export const skipPython = notBuilt || (!existsSync(path.join(FOLDER, "tablestore")) && "the Python SDK could not be installed");

/** What became of a program. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. This process goes on meanwhile: it may be the server. */
function run(command: string, args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (data) => (stdout += data));
  child.stderr.on("data", (data) => (stderr += data));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}

/** Runs a program of Node, which finds the packages of this folder wherever it stands. */
export const node = (program: string, ...args: string[]): Promise<Ended> =>
  run(process.execPath, [program, ...args], { NODE_PATH: path.resolve("node_modules") });

/** Runs a program of Python, which finds the SDK. */
export const python = (program: string, ...args: string[]): Promise<Ended> =>
  run("python3", [program, ...args], { PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: "1" });
