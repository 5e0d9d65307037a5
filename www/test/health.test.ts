import assert from "node:assert/strict";
import { test } from "node:test";

import { type Metrics, type TableDescription, TabStoreError } from "tabstore";

import { failedIndexes, isOver, meaningOf } from "../src/lib/health.ts";
import { dismiss, forgetTroubles, hear, healthChanged, leaveToTables, settle, troubles } from "../src/state/health.ts";

const error = (code: string, message = "told") => new TabStoreError({ code, status: 500, retryable: false, message });
const reading = ({ epoch = 1, reserve = 100, compactions = 0, passed = 0 }) =>
  ({ epoch, reserve: { bytes: reserve, capacity: 100 }, work: { compactions, passedPartitions: passed } }) as Metrics;
const shown = () => troubles.value.map((one) => one.error.code);

test("a problem goes away when the engine's figures show that it is over", () => {
  forgetTroubles();
  for (const code of ["QuotaExceeded", "Corrupt", "Unavailable", "ClockJumped"]) hear(error(code));
  settle(reading({ reserve: 40, compactions: 7, passed: 1 }));
  assert.deepEqual(shown(), ["QuotaExceeded", "Corrupt", "Unavailable", "ClockJumped"]);
  settle(reading({ reserve: 40, compactions: 8, passed: 1 }));
  assert.deepEqual(shown(), ["QuotaExceeded", "Corrupt", "ClockJumped"], "a compaction has come through");
  settle(reading({ compactions: 8 }));
  assert.deepEqual(shown(), ["ClockJumped"], "there is room again, and no partition is skipped");
  dismiss(troubles.value[0] ?? assert.fail());
  assert.deepEqual(shown(), []);
});

test("compactions of another engine are not compared with those of the one before", () => {
  forgetTroubles();
  hear(error("Unavailable"));
  settle(reading({ compactions: 7 }));
  settle(reading({ epoch: 2 }));
  settle(reading({ epoch: 2 }));
  assert.deepEqual(shown(), ["Unavailable"]);
  settle(reading({ epoch: 2, compactions: 1 }));
  assert.deepEqual(shown(), []);
  assert.equal(isOver({ error: error("Corrupt"), since: undefined }, reading({ compactions: 9 })), false, "it has not been read yet");
});

test("a problem that is told again is shown once, and the end of one is heard", () => {
  forgetTroubles();
  const before = healthChanged.value;
  hear(error("Corrupt", "one"));
  hear(error("Corrupt", "two"));
  hear(null);
  assert.deepEqual(
    troubles.value.map((one) => one.error.message),
    ["two"],
  );
  assert.equal(healthChanged.value, before + 3);
});

test("an index that could not be built is told by its table, as long as that is so", () => {
  forgetTroubles();
  const failure = error("Corrupt", "block 7 is damaged");
  const tables = [
    {
      tableName: "t",
      indexes: [
        { indexName: "fine", failure: null },
        { indexName: "i", failure },
      ],
    },
  ] as unknown as TableDescription[];
  hear(error("Corrupt", "Index 'i' is not built, the next try is in 5 s: block 7 is damaged"));
  hear(error("Unavailable", "another matter"));
  leaveToTables(tables);
  assert.deepEqual(shown(), ["Unavailable"]);
  assert.deepEqual(failedIndexes(tables), [{ tableName: "t", indexName: "i", failure }]);
});

test("whatever is told has words", () => {
  for (const code of ["QuotaExceeded", "Corrupt", "Unavailable", "ClockJumped", "SomethingNew"]) {
    const { title, help } = meaningOf(error(code));
    assert.ok(title.length > 10 && help.endsWith("."), code);
  }
});
