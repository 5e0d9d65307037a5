/** The access keys of the clients. */

import { createHash, createHmac } from "node:crypto";

import type { AccessRight, Database, TabStoreError } from "../index.js";
import { type Access, passTableStore } from "../tablestore/door.js";
import { DEFAULT_KEY, isOpen, type ServeArguments } from "./arguments.js";

/** The operation that is asked to find out whether a key passes. */
const PATH = "/ListTable";

/** The headers of a signed request without a body. */
function signed(path: string, { instance, key }: Pick<ServeArguments, "instance" | "key">, now: Date): [string, string][] {
  const headers: [string, string][] = [
    ["x-ots-accesskeyid", key.id],
    ["x-ots-apiversion", "2015-12-31"],
    ["x-ots-contentmd5", createHash("md5").digest("base64")],
    ["x-ots-date", now.toISOString()],
    ["x-ots-instancename", instance],
  ];
  const text = `${path}\nPOST\n\n${headers.map(([name, value]) => `${name}:${value}\n`).join("")}`;
  return [...headers, ["x-ots-signature", createHmac("sha1", key.secret).update(text).digest("base64")]];
}

/** Whether the door lets nobody pass who comes so. Whoever has no right to read is known, though. */
async function isUnknown(db: Database, access: Access, headers: readonly [string, string][]): Promise<boolean> {
  const { status, body } = await passTableStore(db, access, { method: "POST", url: `http://localhost${PATH}`, headers });
  return status === 403 && Buffer.from(body).includes("OTSAuthFailed");
}

/** All rights of a key. */
const RIGHTS: readonly AccessRight[] = ["read", "write", "admin"];

/**
 * Makes what checks a key for a session, which may do everything.
 *
 * @throws What it makes throws `OTSAuthFailed` for an unknown key, and `OTSNoPermissionAccess` for one without all rights.
 */
export function keyCheck(db: Database, { instance, auth }: Pick<ServeArguments, "instance" | "auth">): (id: string, secret: string) => Promise<void> {
  return async (id, secret) => {
    if (auth === "off") return;
    const refuse = (code: string, message: string): never => {
      throw Object.assign(new Error(message), { code, status: 403, retryable: false });
    };
    if (await isUnknown(db, "signed", signed(PATH, { instance, key: { id, secret } }, new Date())))
      refuse("OTSAuthFailed", "The access key is unknown, it is disabled, or its secret is another one.");
    const key = (await db.listAccessKeys()).find(({ accessKeyId }) => accessKeyId === id);
    if (!RIGHTS.every((right) => key?.rights.includes(right)))
      refuse("OTSNoPermissionAccess", "The access key does not have all rights: read, write and admin.");
  };
}

/**
 * Refuses to open an instance to others that still accepts the secret that everybody knows. An earlier start may have stored a key
 * with it, whatever key is asked for now.
 *
 * @throws With what to do, if an enabled key has that secret.
 */
export async function refuseKnownSecret(db: Database, asked: Pick<ServeArguments, "instance" | "auth" | "host" | "allowedHosts">): Promise<void> {
  if (asked.auth === "off" || !isOpen(asked)) return;
  if (await isUnknown(db, { secret: DEFAULT_KEY.secret }, [])) return;
  throw new Error(
    `An access key of the instance ${asked.instance} has the default secret, which everybody knows, so the server is not opened to others. ` +
      `Disable the key in JavaScript, on the instance as 'open' of the package opens it: db.updateAccessKey({ accessKeyId: "${DEFAULT_KEY.id}", enabled: false }). ` +
      "db.listAccessKeys() tells the ids of all keys.",
  );
}

/**
 * Sees to it that the instance has the access key of the clients: makes it with all rights if there is none of its id. A key that is
 * there stays as it is, with its rights.
 *
 * @throws If the key that is there has another secret, or is disabled.
 */
export async function ensureKey(db: Database, asked: Pick<ServeArguments, "instance" | "key">): Promise<void> {
  const { id, secret } = asked.key;
  try {
    await db.createAccessKey({ rights: RIGHTS, accessKeyId: id, accessKeySecret: secret });
    return;
  } catch (error) {
    if ((error as TabStoreError).code !== "OTSObjectAlreadyExist") throw error;
  }
  if (await isUnknown(db, "signed", signed(PATH, asked, new Date()))) {
    throw new Error(
      `The instance has an access key ${id} with another secret, or it is disabled: give its secret, or another --access-key-id. The key stays as it is.`,
    );
  }
}
