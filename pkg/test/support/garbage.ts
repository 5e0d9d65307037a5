/** Values that no caller should give, and requests with some of them inside. Seeded: the same seed gives the same ones. */

import type { Package } from "./package.js";

/** The error that the callers' own getters throw. */
export class Own extends Error {}

const NAMES = [
  "t",
  "u",
  "id",
  "at",
  "a",
  "b",
  "c",
  "n",
  "",
  "__proto__",
  "constructor",
  "toString",
  "a b",
  "ä",
  "日本",
  "😀",
  "\ud800",
  "x\udc00y",
  "\u0000",
  "0",
  "signal",
  "tableName",
  "primaryKey",
  "value",
  "version",
  "x".repeat(256),
  "x".repeat(70_000),
];
const NUMBERS = [0, -0, 1, -1, 2, 5, 1.5, NaN, Infinity, -Infinity, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, 2 ** 53 - 1, -(2 ** 53), 1e300, 5e-324];
const BIGINTS = [0n, 1n, -1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, -(2n ** 63n), -(2n ** 63n) - 1n, 2n ** 4000n];

/** Makes garbage. `below(n)` gives an integer below n. */
export function garbage(
  below: (n: number) => number,
  { AUTO_INCREMENT, INF_MAX, INF_MIN, col, double }: Package,
): {
  value(depth?: number): unknown;
  damage(request: unknown): unknown;
} {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  const name = (): string => pick(NAMES);
  const throwing = (): never => {
    throw new Own("thrown by a getter");
  };

  function value(depth = 3): unknown {
    switch (below(depth > 0 ? 34 : 14)) {
      case 0:
        return undefined;
      case 1:
        return null;
      case 2:
        return below(2) === 1;
      case 3:
      case 4:
        return pick(NUMBERS);
      case 5:
        return pick(BIGINTS);
      case 6:
      case 7:
        return name();
      case 8:
        return Symbol("s");
      case 9:
        return pick([throwing, () => 1, class {}, Object, async () => 1]);
      case 10:
        return pick([
          new Uint8Array(below(40)),
          new Uint16Array(3),
          new DataView(new ArrayBuffer(4)),
          new ArrayBuffer(3),
          structuredClone(new Uint8Array(2), { transfer: [] }),
        ]);
      case 11:
        return pick([new Date(0), /x/, new Map([[1, 2]]), new Set([1]), new Error("e"), Promise.resolve(1), new WeakMap(), new URL("http://a/")]);
      case 12:
        return pick<unknown>([INF_MIN, INF_MAX, AUTO_INCREMENT, double(1), double(NaN), double("x" as never), col("a"), col("a").eq(1)]);
      case 13:
        return pick([Object.create(null) as unknown, Object.freeze({}), new Array(1e6), new Proxy([], {}), new Proxy({}, {})]);
      case 14:
        return detached();
      case 15:
        return Object.defineProperty({}, name(), { get: throwing, enumerable: true });
      case 16:
        return { toString: throwing, valueOf: throwing, [Symbol.toPrimitive]: throwing, toJSON: throwing };
      case 17:
        return new Proxy({}, { ownKeys: throwing });
      case 18:
        return new Proxy({ a: 1, b: 2 }, { get: throwing });
      case 19:
        return revoked();
      case 20:
        return changing(depth);
      case 21:
        return new (class extends Uint8Array {
          override get length(): number {
            return below(2 ** 32);
          }
          override get byteLength(): number {
            return -1;
          }
        })(5);
      case 22:
        return Object.defineProperty(new Uint16Array(2), Symbol.toStringTag, { value: "Uint8Array" });
      case 23:
        return Object.assign([1, , 3], { length: 5, extra: 1 });
      case 24:
        return Object.defineProperty([1, 2], Symbol.iterator, { value: throwing });
      case 25:
        return { constructor: { name: value(0) } };
      case 26:
        return { value: value(depth - 1), version: value(0) };
      case 27:
        return Array.from({ length: below(5) }, () => value(depth - 1));
      case 28:
        return misread();
      case 29:
        return { value: value(0), [pick(["versoin", "Version", "timestamp", "__proto__", "constructor"])]: value(0) };
      case 30:
        return { [pick(["infinity", "autoIncrement"])]: value(0) };
      default:
        return Object.fromEntries(Array.from({ length: below(5) }, () => [name(), value(depth - 1)]));
    }
  }

  /** An object whose values its own members do not show. */
  function misread(): unknown {
    const columns = { a: 1, b: "x" };
    return pick<() => unknown>([
      () => new Map(Object.entries(columns)),
      () => new Set(["a"]),
      () => Promise.resolve(columns),
      () => Object.create(columns) as unknown,
      () =>
        Object.create({
          get a() {
            return 1;
          },
        }) as unknown,
      () =>
        new (class {
          get a(): number {
            return 1;
          }
        })(),
      () =>
        new (class {
          b = "x";
          get a(): number {
            return 1;
          }
        })(),
      () =>
        new (class {
          #a = 1;
          read(): number {
            return this.#a;
          }
        })(),
      () => new Proxy(new Map(Object.entries(columns)), {}),
      () => new Proxy(new Date(0), {}),
      () => new URLSearchParams("a=1"),
      () => new Headers({ a: "1" }),
      () => Object("text"),
      () => Object(1),
      () => Object(1n),
      () => new WeakSet(),
      () => new Intl.DateTimeFormat(),
      () => resized(),
      () => new Array(3),
      () => Object.assign([], columns),
      () => new SharedArrayBuffer(4),
      () => new Error("a"),
      () =>
        (function (this: unknown) {
          return arguments;
        })(),
    ])();
  }

  /** A view that its buffer has left without bytes. */
  function resized(): Uint8Array {
    const buffer = new (ArrayBuffer as unknown as new (length: number, options: object) => ArrayBuffer & { resize(to: number): void })(8, {
      maxByteLength: 16,
    });
    const view = new Uint8Array(buffer, 4, 4);
    buffer.resize(2);
    return view;
  }

  function detached(): Uint8Array {
    const bytes = new Uint8Array(8);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    return bytes;
  }

  function revoked(): object {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  }

  /** Something else each time somebody looks. */
  function changing(depth: number): unknown {
    const object = {};
    for (let i = below(4); i >= 0; i--) Object.defineProperty(object, name(), { enumerable: true, configurable: true, get: () => value(depth - 1) });
    return object;
  }

  /** A copy of a request in which some things are garbage. */
  function damage(request: unknown): unknown {
    const spots: [Record<string, unknown>, string][] = [];
    const copy = (node: unknown): unknown => {
      if (typeof node !== "object" || node === null || ArrayBuffer.isView(node) || !["Object", "Array"].includes(node.constructor?.name)) return node;
      const clone: Record<string, unknown> = (Array.isArray(node) ? [] : {}) as Record<string, unknown>;
      for (const [field, inner] of Object.entries(node)) {
        clone[field] = copy(inner);
        spots.push([clone, field]);
      }
      spots.push([clone, name()]);
      return clone;
    };
    const clone = copy(request);
    if (spots.length === 0 || below(20) === 0) return value();
    for (let times = 1 + below(2); times > 0; times--) {
      const [node, field] = pick(spots);
      if (below(4) === 0) Object.defineProperty(node, field, { configurable: true, enumerable: true, get: below(3) === 0 ? throwing : () => value(1) });
      else Object.defineProperty(node, field, { configurable: true, enumerable: true, writable: true, value: value() });
    }
    return clone;
  }

  return { value, damage };
}
