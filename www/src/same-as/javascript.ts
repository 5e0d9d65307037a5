/** A request as JavaScript of this package. */

import type { ShellRequest } from "tabstore/shell";

import { before, list, type Part, render } from "./document.ts";
import { opening } from "./opening.ts";
import type { OwnShown } from "./own.ts";
import { kindOf } from "./values.ts";

/** Names that the code needs of the package. */
type Needs = Set<string>;

const NAME = /^[A-Za-z_$][\w$]*$/;

/** A name of a member. `__proto__` would be the prototype. */
const member = (name: string): string => (name === "__proto__" ? '["__proto__"]' : NAME.test(name) ? name : JSON.stringify(name));

/** Whether an object is one of columns or options, and not a value of the package. */
const isPlain = (value: object): boolean => !(value instanceof Uint8Array) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

function special(value: object, needs: Needs): string {
  const of = kindOf(value as never);
  switch (of.kind) {
    case "bytes":
      return `Uint8Array.of(${[...of.value].join(", ")})`;
    case "double":
      needs.add("double");
      return `double(${Object.is(of.value, -0) ? "-0" : of.value})`;
    case "min":
    case "max":
    case "auto": {
      const name = { min: "INF_MIN", max: "INF_MAX", auto: "AUTO_INCREMENT" }[of.kind];
      needs.add(name);
      return name;
    }
    default:
      throw new Error(`no value: ${of.kind}`);
  }
}

/** A value of a request; `needs` gets the names that it uses. */
export function literal(value: unknown, needs: Needs): Part {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? String(value) : `${value}n`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  if (Array.isArray(value))
    return list(
      "[",
      value.map((item) => literal(item, needs)),
      "]",
    );
  if (!isPlain(value) || "infinity" in value || "autoIncrement" in value) return special(value, needs);
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return list(
    "{",
    members.map(([name, inner]) => before(`${member(name)}: `, literal(inner, needs))),
    "}",
    " ",
  );
}

/** The statement of a request; `needs` gets the names that it uses. */
function statement({ operation, request }: ShellRequest | OwnShown, needs: Needs): string {
  const given = literal(request, needs);
  if (operation === "scan") return `for await (const row of ${render(before("db.scan(", given))})) console.log(row.toObject());`;
  const { result, then } = operation === "getRow" ? { result: "const { row } = ", then: "\nconsole.log(row?.toObject());" } : { result: "", then: "" };
  return `${result}await ${render(before(`db.${operation}(`, given))});${then}`;
}

/** The program: it opens the instance, and does it. */
export function javascript(request: ShellRequest | OwnShown, instance: string): string {
  const needs: Needs = new Set();
  const body = statement(request, needs);
  return [...opening(instance, needs), body, ""].join("\n");
}
