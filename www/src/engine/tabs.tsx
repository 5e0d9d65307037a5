/** The tabs that share the instance: the part of this one, and the open handles in all of them. */

import type { Metrics } from "tabstore";

import { type Part, part } from "../state/tabs.ts";
import { served } from "../state/served.ts";
import { Count, Fact, Group } from "./parts.tsx";

/** What a part means. */
export const PARTS: Readonly<Record<Part, string>> = {
  leads: "This tab leads: the engine runs here. Other tabs that open the instance follow it",
  "leads now": "This tab leads now: the tab that had the engine has ended",
  follows: "This tab follows: the engine runs in another tab",
};

/** The group. */
export function Tabs({ metrics: { sessions } }: { readonly metrics: Metrics }) {
  return (
    <Group title={served === undefined ? "Tabs" : "Sessions"}>
      {served === undefined ? (
        <Fact label="This tab" title={PARTS[part.value]}>
          {part.value}
        </Fact>
      ) : (
        <Fact label="This tab" title="The engine runs on the server. Each page has a session of it">
          a session of the server
        </Fact>
      )}
      <Fact label="Open handles" title="In all tabs together. A tab with the console has one">
        <Count value={sessions} />
      </Fact>
    </Group>
  );
}
