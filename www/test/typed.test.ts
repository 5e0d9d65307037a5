import assert from "node:assert/strict";
import { test } from "node:test";

import { Typed } from "../src/ui/typed.ts";

const field = (value: string) => ({ value, isConnected: true });

test("W1: what was typed is there until it is taken back or sent, also in a field that is shown no more", () => {
  const typed = new Typed();
  const name = field("old");
  const note = field("");
  typed.focused(name);
  assert.equal(typed.isThere, false, "a look into a field types nothing");
  name.value = "new";
  typed.typed(name);
  assert.equal(typed.isThere, true);
  name.value = "old";
  typed.typed(name);
  assert.equal(typed.isThere, false, "it was taken back");

  typed.focused(note);
  note.value = "x";
  typed.typed(note);
  note.isConnected = false;
  assert.equal(typed.isThere, true, "another page of fields is shown, and this one has its text");
  typed.sent();
  assert.equal(typed.isThere, false, "it was sent, and its field is gone");

  name.value = "refused";
  typed.typed(name);
  typed.sent();
  assert.equal(typed.isThere, true, "it was sent, and stands in the field: it was refused");
  typed.taken();
  assert.equal(typed.isThere, false, "it was stored, and stands there for the next one");
  name.value = "next";
  typed.typed(name);
  assert.equal(typed.isThere, true);
});

test("W1: a field that a form has emptied after it was sent holds nothing", () => {
  const typed = new Typed();
  const value = field("");
  typed.focused(value);
  value.value = "5";
  typed.typed(value);
  typed.sent();
  value.value = "";
  assert.equal(typed.isThere, false);
});
