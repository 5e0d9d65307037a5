/** The cutting of CSV into records: any line ends, also mixed and inside quotes, in chunks of any size. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type CsvOptions, CsvSplitter } from "../src/import/csv.js";
import { Unreadable } from "../src/import/unreadable.js";

/** The header and the fields of all records of a text that comes in pieces; of one that cannot be read, why. */
function cut(pieces: readonly string[], options?: CsvOptions): string[][] {
  const splitter = new CsvSplitter(options);
  const records = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  return [
    [...splitter.columns],
    ...records.map((record) => (record instanceof Unreadable ? [record.error.message] : splitter.columns.map((name) => record[name]!))),
  ];
}

/** The same however the text is cut. */
function cutAnywhere(text: string, options?: CsvOptions): string[][] {
  const whole = cut([text], options);
  for (let at = 1; at < text.length; at++) assert.deepEqual(cut([text.slice(0, at), text.slice(at)], options), whole, `cut at ${at}`);
  assert.deepEqual(cut([...text], options), whole, "one by one");
  return whole;
}

test("D2: a line end inside quotes does not say how the lines of a CSV end", () => {
  assert.deepEqual(cutAnywhere('Item,"Amount\n(USD)",Qty\r\nPen,1.5,10\r\n'), [
    ["Item", "Amount\n(USD)", "Qty"],
    ["Pen", "1.5", "10"],
  ]);
  assert.deepEqual(cutAnywhere('a,"Amount\r\n(USD)",Qty\n7,1.5,10\n'), [
    ["a", "Amount\r\n(USD)", "Qty"],
    ["7", "1.5", "10"],
  ]);
  assert.deepEqual(cutAnywhere('a,"b\rc"\n1,2\n'), [
    ["a", "b\rc"],
    ["1", "2"],
  ]);
});

test("D2: the separator of a CSV is found between the quotes of its first line, as soon as that is there", () => {
  assert.deepEqual(cutAnywhere('"a,b";"c,d,e";f\r\n1;2;3\r\n'), [
    ["a,b", "c,d,e", "f"],
    ["1", "2", "3"],
  ]);
  assert.deepEqual(cutAnywhere('x\t"a ""quoted"", b, c"\n1\t2\n'), [
    ["x", 'a "quoted", b, c'],
    ["1", "2"],
  ]);
  const splitter = new CsvSplitter();
  assert.equal(splitter.push('"a";"b"\n1;2\n3;4\n').length, 2, "nothing waits for the end of the text");
});

test("D2: lines of one CSV may end in different ways", () => {
  assert.deepEqual(cutAnywhere("a,b\n1,2\r\n3,4\r\n"), [
    ["a", "b"],
    ["1", "2"],
    ["3", "4"],
  ]);
  assert.deepEqual(cutAnywhere("a\r\n1\n2\n3\n"), [["a"], ["1"], ["2"], ["3"]]);
  assert.deepEqual(cutAnywhere('a,b\r1,"2"\r\n"3",4\n5,6\r'), [
    ["a", "b"],
    ["1", "2"],
    ["3", "4"],
    ["5", "6"],
  ]);
});

test("D2: empty lines are skipped, also before the header; a field of two quotes is a record with an empty text", () => {
  assert.deepEqual(cutAnywhere('\r\n\na\n\n1\r\n\r\n""\n2\n\n'), [["a"], ["1"], [""], ["2"]]);
  assert.deepEqual(cutAnywhere("\n\r\na;b\n1;2,5\n"), [
    ["a", "b"],
    ["1", "2,5"],
  ]);
  assert.deepEqual(cutAnywhere("a,b\n,\n"), [
    ["a", "b"],
    ["", ""],
  ]);
});

test("D2: a CSV record that cannot be read takes no other one with it", () => {
  assert.deepEqual(cutAnywhere('a,b\n1\n2,3\n"4"x,5\n6,7\n8,9,10\n'), [
    ["a", "b"],
    ["Row 1 of the CSV to import has 1 fields, its first line 2."],
    ["2", "3"],
    ["Row 3 of the CSV to import: text stands behind the closing quote of a field."],
    ["6", "7"],
    ["Row 5 of the CSV to import has 3 fields, its first line 2."],
  ]);
  assert.deepEqual(cutAnywhere('a\n1\n"2\n3\n'), [["a"], ["1"], ["Row 2 of the CSV to import: a quoted field has no closing quote."]]);
  assert.throws(() => cut(['"a"x,b\n1,2\n']), /Row 0 of the CSV.*behind the closing quote/);
});

test("a CSV without a header has numbered columns; so have those without a name", () => {
  assert.deepEqual(cutAnywhere("1,x\r\n2,y\r\n", { header: false }), [
    ["_1", "_2"],
    ["1", "x"],
    ["2", "y"],
  ]);
  assert.deepEqual(cutAnywhere(",a, \n1,2,3\n"), [
    ["_1", "a", "_3"],
    ["1", "2", "3"],
  ]);
  assert.deepEqual(cutAnywhere("a,a,a_2,a\n1,2,3,4\n", { numbered: true }), [
    ["a", "a_3", "a_2", "a_4"],
    ["1", "2", "3", "4"],
  ]);
  assert.throws(() => cut(["a,a\n"]), /names the column 'a' twice/);
  assert.throws(() => new CsvSplitter({ header: "no" as never }), /'header' is 'no'/);
});

test("a line like sep=; tells the separator of a CSV; comments are skipped where they are announced", () => {
  assert.deepEqual(cutAnywhere("sep=;\r\na;b\r\n1,5;2\r\n"), [
    ["a", "b"],
    ["1,5", "2"],
  ]);
  assert.deepEqual(cutAnywhere("\n\nSEP=|\na|b\n1|2\n"), [
    ["a", "b"],
    ["1", "2"],
  ]);
  assert.deepEqual(cutAnywhere("sep=5;x\n1;2\n"), [
    ["sep=5", "x"],
    ["1", "2"],
  ]);
  const comment = "#";
  assert.deepEqual(cutAnywhere('# made, by; x\n\n#\na,b\n1,"2\n#3"\n#4,5\r\n#,\n6,#7\n# end', { comment }), [
    ["a", "b"],
    ["1", "2\n#3"],
    ["6", "#7"],
  ]);
  assert.deepEqual(cutAnywhere("a,b\n#1,2\n"), [
    ["a", "b"],
    ["#1", "2"],
  ]);
  assert.deepEqual(cutAnywhere("//x\na,b\n//y\n/,1\n", { comment: "//" }), [
    ["a", "b"],
    ["/", "1"],
  ]);
  assert.throws(() => new CsvSplitter({ comment: "" }), /'comment'/);
});

/** Small random numbers that a seed fixes. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LETTERS = ["a", "b", " ", "é", "😀", '"', ",", ";", "\t", "|", "\n", "\r", "\r\n", "0", "::"];

/** Records and one way to write them: quotes where they must be and elsewhere, and any line ends. */
function written(next: (below: number) => number, delimiter: string): { text: string; records: string[][] } {
  const width = 1 + next(4);
  const field = () => Array.from({ length: next(5) }, () => LETTERS[next(LETTERS.length)]).join("");
  const header = Array.from({ length: width }, (_, at) => `${at}${field()}`.trim());
  const records = [header, ...Array.from({ length: next(6) }, () => Array.from({ length: width }, field))];
  const end = () => ["\n", "\r\n", "\r"][next(3)]!;
  const quoted = (value: string) => `"${value.replaceAll('"', '""')}"${next(4) === 0 && delimiter !== " " ? " " : ""}`;
  const line = (values: string[]) =>
    values
      .map((value) => {
        const must = /["\r\n]/.test(value) || value.includes(delimiter) || (width === 1 && value === "");
        return must || next(3) === 0 ? quoted(value) : value;
      })
      .join(delimiter);
  let text = "";
  for (const [at, record] of records.entries()) {
    while (next(5) === 0) text += end();
    // The last line may have no end.
    text += line(record) + (at === records.length - 1 && next(3) === 0 ? "" : end());
  }
  return { text, records };
}

const LIVES = Number(process.env.TABSTORE_CSV_LIVES ?? 20_000);

test(`D2: ${LIVES} random CSV texts, cut at random, have the records that were written`, () => {
  for (let seed = 1; seed <= LIVES; seed++) {
    const next = random(seed);
    const delimiter = [",", ";", "\t", "|", "::", " "][next(6)]!;
    const { text, records } = written(next, delimiter);
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) pieces.push(text.slice(at, (at += 1 + next(7))));
    const message = `seed ${seed}: ${JSON.stringify(text)}`;
    assert.deepEqual(cut(pieces, { delimiter }), records, message);
    assert.deepEqual(cut([text], { delimiter }), records, message);
  }
});
