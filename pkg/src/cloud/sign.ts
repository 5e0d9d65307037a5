/**
 * Signatures: V2, an HMAC-SHA1 with the access key's secret, and V4, an HMAC-SHA256 with a key that holds for a day and a region. The
 * host makes them; it has no MD5, which a library makes.
 */

import { Md5 } from "@smithy/core/checksum";

import { local } from "../types/errors.js";
import { toBase64 } from "../codec/base64.js";
import { utf8 } from "./bytes.js";

/** Headers by their names in lower case. */
export type Headers = Record<string, string>;

/** Who signs. */
export interface Signer {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** The token of a temporary access key. */
  readonly stsToken?: string | undefined;
  /** With it, requests are signed by V4. */
  readonly region?: string | undefined;
}

/** The MD5 of a body, as base64. */
export async function md5Of(body: Uint8Array): Promise<string> {
  const hash = new Md5();
  hash.update(body);
  return toBase64(await hash.digest());
}

async function hmac(hash: "SHA-1" | "SHA-256", key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
  if (subtle === undefined)
    throw local("Unavailable", "Requests cannot be signed here: this page has no crypto.subtle.", {
      hint: "Pages from https and localhost have it.",
    });
  const known = await subtle.importKey("raw", key, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", known, utf8(text)));
}

const PREFIX = "x-ots-";

/** Headers of the service, sorted, without these. */
const ownHeaders = (headers: Iterable<readonly [string, string]>): string[] =>
  [...headers]
    .filter(([name]) => name.startsWith(PREFIX) && !name.startsWith("x-ots-signature"))
    .map(([name, value]) => `${name}:${value.trim()}`)
    .sort();

/** The key of V4: base64 is the key itself, not another form of it. */
export async function v4Key(secret: string, date: string, region: string): Promise<string> {
  let key = utf8(`aliyun_v4${secret}`);
  for (const part of [date, region, "ots", "aliyun_v4_request"]) key = await hmac("SHA-256", key, part);
  return toBase64(key);
}

/** A day as V4 has it, of an ISO date. */
const dayOf = (date: string): string => date.slice(0, 10).replaceAll("-", "");

/** The headers of a request with its signature. `date` is an ISO date. */
export async function signed(path: string, body: Uint8Array, instance: string, signer: Signer, date: string): Promise<Headers> {
  const { accessKeyId, accessKeySecret, stsToken, region } = signer;
  const headers: Headers = {
    "x-ots-apiversion": "2015-12-31",
    "x-ots-instancename": instance,
    "x-ots-accesskeyid": accessKeyId,
    "x-ots-contentmd5": await md5Of(body),
    "x-ots-date": date,
  };
  if (stsToken !== undefined) headers["x-ots-ststoken"] = stsToken;
  if (region !== undefined) {
    headers["x-ots-signdate"] = dayOf(date);
    headers["x-ots-signregion"] = region;
  }
  const text = `${path}\nPOST\n\n${ownHeaders(Object.entries(headers))
    .map((line) => `${line}\n`)
    .join("")}`;
  if (region === undefined) headers["x-ots-signature"] = toBase64(await hmac("SHA-1", utf8(accessKeySecret), text));
  else headers["x-ots-signaturev4"] = toBase64(await hmac("SHA-256", utf8(await v4Key(accessKeySecret, dayOf(date), region)), `${text}ots`));
  return headers;
}

/** The header Authorization that an answer has: an HMAC-SHA1 of its own headers, also if the request was signed by V4. */
export async function authorizationOf(path: string, headers: Iterable<readonly [string, string]>, signer: Signer, date: string): Promise<string> {
  const { accessKeyId, accessKeySecret, region } = signer;
  const key = region === undefined ? accessKeySecret : await v4Key(accessKeySecret, dayOf(date), region);
  return `OTS ${accessKeyId}:${toBase64(await hmac("SHA-1", utf8(key), [...ownHeaders(headers), path].join("\n")))}`;
}
