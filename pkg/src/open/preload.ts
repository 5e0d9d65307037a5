/** Loads all code of the package in advance: for pages that go offline. Loaded on first use. */

import { loadCode } from "../client/code.js";
import { list, oneOf } from "../codec/check.js";
import type { ModuleName } from "../host/host.js";
import { isSplit, moduleSource } from "../platform/loader.js";
import type { Platform } from "../platform/platform.js";
import type { WasmModules } from "../types/rows.js";

/** The code that uses a module, where it is loaded later too. */
const beside: Partial<Record<ModuleName, () => Promise<unknown>[]>> = {
  answers: () => [import("../tabs/following-tab.js")],
  files: () => [import("../host/origin-files.js")],
  streams: () => [import("../changes/consumer/group.js"), import("../changes/live.js"), import("../changes/live-count.js"), import("../changes/streams.js")],
  transactions: () => [import("../client/transaction.js")],
};

/** The other code of the package that is loaded when it is needed. */
const others = (): Promise<unknown>[] => [
  import("./existing-table.js"),
  import("../export/index.js"),
  import("../export/instance.js"),
  import("../import/index.js"),
  import("./splits.js"),
  import("./storage.js"),
  import("./verify.js"),
];

/** The implementation of {@link Database.preload}. */
export async function preload(platform: Platform, names: readonly (keyof WasmModules)[] | undefined): Promise<void> {
  const known = Object.keys(platform.modules) as ModuleName[];
  const wanted = names === undefined ? known : list(names, "modules").map((name) => oneOf((name ?? null) as ModuleName, "modules", known));
  const source = moduleSource(platform.modules);
  const modules = isSplit ? wanted.map(source) : [];
  const code = wanted.flatMap((name) => beside[name]?.() ?? []);
  if (names === undefined) code.push(...others(), platform.thread());
  await Promise.all([...modules, ...code.map(loadCode)]);
}
