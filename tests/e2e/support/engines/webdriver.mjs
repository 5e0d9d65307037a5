// A driven browser over WebDriver, with as much of a Playwright context as the tests use.

import http from "node:http";

/** A value as text: what JSON cannot say gets a mark. Runs here and in the page. */
function encode(value) {
  return JSON.stringify({ value }, (key, one) => {
    if (one === undefined) return { mark: "undefined" };
    if (typeof one === "bigint") return { mark: "bigint", text: String(one) };
    if (typeof one === "number" && (!Number.isFinite(one) || Object.is(one, -0))) return { mark: "number", text: Object.is(one, -0) ? "-0" : String(one) };
    return one;
  });
}

function decode(text) {
  const plain = (one) => {
    if (typeof one !== "object" || one === null) return one;
    if (one.mark === "undefined") return undefined;
    if (one.mark === "bigint") return BigInt(one.text);
    if (one.mark === "number") return Number(one.text);
    for (const name of Object.keys(one)) one[name] = plain(one[name]);
    return one;
  };
  return plain(JSON.parse(text).value);
}

/**
 * Calls a function in the page. The answer also has the errors that nobody caught since the last call. A window that has not the
 * name that was meant does nothing.
 */
async function call(body, argument, encode, decode, name) {
  if (globalThis.name !== name) return null;
  const answer = {};
  try {
    answer.value = await body(decode(argument));
  } catch (error) {
    answer.error = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
  // A listener of the page may say that an error is none, later than ours hears of it.
  answer.uncaught = (globalThis.uncaughtErrors?.splice(0) ?? []).filter(({ event }) => !event.defaultPrevented).map(({ text }) => text);
  return encode(answer);
}

/** Notes the errors that nobody catches. */
function watchErrors() {
  globalThis.uncaughtErrors = [];
  addEventListener("error", (event) => uncaughtErrors.push({ event, text: event.message }));
  addEventListener("unhandledrejection", (event) => uncaughtErrors.push({ event, text: `unhandled: ${event.reason}` }));
}

class Page {
  #context;
  #handle;
  #listeners = [];

  constructor(context, handle) {
    this.#context = context;
    this.#handle = handle;
  }

  #command(method, path, body) {
    return this.#context.command(this.#handle, method, path, body);
  }

  on(event, listener) {
    if (event !== "pageerror") throw new Error(`pages over WebDriver do not tell of ${event}`);
    this.#listeners.push(listener);
  }

  async evaluate(body, argument) {
    // A page may forbid `eval`, so all of it is in the script itself. A text is what a function does.
    const source = typeof body === "string" ? `() => { ${body} }` : body;
    const script = `return (${call})(${source}, arguments[0], ${encode}, ${decode}, ${JSON.stringify(this.#handle)})`;
    const run = () => this.#command("POST", "/execute/sync", { script, args: [encode(argument)] });
    let answer = await run();
    for (; answer === null; answer = await run()) await this.#mark();
    const { value, error, uncaught } = decode(answer);
    for (const one of uncaught) for (const listener of this.#listeners) listener(new Error(one));
    if (error !== undefined) throw new Error(`page.evaluate: ${error}`);
    return value;
  }

  async waitForFunction(body, argument, { timeout = 30_000 } = {}) {
    const until = performance.now() + timeout;
    for (;;) {
      if (await this.evaluate(body, argument)) return;
      if (performance.now() > until) throw new Error(`page.waitForFunction: not true after ${timeout} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Scripts that should run before those of the page run right behind them: before the tests do anything. */
  async #loaded() {
    for (const script of [watchErrors, ...this.#context.scripts]) await this.evaluate(`(${script})()`);
  }

  /** Gives the window its name. */
  #mark() {
    return this.#context.alone(this.#handle, "POST", "/execute/sync", { script: "globalThis.name = arguments[0]", args: [this.#handle] });
  }

  async goto(url) {
    await this.#context.alone(this.#handle, "POST", "/url", { url });
    await this.#loaded();
  }

  async reload() {
    await this.#context.alone(this.#handle, "POST", "/refresh", {});
    await this.#loaded();
  }

  async close() {
    await this.#context.alone(this.#handle, "DELETE", "/window");
  }
}

/** A session of WebDriver on a port. */
export class Context {
  /** The scripts of new documents. */
  scripts = [];
  #port;
  #session;
  #end;
  #agent = new http.Agent({ keepAlive: true });
  #turn = Promise.resolve();
  #window;

  // A window of no page: a command must not meet a window that was closed.
  #home;

  /** `end` ends the browser and its driver. */
  static async start(port, capabilities, end) {
    const context = new Context();
    context.#port = port;
    context.#end = end;
    const { sessionId } = await context.#answer("POST", "/session", { capabilities: { alwaysMatch: capabilities } });
    context.#session = `/session/${sessionId}`;
    await context.#answer("POST", `${context.#session}/timeouts`, { script: null });
    context.#home = await context.#answer("GET", `${context.#session}/window`);
    return context;
  }

  #send(method, path, body) {
    const request = http.request({ port: this.#port, host: "127.0.0.1", agent: this.#agent, method, path });
    const answer = new Promise((resolve, reject) => {
      request.on("error", reject);
      request.on("response", async (response) => {
        try {
          const { value } = JSON.parse(String(Buffer.concat(await response.toArray())));
          if (response.statusCode === 200) resolve(value);
          else reject(new Error(`${value.error}: ${value.message} (${method} ${path})`));
        } catch (error) {
          reject(error);
        }
      });
    });
    answer.catch(() => {});
    const sent = new Promise((resolve) => request.once("finish", resolve).once("error", resolve));
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return { answer, sent };
  }

  #answer(method, path, body) {
    return this.#send(method, path, body).answer;
  }

  /** Does something that needs a window, in its turn. A session has one current window. */
  #inTurn(handle, act) {
    const acting = this.#turn.then(async () => {
      if (this.#window !== handle) {
        await this.#answer("POST", `${this.#session}/window`, { handle });
        this.#window = handle;
      }
      return act();
    });
    this.#turn = acting.catch(() => {});
    return acting;
  }

  /**
   * A command for a window, whose answer is awaited outside of its turn: it may take as long as what another window does. The
   * driver asks for the current window later than it takes a command, so this may be done in another one.
   */
  async command(handle, method, path, body) {
    const { answer } = await this.#inTurn(handle, async () => {
      const { answer, sent } = this.#send(method, this.#session + path, body);
      await sent;
      return { answer };
    });
    return answer;
  }

  /** A command for a window, which is done before any other is sent. */
  alone(handle, method, path, body) {
    return this.#inTurn(handle, () => this.#answer(method, this.#session + path, body));
  }

  async newPage() {
    // A tab behind another one would be hidden, and slow.
    const { handle } = await this.alone(this.#home, "POST", "/window/new", { type: "window" });
    return new Page(this, handle);
  }

  addInitScript(script) {
    this.scripts.push(script);
  }

  async close() {
    this.#agent.destroy();
    await this.#end();
  }
}
