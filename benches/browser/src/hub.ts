/** The shared worker of the pages: keeps the port that one of them gives, until another one asks for it. */

let given: MessagePort | undefined;
const asking: MessagePort[] = [];

globalThis.addEventListener("connect", (event) => {
  const [page] = (event as MessageEvent).ports;
  page.onmessage = ({ data: port }: MessageEvent<MessagePort | null>) => {
    if (port === null) asking.push(page);
    else given = port;
    if (given === undefined || asking.length === 0) return;
    asking.shift()!.postMessage(given, [given]);
    given = undefined;
  };
});

export {};
