/** Each lesson: what the store proves, a right solution of both tasks, and two wrong ones of each. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Database, open } from "tabstore";

import { openClassroom } from "../src/lessons/classroom.ts";
import { type Lesson, LESSONS, loadLesson, type Task } from "../src/lessons/lesson.ts";
import { placeOf, runWords } from "../src/lessons/words.ts";

const SEED = 7;

/** Lines of a task: the right ones, and wrong ones with the message that they get. */
interface Tried {
  readonly right: readonly string[];
  readonly wrong: readonly (readonly [lines: readonly string[], message: string])[];
}

interface Expected {
  /** The answer that the store proves, from 0. */
  readonly outcome: number;
  /** Lines that the database refuses, from 0. */
  readonly refused: readonly number[];
  readonly task: Tried;
  readonly harder: Tried;
}

const visit = (type: string, days: readonly number[], columns = '{"c":"station","t":"string"},{"c":"day","t":"TYPE"}'): readonly string[] => [
  `create -t visit -k '[${columns.replace("TYPE", type)}]'`,
  "use -t visit",
  ...days.map((day) => `put -k '["S${SEED}",${type === "string" ? `"${day}"` : day}]' -a '[{"c":"ok","v":true}]'`),
];
const latest = (keyOf: (day: number) => number): readonly string[] => [
  `create -t latest -k '[{"c":"station","t":"string"},{"c":"down","t":"integer"}]'`,
  "use -t latest",
  ...[9, 10, 11].map((day) => `put -k '["S${SEED}",${keyOf(day)}]' -a '[{"c":"day","v":${day}}]'`),
];
const JUNE_23 = 1_466_676_354_000;
const fair = (columns: readonly string[], rows: number): readonly string[] => [
  `create -t fair -k '[${columns.map((name) => `{"c":"${name}","t":"${name === "at" ? "integer" : "string"}"}`).join(",")}]'`,
  "use -t fair",
  `fill ${rows} 100`,
  "flush",
  "work",
];
const mine = (reserved: number, rows: number): readonly string[] => [
  `create -t mine -k '[{"c":"id","t":"string"}]' --write_cu ${reserved}`,
  "use -t mine",
  `fill ${rows}`,
];

const EXPECTED: readonly Expected[] = [
  {
    outcome: 1,
    refused: [],
    task: {
      right: visit("integer", [9, 10, 11]),
      wrong: [
        [visit("string", [9, 10, 11]), "wrongType"],
        [visit("integer", [9, 10]), "wrongRows"],
        [[], "noTable"],
      ],
    },
    harder: {
      right: latest((day) => 9999 - day),
      wrong: [
        [latest((day) => day), "notNewestFirst"],
        [[], "noLatest"],
      ],
    },
  },
  {
    outcome: 1,
    refused: [],
    task: {
      right: ["alter -t media --version 3"],
      wrong: [
        [["compact", "alter -t media --version 3"], "notThree"],
        [["get -t media -k '[\"6555\"]' --max_version 3"], "notThree"],
        [["delete -t media -k '[\"6555\"]'"], "noRow"],
      ],
    },
    harder: {
      right: [`update -t media -k '["6555"]' --delete_versions '[{"c":"Length","ts":${JUNE_23 + 86_400_000}}]'`],
      wrong: [
        [["get -t media -k '[\"6555\"]' --max_version 1"], "stillThere"],
        [["update -t media -k '[\"6555\"]' --delete_columns Length"], "othersGone"],
      ],
    },
  },
  {
    outcome: 2,
    refused: [2, 4],
    task: {
      right: ["clock +1"],
      wrong: [
        [["delete -t lesson_day -k '[1]'"], "notStored"],
        [["scan -t lesson_day"], "stillVisible"],
        [["delete -t lesson_day -k '[3]'", "clock +1"], "otherGone"],
      ],
    },
    harder: {
      right: ["alter -t lesson_day --ttl 172800"],
      wrong: [
        [["clock -1"], "clockBack"],
        [['put -t lesson_day -k \'[1]\' -a \'[{"c":"note","v":"hello"}]\''], "notBack"],
      ],
    },
  },
  {
    outcome: 2,
    refused: [],
    task: {
      right: ["use -t letter", "fill 200", "flush"],
      wrong: [
        [["flush"], "wrongCount"],
        [["use -t letter", "fill 100", "flush"], "wrongCount"],
      ],
    },
    harder: {
      right: ["delete -t letter -k '[\"k000007\"]'", "flush", "compact"],
      wrong: [
        [["flush"], "wrongRest"],
        [["delete -t letter -k '[\"k000008\"]'", "compact"], "stillStored"],
      ],
    },
  },
  {
    outcome: 2,
    refused: [],
    task: {
      right: ["compact"],
      wrong: [
        [["flush"], "notOne"],
        [["delete -t reading -k '[\"k000007\"]'", "compact"], "wrongCount"],
      ],
    },
    harder: {
      right: ["alter -t reading --ttl 86400", "clock +86401", "compact"],
      wrong: [
        [["alter -t reading --ttl 86400", "clock +86401"], "segmentsLeft"],
        [["clock +86401", "compact"], "rowsLeft"],
        [["drop -t reading -y"], "dropped"],
      ],
    },
  },
  {
    outcome: 2,
    refused: [],
    task: {
      right: fair(["user", "page", "at"], 3000),
      wrong: [
        [fair(["page", "user", "at"], 3000), "wrongKey"],
        [fair(["user", "page", "at"], 100), "fewRows"],
        [[...fair(["user", "page", "at"], 0), "fill 3000 1", "flush", "work"], "fewPartitions"],
      ],
    },
    harder: {
      right: ["use -t fair", "fill 6000 200", "flush", "work"],
      wrong: [
        [["use -t fair", "flush"], "fewPartitions"],
        [["drop -t fair -y"], "noFair"],
      ],
    },
  },
  {
    outcome: 1,
    refused: [],
    task: {
      right: mine(10, 5),
      wrong: [
        [mine(0, 5), "notReserved"],
        [mine(10, 3), "fewWrites"],
        [mine(10, 30), "tooMuch"],
      ],
    },
    harder: {
      right: ["use -t mine", "fill 30"],
      wrong: [
        [["use -t mine", "fill 2"], "notAbove"],
        [["drop -t mine -y"], "noTable"],
      ],
    },
  },
  {
    outcome: 1,
    refused: [1],
    task: {
      right: ["use -t account", "transfer bob 17"],
      wrong: [
        [["use -t account", "transfer bob 18"], "wrongAmount"],
        [[`update -t account -k '["bob","savings"]' --increment '[{"c":"balance","v":17}]'`], "wrongSum"],
      ],
    },
    harder: {
      right: [`delete -t account -k '["ann","savings"]' --if '{"column":"balance","comparator":"EQUAL","value":2}'`],
      wrong: [
        [[`delete -t account -k '["ann","savings"]' --if '{"column":"balance","comparator":"EQUAL","value":3}'`], "wrongCount"],
        [['delete -t account -k \'["ann","cash"]\''], "stillThere"],
      ],
    },
  },
];

let opened = 0;

/** An instance in which a lesson's lines have run. A kill is the reload of a page, which there is none of. */
async function begun(lesson: Lesson): Promise<{ readonly db: Database; readonly refused: readonly number[] }> {
  const db = await open(`lesson-${lesson.number}-${++opened}`, { integers: "bigint", ...lesson.options, storage: "memory" });
  await lesson.prepare(db, SEED);
  return { db, refused: await run(db, lesson.lines(SEED)) };
}

/** Runs lines, and gives those that were refused. */
async function run(db: Database, lines: readonly string[]): Promise<readonly number[]> {
  const place = placeOf(db, async () => {});
  const refused: number[] = [];
  for (const [at, line] of lines.entries()) await runWords(place, line).catch(() => refused.push(at));
  return refused;
}

async function tryTask(lesson: Lesson, task: Task, before: readonly string[], { right, wrong }: Tried): Promise<void> {
  for (const [lines, message] of [[right, undefined] as const, ...wrong]) {
    const { db } = await begun(lesson);
    await run(db, before);
    await run(db, lines);
    assert.equal(await task.check(db, SEED), message, lines.join("; "));
    await db.close();
  }
}

for (let number = 1; number <= LESSONS; number++) {
  test(`D4, V7, W1: lesson ${number}: the store's answer, right solutions, wrong ones`, async () => {
    const lesson = await loadLesson(number);
    assert.equal(lesson.number, number);
    const expected = EXPECTED[number - 1]!;
    const { db, refused } = await begun(lesson);
    assert.deepEqual(refused, expected.refused);
    assert.equal(await lesson.outcome(db, SEED), expected.outcome);
    assert.notEqual(await lesson.task.check(db, SEED), undefined, "not reached by the lesson's own lines");
    await db.close();
    await tryTask(lesson, lesson.task, [], expected.task);
    await tryTask(lesson, lesson.harder, expected.task.right, expected.harder);
  });
}

test("a number that there is no lesson of gives the first one", async () => {
  assert.equal((await loadLesson(99)).number, 1);
});

test("W1: a lesson proves its answer by all of its own lines, on the store as it began; a traced read lights the picture until the next line", async () => {
  const lesson = await loadLesson(5);
  const room = await openClassroom(lesson, SEED);
  const lines = lesson.lines(SEED);
  await room.prove(lines.slice(0, -1));
  assert.equal(room.outcome.value, undefined, "the line that the question is about did not run");
  assert.ok(room.trace.value?.steps.some(({ source }) => source === "segment"));
  await room.prove([...lines, "…", ""]);
  assert.deepEqual([room.outcome.value, room.entries.value.length, room.isUsed.value], [2, 2 * lines.length - 1, false]);
  await room.attempt(["compact"]);
  assert.deepEqual([room.trace.value, room.isUsed.value], [undefined, true]);
  await room.prove(lines);
  assert.equal(room.outcome.value, undefined, "the store is not as it was");
  room.close();
});

test("W2: the help of a lesson has its own words, each with an example", async () => {
  const place = placeOf(await open("help", { storage: "memory", integers: "bigint", clock: { now: 0 } }));
  const said = async (line: string) => {
    const answer = await runWords(place, line);
    return answer.kind === "text" ? answer.text : "";
  };
  assert.match(await said("help"), /create[^]+Lessons also know: .*clock \+60.*transfer ann 10/);
  assert.equal(await said("help clock"), "clock is the lessons' own: clock +60");
  assert.match(await said("help put"), /--attr/);
  assert.match(await said("clock 90000"), /^Moved by 90,000 s: the clock says /);
  await place.db.close();
});
