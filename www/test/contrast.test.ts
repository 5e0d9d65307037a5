import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

// The tests are bundled, so the place of this file says nothing. They run in the console's folder, or in the project's.
const styles = ["src/styles", "www/src/styles"]
  .map((folder) => path.resolve(folder))
  .find((folder) => {
    try {
      return readdirSync(folder).length > 0;
    } catch {
      return false;
    }
  })!;
const read = (name: string) => readFileSync(path.join(styles, name), "utf8");

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}

test("W1: texts have a contrast of 4.5 to 1 on every ground they stand on, in light and dark", () => {
  const colours = new Map(
    [...read("tokens.css").matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, light, dark]) => [name!, [light!, dark!]]),
  );
  const grounds = ["ground", "surface", "raised", "sunken", "accent-soft", "caution-soft", "danger-soft", "good-soft", "key-soft"];
  const wrong = ["text", "text-soft"].flatMap((text) =>
    grounds.flatMap((ground) =>
      [0, 1].flatMap((scheme) => {
        const reached = contrast(colours.get(text)![scheme]!, colours.get(ground)![scheme]!);
        return reached >= 4.5 ? [] : [`${text} on ${ground}, ${scheme === 0 ? "light" : "dark"}: ${reached.toFixed(2)}`];
      }),
    ),
  );
  assert.deepEqual(wrong, []);
});

test("W1: no text is made pale by opacity, unless it cannot be used now", () => {
  const pale = readdirSync(styles).flatMap((name) =>
    [...read(name).matchAll(/([^{}]+)\{[^{}]*opacity: (0[^;]*);/g)].map(([, selector]) => `${name}: ${selector!.trim()}`),
  );
  assert.deepEqual(
    pale.filter((one) => !/disabled|::before/.test(one)),
    [],
  );
});
