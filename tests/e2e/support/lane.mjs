// A process that runs tests in the browsers of one engine, one after another: this side asks, and `lane-main.mjs` answers.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export class Lane {
  #child;
  #answers = [];

  /** Whether the process has ended. */
  ended = false;

  constructor(engine) {
    this.#child = fork(fileURLToPath(new URL("lane-main.mjs", import.meta.url)), { env: { ...process.env, E2E_ENGINE: engine } });
    this.#child.on("message", (answer) => this.#answers.shift()?.resolve(answer));
    // What waits when the process ends fails.
    this.#child.on("exit", (code, signal) => {
      this.ended = true;
      for (const { reject } of this.#answers.splice(0)) reject(new Error(`the process of ${engine} ended (${signal ?? code})`));
    });
  }

  #ask(question) {
    return new Promise((resolve, reject) => {
      this.#answers.push({ resolve, reject });
      this.#child.send(question);
    });
  }

  /** All tests of the engine, in the order of their files: `{ name, file, limit, alone, shared, full }`. `limit` is the longest time, in seconds. */
  tests() {
    return this.#ask("tests");
  }

  /** Runs a test: `{ outcome, seconds, said }`. `outcome` is one of `ok`, `failed`, `ignored`; `said` has lines to print. */
  run({ at }) {
    return this.#ask(at);
  }

  /** Ends the process with its browsers. */
  async end() {
    if (this.ended) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.send("end");
    await gone;
  }
}
