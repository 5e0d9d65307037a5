// The small app of examples/tasks in several frameworks, under Vite's own server, edited while it runs.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const examples = fileURLToPath(new URL("../../examples/tasks", import.meta.url));
const serve = ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--strictPort", "--port"];

const app = (folder, main, component, dev) => ({
  name: `examples/tasks/${folder}: a live list and a live count, an edit while it runs, and a second tab`,
  folder: `tasks-${folder}`,
  component,
  serve,
  dev: { vite: "8.3.8", ...dev },
  files() {
    const own = readdirSync(path.join(examples, folder)).map((name) => [name, readFileSync(path.join(examples, folder, name), "utf8")]);
    return {
      ...Object.fromEntries(own),
      "store.js": readFileSync(path.join(examples, "store.js"), "utf8"),
      "index.html": `<!doctype html><meta charset="utf-8"><title>tasks</title><div id="app"></div><script type="module" src="/${main}"></script>\n`,
    };
  },
});

export const FRAMEWORKS = [
  app("react", "main.jsx", "App.jsx", { "@vitejs/plugin-react": "6.3.0", react: "19.3.1", "react-dom": "19.3.1" }),
  app("vue", "main.js", "App.vue", { "@vitejs/plugin-vue": "6.0.11", vue: "3.5.45" }),
  app("svelte", "main.js", "App.svelte", { "@sveltejs/vite-plugin-svelte": "7.3.1", svelte: "5.57.3" }),
  app("solid", "main.jsx", "App.jsx", { "vite-plugin-solid": "2.11.14", "solid-js": "1.9.20" }),
];
