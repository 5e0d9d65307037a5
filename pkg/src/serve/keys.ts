/** The access key of the clients. */

import { createHash, createHmac } from "node:crypto";

import type { Database, TabStoreError } from "../index.js";
import { passTableStore } from "../tablestore/door.js";
import type { ServeArguments } from "./arguments.js";

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

/**
 * Sees to it that the instance has the access key of the clients: makes it with all rights if there is none of its id. A key that is
 * there stays as it is, with its rights.
 *
 * @throws If the key that is there has another secret, or is disabled.
 */
export async function ensureKey(db: Database, asked: Pick<ServeArguments, "instance" | "key">): Promise<void> {
  const { id, secret } = asked.key;
  try {
    await db.createAccessKey({ rights: ["read", "write", "admin"], accessKeyId: id, accessKeySecret: secret });
    return;
  } catch (error) {
    if ((error as TabStoreError).code !== "OTSObjectAlreadyExist") throw error;
  }
  const path = "/ListTable";
  const headers = signed(path, asked, new Date());
  const { status, body } = await passTableStore(db, "signed", { method: "POST", url: `http://localhost${path}`, headers });
  // A key without the right to read is one of the instance.
  if (status === 403 && Buffer.from(body).includes("OTSAuthFailed")) {
    throw new Error(`The instance has an access key ${id} with another secret, or it is disabled: give its secret, or another --access-key-id.`);
  }
}
