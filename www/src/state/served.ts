/** The instance of `npx tabstore serve`, where the console is the server's: its page names it. Then it shows no other one. */

import type { Database } from "tabstore";
import type { RemoteOptions } from "tabstore/remote";

/** The name of the instance; none where the console shows the instances of this browser. */
export const served: string | undefined = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="tabstore-server"]')?.content;

/** The address of the server's console. */
export const serverAddress = (): string => new URL(".", location.href).href.replace(/\/$/, "");

/** What a session of the server is opened with. */
export interface ServerAccess extends Pick<RemoteOptions, "accessKeyId" | "accessKeySecret"> {
  readonly address: string;
}

/** The key that somebody has typed, for as long as this tab lives. */
const KEY = "tabstore-access-key";

/** What this tab opens sessions with: the key that was typed, or the server's usual one. */
export function serverAccess(): ServerAccess {
  const key = sessionStorage.getItem(KEY);
  return { address: serverAddress(), ...(key === null ? {} : (JSON.parse(key) as Pick<ServerAccess, "accessKeyId" | "accessKeySecret">)) };
}

/** Whether somebody has typed a key. */
export const hasTyped = (): boolean => sessionStorage.getItem(KEY) !== null;

/** Keeps a key that was typed. */
export function keepKey(accessKeyId: string, accessKeySecret: string): void {
  sessionStorage.setItem(KEY, JSON.stringify({ accessKeyId, accessKeySecret }));
}

/** Opens the server's instance. */
export async function openServed({ address, ...key }: ServerAccess = serverAccess()): Promise<Database> {
  const { openRemote } = await import("tabstore/remote");
  return openRemote(address, { ...key, integers: "bigint" });
}
