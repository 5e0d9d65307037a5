/** What programs throw and log: anything, also what throws when somebody looks at it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Database, open } from "tabstore";

import { watched } from "../src/code/calls.ts";
import { failureOf } from "../src/code/failures.ts";
import { asError, type EndedCall } from "../src/lib/ended-call.ts";
import { logText, valueText } from "../src/lib/shown-value.ts";

/** An error with a member that throws when it is read. */
function throwing(name: string): Error {
  const get = (): never => {
    throw Object.create(null);
  };
  return Object.defineProperty(new Error("x"), name, { get });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const THROWN: Readonly<Record<string, () => unknown>> = {
  "an object without a prototype": () => Object.create(null),
  "a symbol": () => Symbol("x"),
  "an object whose text throws": () => ({ toString: () => revoked() }),
  nothing: () => undefined,
  "a proxy that is revoked": revoked,
  "an error whose message is a function": () => Object.assign(new Error("x"), { message: () => 1 }),
  "an error whose name is a symbol": () => Object.assign(new Error("x"), { name: Symbol("n") }),
  "an error whose code and hint are objects": () => Object.assign(new Error("x"), { code: {}, hint: () => 1 }),
  ...Object.fromEntries(["name", "message", "stack", "code"].map((name) => [`an error whose ${name} throws`, () => throwing(name)])),
};

for (const [what, make] of Object.entries(THROWN)) {
  test(`W1: whatever a program throws or logs can be told to the page: ${what}`, () => {
    const failure = failureOf(make(), 0);
    assert.deepEqual(structuredClone(failure), failure);
    const { code, message } = asError(make());
    for (const text of [failure.name, failure.message, code, message, valueText(make()), logText([make(), "x"])]) assert.equal(typeof text, "string");
    assert.notEqual(failure.message, "");
  });
}

test("W1: of lists of lists no more is looked at than is shown", () => {
  let looked = 0;
  const many = (make: () => unknown): unknown[] => Array.from({ length: 100 }, make);
  const one = {
    get text() {
      looked += 1;
      return "x".repeat(100);
    },
  };
  const shown = valueText(many(() => many(() => many(() => one))));
  assert.ok(shown.length <= 10_001 && shown.endsWith("…"), `${shown.length} characters`);
  assert.ok(looked < 200, `${looked} objects were looked at`);
});

test("W1: a call of a program fails as it does without the console, whatever its arguments are", async () => {
  const own = await open("thrown", { storage: "memory" });
  const made: EndedCall[] = [];
  const db = watched(own, (call) => made.push(call));
  const given: readonly unknown[] = [
    null,
    5,
    Symbol("x"),
    { tableName: () => 1 },
    Object.defineProperty({}, "tableName", { enumerable: true, get: () => throwing("x").message }),
  ];
  const failure = async (of: Database, argument: unknown): Promise<unknown> =>
    of.getRow(argument as never).then(
      () => assert.fail("it is taken"),
      (error: Error) => error.message,
    );
  for (const argument of [...given, throwing("tableName")]) assert.equal(await failure(db, argument), await failure(own, argument));
  assert.deepEqual([...new Set(made.map(({ subject }) => subject))], ["thrown", "x"]);
  await own.close();
});
