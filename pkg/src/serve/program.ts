/** `npx tabstore serve`: an instance behind the protocols of Table Store and of Azure tables. */

import { type Database, open } from "../index.js";
import { HEALTH } from "./port.js";
import { DEFAULT_KEY, type ServeArguments } from "./arguments.js";
import { ensureKey, refuseKnownSecret } from "./keys.js";
import { hasConsole, type RunningServer, startServer } from "./server.js";
import { snippets } from "./snippets.js";

export { SERVE_HELP, serveArguments } from "./arguments.js";

/** Opens the instance. */
const openInstance = ({ data, instance }: ServeArguments): Promise<Database> =>
  open(instance, data === undefined ? { storage: "memory" } : { storage: "files", path: data });

/** Resolves with the first signal that asks to stop. A second one ends the process at once; what is stored is stored. */
function whenAsked(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isAsked = false;
    const hear = (signal: NodeJS.Signals): void => {
      if (isAsked) process.exit(1);
      isAsked = true;
      resolve(signal);
    };
    process.on("SIGINT", hear).on("SIGTERM", hear);
  });
}

/** What a person reads first. */
function tell({ ports }: RunningServer, asked: ServeArguments): void {
  const { host, data, instance } = asked;
  const at = (port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  console.log(`The instance ${instance} ${data === undefined ? "in memory" : `in ${data}`} is served (stop it with Ctrl+C)`);
  console.log(`  Table Store   ${at(ports.tablestore)}`);
  console.log(`  Azure tables  ${at(ports.azure)}`);
  console.log(`  Console       ${at(ports.console)}${hasConsole() ? "" : "   (this build of the package has no pages for it)"}`);
  console.log(`  Health        ${at(ports.tablestore)}${HEALTH}`);
  console.log(`\n${snippets(asked, { tablestore: at(ports.tablestore), azure: at(ports.azure) }, asked.key.secret === DEFAULT_KEY.secret)}`);
  console.log(asked.auth === "off" ? "Every request passes: it needs no signature." : `The access key is ${asked.key.id}.`);
}

/** Serves until it is asked to stop. @throws If it cannot start. */
export async function serve(asked: ServeArguments): Promise<void> {
  const stopped = whenAsked();
  const db = await openInstance(asked);
  try {
    await refuseKnownSecret(db, asked);
    await ensureKey(db, asked);
    const server = await startServer(db, asked, {
      log: asked.verbose ? (line) => console.log(line) : undefined,
      report: (error) => console.error(error),
    });
    tell(server, asked);
    const signal = await stopped;
    console.log(`${signal}: calls in flight end, and the instance is closed.`);
    await server.stop();
  } finally {
    await db.close();
  }
}
