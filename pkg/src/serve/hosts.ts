/**
 * Which names of this server a request may use.
 *
 * A page elsewhere can give its own name the address of this machine, and would then be of one origin with the server (DNS
 * rebinding). So a request has to name a host that is known here, and so has the page that sends it.
 */

/** Stands for every name of this server. */
export const ANY_HOST = "*";

/** Whether an address is of the loopback interface. */
export const isLoopback = (address: string): boolean => /^(127(\.\d{1,3}){3}|localhost|::1|\[::1\])$/i.test(address);

/** The host without its port, in lower case. */
const nameOf = (host: string): string => host.replace(/:\d{1,5}$/, "").toLowerCase();

/** Makes what tells whether a `Host` header names this server: by an address of the loopback interface, or by a name in `allowed`, of which `*` is any. */
export function hostCheck(allowed: readonly string[]): (host: string | undefined) => boolean {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  if (names.has(ANY_HOST)) return () => true;
  return (host) => {
    const name = nameOf(host ?? "");
    // Names below localhost are always of this machine (RFC 6761).
    return isLoopback(name) || name.endsWith(".localhost") || names.has(name);
  };
}

/** Makes what tells whether the host of an origin is known. Every name of the server is not every page: `*` counts for nothing here. */
export const originCheck = (allowed: readonly string[]): ((host: string | undefined) => boolean) => hostCheck(allowed.filter((name) => name !== ANY_HOST));

/** Whether the page that sends a request, if one does, is from a host that is known. */
export function isKnownOrigin(origin: string | undefined, isKnown: (host: string | undefined) => boolean): boolean {
  if (origin === undefined) return true;
  // A page without an origin of its own, such as a sandboxed frame, says `null`.
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1];
  return host !== undefined && isKnown(host);
}
