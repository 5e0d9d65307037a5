/** A program of a few lines for each SDK. */

import type { ServeArguments } from "./arguments.js";

/** The account that the snippet of Azure names: any does, and this one is told apart easily. */
export const accountOf = (instance: string): string => instance.replaceAll("-", "").toLowerCase().padEnd(3, "0");

/** The account key of Azure's clients: the base64 of the secret. */
export const accountKeyOf = (secret: string): string => Buffer.from(secret).toString("base64");

/** Snippets with these addresses. A secret that was chosen is not shown: terminals are kept in logs. */
export function snippets(
  asked: Pick<ServeArguments, "instance" | "key">,
  addresses: { readonly tablestore: string; readonly azure: string },
  isSecretKnown = false,
): string {
  const { instance, key } = asked;
  const secret = isSecretKnown ? key.secret : "<the secret>";
  const account = accountOf(instance);
  const accountKey = isSecretKnown ? accountKeyOf(key.secret) : "<base64 of the secret>";
  return `Python   from tablestore import OTSClient
         client = OTSClient("${addresses.tablestore}", "${key.id}", "${secret}", "${instance}")

Node     const TableStore = require("tablestore");
         const client = new TableStore.Client({ endpoint: "${addresses.tablestore}", instancename: "${instance}",
           accessKeyId: "${key.id}", secretAccessKey: "${secret}", maxRetries: 3 });

Azure    const { TableClient, AzureNamedKeyCredential } = require("@azure/data-tables");
         const client = new TableClient("${addresses.azure}/${account}", "things",
           new AzureNamedKeyCredential("${account}", "${accountKey}"), { allowInsecureConnection: true });
`;
}
