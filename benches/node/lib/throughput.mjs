// Requests sent over HTTP again and again, and calls made again and again, as many at a time as are asked for.

import http from "node:http";

/** Before what counts. */
const WARM_UP_MS = 300;

/** Sends a request to its end. Gives the bytes of the answer. */
function send(agent, { hostname, port }, { method = "POST", path, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path, headers, agent }, (response) => {
      let bytes = 0;
      const pieces = [];
      const isGood = response.statusCode < 300;
      response.on("data", (piece) => {
        bytes += piece.length;
        if (!isGood) pieces.push(piece);
      });
      response.on("end", () => (isGood ? resolve(bytes) : reject(new Error(`${response.statusCode} ${Buffer.concat(pieces)}`))));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Makes calls for a while, so many at a time; each gives the bytes of its answer. */
export async function measureCalls(calls, { inFlight, seconds }) {
  const run = async (ms) => {
    const begun = performance.now();
    const end = begun + ms;
    let [done, bytes, next] = [0, 0, 0];
    const one = async () => {
      while (performance.now() < end) {
        const answered = await calls[next++ % calls.length]();
        bytes += answered;
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, one));
    return { done, bytes, ms: performance.now() - begun };
  };
  await run(WARM_UP_MS);
  return run(seconds * 1000);
}

/** Sends requests to an address for a while, so many at a time. */
export async function measureRequests(address, requests, { inFlight, seconds }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: inFlight });
  const to = new URL(address);
  try {
    return await measureCalls(
      requests.map((request) => () => send(agent, to, request)),
      { inFlight, seconds },
    );
  } finally {
    agent.destroy();
  }
}
