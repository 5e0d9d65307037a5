/** Which Markdown files of the repository are pages, where they are in the site, and what their links become. */

import { existsSync } from "node:fs";
import path from "node:path";

import type { MarkdownRenderer } from "vitepress";

/** Files and folders of the repository, and their places in the site. The first that fits counts. */
const PLACES: readonly [string, string][] = [
  ["site/", ""],
  ["pkg/docs/tutorials/", "tutorials/"],
  ["pkg/docs/", "guide/"],
  ["pkg/README.md", "guide/package.md"],
  ["docs/design/", "design/"],
  ["docs/bench/table.md", "figures.md"],
  ["docs/GUARANTEES.md", "guarantees.md"],
  ["docs/LIMITS.md", "limits.md"],
  ["docs/SALVAGE.md", "salvage.md"],
  ["docs/CONFORMANCE.md", "conformance.md"],
  ["ARCHITECTURE.md", "design/index.md"],
  ["FORMAT.md", "design/format.md"],
  ["CHANGELOG.md", "changelog.md"],
];

/** The page of a file, or `undefined` where it has none. */
function pageOf(file: string): string | undefined {
  const place = PLACES.find(([begin]) => file.endsWith(".md") && file.startsWith(begin));
  return place && place[1] + file.slice(place[0].length);
}

/** The page of a file, for VitePress. */
export const rewrites = (file: string): string => pageOf(file) ?? file;

/**
 * Turns relative links among files into links among pages. A link to a file without a page, such as a source, becomes plain text.
 * A link to nothing stays, and VitePress reports it.
 */
export function repositoryLinks(md: MarkdownRenderer, root: string): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isPlain = false;
      for (const token of children ?? []) {
        const [, target, hash] = /^(?![a-z]+:|[#/])([^#]+)(#.*)?$/.exec(token.attrGet("href") ?? "") ?? [];
        if (token.type === "link_open" && target !== undefined) {
          const file = path.relative(root, path.resolve(path.dirname(env.realPath ?? env.path), decodeURI(target)));
          const page = existsSync(path.join(root, file)) ? pageOf(file) : target;
          isPlain = page === undefined;
          if (page !== undefined && page !== target) token.attrSet("href", `/${page}${hash ?? ""}`);
        }
        if (isPlain && token.type.startsWith("link_")) {
          isPlain = token.type === "link_open";
          token.type = "text";
        }
      }
    }
  });
}
