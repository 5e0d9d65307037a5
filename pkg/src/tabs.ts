/**
 * The shared worker of all tabs: introduces followers to the leader of their instance, and passes their ports. It sees
 * no call. A port that comes before its leader waits.
 */

import type { Introduction, ToHub } from "./host/channel.js";

/** The newest leader of each instance. */
const leaders = new Map<string, { readonly leader: number; readonly port: MessagePort }>();
let waiting: Introduction[] = [];

function take(from: MessagePort, message: ToHub): void {
  if ("lead" in message) leaders.set(message.lead, { leader: message.leader, port: from });
  else waiting.push(message);
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
