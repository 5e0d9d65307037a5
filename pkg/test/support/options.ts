/** What an engine is opened with where a test does not care. */

import type { EngineOptions } from "../../src/host/host.js";

export const OPTIONS: EngineOptions = {
  name: "demo",
  storage: "indexeddb",
  path: undefined,
  place: "demo",
  guest: false,
  create: true,
  salvage: false,
  lost: "refuse",
  kind: undefined,
  durability: "relaxed",
  cacheBytes: undefined,
  memtableBytes: undefined,
  reserveBytes: undefined,
  clock: undefined,
  client: 1,
  limits: "document",
  quotas: {},
  throttle: undefined,
  partitions: undefined,
  prices: undefined,
  given: {},
};
