// The apps: the packages that each installs, its files, and how it is built and served.

/** Replaces the entry that an import names. */
const inline = (source) => source.replaceAll('"tabstore"', '"tabstore/inline"');

const page = (script, head = "") => `<!doctype html><meta charset="utf-8"><title>app</title>${head}<script type="module" src="${script}"></script>\n`;

/** An app that a bundler turns into files. `entry` is how its page names the script. */
const built = (name, { dev, entry, out, html = "index.html", build, change = (source) => source, files = {} }) => ({
  name,
  dev,
  build,
  out,
  files: (programs) => ({
    [html]: page(entry),
    "main.js": change(programs.main),
    "example.js": change(programs.example),
    "extras.js": change(programs.extras),
    ...files,
  }),
});

// Nothing but where things are; the hint about large files would fail the test on any WebAssembly module.
const WEBPACK = `export default { mode: "production", entry: "./main.js", output: { path: import.meta.dirname + "/dist" }, performance: { hints: false } };\n`;

/** An app that is `late` runs where everything runs. */
export const APPS = [
  // Unconfigured, by the default entry. The plugin's test has a development server of Vite too.
  {
    late: true,
    ...built("Vite 8, dev", { dev: { vite: "8.3.8" }, entry: "/main.js" }),
    folder: "vite-8",
    serve: ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--strictPort", "--port"],
  },
  {
    ...built("Vite 8, build", {
      dev: { vite: "8.3.8" },
      entry: "/main.js",
      out: "dist",
      build: ["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"],
    }),
    folder: "vite-8",
  },
  {
    late: true,
    ...built("webpack 5", {
      dev: { webpack: "5.112.2", "webpack-cli": "6.0.1" },
      entry: "/main.js",
      out: "dist",
      html: "dist/index.html",
      build: ["node_modules/webpack-cli/bin/cli.js", "--stats", "errors-warnings", "--config", "webpack.config.mjs"],
      files: { "webpack.config.mjs": WEBPACK },
    }),
    folder: "webpack-5",
  },
  // By the inline entry, where the readme says so.
  {
    ...built("esbuild, inline entry", {
      dev: { esbuild: "0.28.2" },
      entry: "/main.js",
      out: "dist",
      html: "dist/index.html",
      change: inline,
      build: ["node_modules/esbuild/bin/esbuild", "main.js", "--bundle", "--format=esm", "--outdir=dist", "--log-level=warning"],
    }),
    folder: "esbuild",
    // The binary is native.
    native: true,
  },
  {
    late: true,
    ...built("Vite 7, dev, inline entry", { dev: { vite: "7.3.8" }, entry: "/main.js", change: inline }),
    folder: "vite-7",
    serve: ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--strictPort", "--port"],
  },
  {
    late: true,
    ...built("Vite 7, build, inline entry", {
      dev: { vite: "7.3.8" },
      entry: "/main.js",
      out: "dist",
      change: inline,
      build: ["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"],
    }),
    folder: "vite-7",
  },
  {
    name: "a plain page, inline entry",
    folder: "plain",
    dev: {},
    out: ".",
    files: (programs) => ({
      "index.html": page(
        "/main.js",
        '<script type="importmap">{ "imports": { "tabstore/inline": "/node_modules/tabstore/dist/inline.js", "tabstore/timeline": "/node_modules/tabstore/dist/timeline.js" } }</script>',
      ),
      "main.js": inline(programs.main),
      "example.js": inline(programs.example),
      "extras.js": inline(programs.extras),
    }),
  },
  // Without a bundler the default entry works too, where its files are served.
  {
    name: "a plain page, default entry",
    folder: "plain",
    dev: {},
    out: ".",
    files: (programs) => ({
      "index.html": page(
        "/main.js",
        '<script type="importmap">{ "imports": { "tabstore": "/node_modules/tabstore/dist/index.js", "tabstore/timeline": "/node_modules/tabstore/dist/timeline.js" } }</script>',
      ),
      "main.js": programs.main,
      "example.js": programs.example,
      "extras.js": programs.extras,
    }),
  },
];

/** The required error of a bundler that does not ship the package's files. */
export const WRONG_ENTRY = {
  ...built("esbuild, default entry: the error names the right one", {
    dev: { esbuild: "0.28.2" },
    entry: "/main.js",
    out: "dist",
    html: "dist/index.html",
    build: ["node_modules/esbuild/bin/esbuild", "main.js", "--bundle", "--format=esm", "--outdir=dist", "--log-level=error"],
  }),
  folder: "esbuild",
  native: true,
};
