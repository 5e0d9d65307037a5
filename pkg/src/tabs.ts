/**
 * The shared worker of all tabs: introduces followers to the leader of their instance, and passes their ports. It sees
 * no call. A port that comes before its leader waits a little. It lives as long as any tab, so it forgets who has gone.
 */

import type { Introduction, ToHub } from "./tabs/channel.js";

/** A follower waits no longer for its port, in milliseconds: it takes a channel. */
const PATIENCE = 2000;

/** The newest leader of each instance, by the name of the instance's lock. */
const leaders = new Map<string, { readonly leader: number; readonly port: MessagePort }>();
let waiting: Introduction[] = [];

/** Forgets the leaders of instances whose lock nobody has. A tab that ends without a word says nothing else. */
async function forget(): Promise<void> {
  const before = [...leaders];
  const { held = [] } = (await navigator.locks?.query()) ?? { held: before.map(([name]) => ({ name })) };
  const names = new Set(held.map(({ name }) => name));
  for (const [name, one] of before) if (!names.has(name) && leaders.get(name) === one) leaders.delete(name);
}

/** Closes a port that still waits. */
function giveUp(one: Introduction): void {
  if (!waiting.includes(one)) return;
  waiting = waiting.filter((other) => other !== one);
  one.port.close();
}

function take(from: MessagePort, message: ToHub): void {
  if ("lead" in message) {
    leaders.set(message.lead, { leader: message.leader, port: from });
    // What cannot be known now is forgotten with the next one.
    void forget().catch(() => {});
  } else {
    waiting.push(message);
    setTimeout(giveUp, PATIENCE, message);
  }
  waiting = waiting.filter((one) => {
    const known = leaders.get(one.follow);
    if (known?.leader !== one.leader) return true;
    known.port.postMessage(one, [one.port]);
    return false;
  });
}

globalThis.addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  port.onmessage = ({ data }: MessageEvent<ToHub>) => take(port, data);
});
