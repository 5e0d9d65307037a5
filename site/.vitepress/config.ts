/** The site: pages of the repository, and the reference that TypeDoc makes (see typedoc.json). */

import { cpSync, existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { defineConfig, type DefaultTheme, type Plugin } from "vitepress";

import { partsOfReference, repositoryLinks, rewrites } from "./pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The folder of the server that the site is in, as in `/tabstore/`. */
const base = process.env.SITE_BASE ?? "/";
const demo = path.join(root, "www/dist");
const hasDemo = existsSync(path.join(demo, "index.html"));

/** A part of the sidebar: a folder of the site, and its pages by text and name. */
const part = (text: string, folder: string, pages: readonly (readonly [string, string])[], collapsed?: boolean): DefaultTheme.SidebarItem => ({
  text,
  collapsed,
  items: pages.map(([title, name]) => ({ text: title, link: `${folder}${name}` })),
});

const sidebar: DefaultTheme.SidebarItem[] = [
  part("Tutorials", "/tutorials/", [
    ["Store and page", "store-and-page"],
    ["History and undo", "history-and-undo"],
    ["A live list in two tabs", "live-list"],
    ["Offline and service worker", "offline"],
    ["Moving from Dexie", "from-dexie"],
    ["Moving to the cloud", "to-the-cloud"],
  ]),
  part("Concepts", "/guide/", [
    ["The package", "package"],
    ["Typed tables", "typed-tables"],
    ["Rows, versions, filters", "rows"],
    ["Indexes and transactions", "indexes-and-transactions"],
    ["Live queries", "live"],
    ["Many tabs", "tabs"],
  ]),
  part("How-to", "/guide/", [
    ["Many rows, files, exports", "many-rows"],
    ["Follow the changes of a table", "streams"],
    ["Copy a table to another database", "sync"],
    ["Chats and feeds: timelines", "timelines"],
    ["Tables of Azure", "azure"],
    ["A connection to the service", "cloud"],
    ["The console", "console"],
    ["Command line", "shell"],
    ["A server for the official SDKs", "serve"],
    ["In a framework", "frameworks"],
    ["When something goes wrong", "trouble"],
    ["A look inside", "inside"],
    ["Schema changes, and tests", "changes-and-tests"],
  ]),
  part("Reference", "/api/", [
    ["API", ""],
    ["tabstore", "tabstore/"],
    ["tabstore/schema", "tabstore/schema/"],
    ["tabstore/react", "tabstore/react/"],
    ["tabstore/timeline", "tabstore/timeline/"],
    ["tabstore/sync", "tabstore/sync/"],
    ["tabstore/shell", "tabstore/shell/"],
    ["tabstore/vite", "tabstore/vite/"],
    ["tabstore/inspector", "tabstore/inspector/"],
    ["tabstore/azure", "tabstore/azure/"],
    ["tabstore/cloud", "tabstore/cloud/"],
    ["tabstore/tablestore", "tabstore/tablestore/"],
  ]),
  part("Browsers, limits, figures", "/", [
    ["Where it runs", "guide/hosts"],
    ["Guarantees", "guarantees"],
    ["Limits", "limits"],
    ["Damaged data", "salvage"],
    ["Figures", "figures"],
    ["What is shown by tests", "conformance"],
    ["Changelog", "changelog"],
  ]),
  part(
    "Design",
    "/design/",
    [
      ["Architecture", ""],
      ["The path of a row", "write-and-read"],
      ["Storage", "storage"],
      ["Stored formats", "format"],
      ["Sessions and tabs", "tabs"],
      ["Modules and memory", "modules-and-memory"],
      ["Partitions, indexes, clocks", "partitions-and-indexes"],
      ["Streams and what reads them", "changes"],
      ["The layers above the rows", "layers"],
      ["The door of Table Store", "tablestore-door"],
      ["Where measurements decided", "measurements"],
      ["What browsers made us do", "browsers"],
      ["Tests", "tests"],
    ],
    true,
  ),
];

/** A page is compiled to a program that imports Vue, which is installed beside this file and not beside the page. */
const vueOfPages: Plugin = {
  name: "vue-of-pages",
  enforce: "pre",
  resolveId(id, importer, options) {
    return /^vue(\/|$)/.test(id) && importer?.endsWith(".md") ? this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true }) : undefined;
  },
};

export default defineConfig({
  title: "TabStore",
  description: "A wide-column database that lives in a browser tab",
  lang: "en",
  base,
  // What all pages have in common is in a file of its own.
  metaChunk: true,
  // Pages stay where they are in the repository, and have other addresses here.
  srcDir: root,
  srcExclude: ["!(docs|pkg|site|*.md)/**", "!(ARCHITECTURE|CHANGELOG|FORMAT).md", "docs/RELEASE.md", "pkg/!(docs|*.md)/**", "pkg/CHANGELOG.md"],
  rewrites,
  outDir: path.join(root, "target/site"),
  markdown: {
    config: (md) => {
      repositoryLinks(md, root);
      partsOfReference(md);
    },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  vite: {
    // The index of the search is 1 MB. It is loaded when somebody searches.
    build: { chunkSizeWarningLimit: 1500 },
    plugins: [vueOfPages],
  },
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}icon.svg` }]],
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Guide", link: "/tutorials/store-and-page", activeMatch: "^/(tutorials|guide)/" },
      { text: "API", link: "/api/", activeMatch: "^/api/" },
      { text: "Design", link: "/design/", activeMatch: "^/design/" },
      ...(hasDemo ? [{ text: "Console", link: "/demo/index.html", target: "_self" }] : []),
    ],
    sidebar,
  },
  buildEnd({ outDir, logger }) {
    cpSync(path.join(root, "www/src/icon.svg"), path.join(outDir, "icon.svg"));
    if (hasDemo) cpSync(demo, path.join(outDir, "demo"), { recursive: true });
    else logger.warn("The console is left out, because www/dist is empty: `cargo xtask console` builds it.");
  },
});
