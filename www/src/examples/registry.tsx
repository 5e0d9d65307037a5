/** The examples that the console shows. Each has its logic in a folder of `examples/`, and its page here. */

import { computed } from "@preact/signals";
import type { ComponentType } from "preact";

import { route } from "../state/route.ts";
import { lazily } from "../ui/lazily.tsx";
import { titleMark } from "./title.ts";

/** An example. */
export interface Example {
  /** Its folder, and its place in the address. */
  readonly name: string;
  readonly title: string;
  /** What it shows, in a sentence or two. */
  readonly about: string;
  /** Its page. What it keeps in the address is `route.value.settings`. */
  readonly Page: ComponentType;
  /** Loads the text of its modules, to read. */
  readonly source: () => Promise<string>;
}

const ChatPage = lazily(async () => (await import("./chat/page.tsx")).ChatPage);
const CopyPage = lazily(async () => (await import("./copy/page.tsx")).CopyPage);
const AggregatePage = lazily(async () => (await import("./aggregate/page.tsx")).AggregatePage);
const SearchPage = lazily(async () => (await import("./search/page.tsx")).SearchPage);

/** The texts of modules, one behind the other. */
const texts =
  (...modules: readonly (() => Promise<{ readonly default: string }>)[]) =>
  async () =>
    (await Promise.all(modules.map((load) => load()))).map((one) => one.default).join("\n");
const follow = () => import("../../../examples/follow.ts?raw");
const chat = texts(() => import("../../../examples/chat/chat.ts?raw"));
const copy = texts(() => import("../../../examples/copy/copy.ts?raw"), follow);
const sums = texts(() => import("../../../examples/aggregate/aggregate.ts?raw"), follow);
const search = texts(() => import("../../../examples/search/search.ts?raw"), follow);

/** All of them, one a line. */
export const EXAMPLES: readonly Example[] = [
  {
    name: "chat",
    title: "Chat",
    about: "Conversations in several tabs, each another person: unread counts, history both ways, and people who come late.",
    Page: ChatPage,
    source: chat,
  },
  {
    name: "copy",
    title: "Copy into another store",
    about: "A table is copied into plain IndexedDB, live. Stop it, write on, and it goes on where it stopped.",
    Page: CopyPage,
    source: copy,
  },
  {
    name: "aggregate",
    title: "A live aggregate",
    about: "Counts and sums by group follow a table: a change costs one subtraction and one addition.",
    Page: AggregatePage,
    source: sums,
  },
  {
    name: "search",
    title: "Search",
    about: "A full-text index follows a table: it finds beginnings, forgives slips, and marks what matches.",
    Page: SearchPage,
    source: search,
  },
];

/** The one that the address names. */
export const shownExample = computed(() => EXAMPLES.find(({ name }) => name === route.value.example));

/** What the tab is called. */
export const exampleTitle = computed(() => {
  const title = route.value.example === undefined ? undefined : (shownExample.value?.title ?? "Examples");
  return title === undefined ? undefined : titleMark.value + title;
});
