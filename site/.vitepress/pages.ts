/** Which Markdown files of the repository are pages, where they are in the site, and what their links become. */

import { existsSync } from "node:fs";
import path from "node:path";

import type { MarkdownRenderer } from "vitepress";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

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

/** The height of a piece of a page, in pixels, about as it will be where a line has so many characters. */
function heightOf({ type, content }: Token, width: number): number {
  if (type === "fence") return 24 * content.split("\n").length + 40;
  return type === "inline" ? 28 * Math.ceil(content.replace(/\]\([^)]*\)/g, "").length / width) + 16 : 0;
}

/**
 * Puts what belongs to each member of the reference into a part of its own. A browser leaves parts that are far away out of its layout
 * (style.css), so a page with sixty members is as fast as a short one.
 */
export function partsOfReference(md: MarkdownRenderer): void {
  md.core.ruler.push("parts-of-reference", ({ tokens, env, Token }) => {
    if (!/[/\\]api[/\\]/.test(env.path ?? "")) return;
    const html = (content: string): Token => Object.assign(new Token("html_block", "", 0), { content });
    const made: Token[] = [];
    let part: Token[] | undefined;
    const end = (): void => {
      if (part === undefined) return;
      const all = part;
      const [wide, narrow] = [95, 42].map((width) => all.reduce((sum, token) => sum + heightOf(token, width), 0));
      made.push(html(`<div class="part" style="--wide: ${wide}px; --narrow: ${narrow}px">\n`), ...part, html("</div>\n"));
      part = undefined;
    };
    for (const token of tokens) {
      if (token.type === "heading_open" && token.tag <= "h3") end();
      (part ?? made).push(token);
      if (token.type === "heading_close" && token.tag === "h3") part = [];
    }
    end();
    tokens.splice(0, tokens.length, ...made);
  });
}
