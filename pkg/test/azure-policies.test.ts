/** Policies of tables that go and come again, and parts of properties that are set at once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AzureNamedKeyCredential, AzureSASCredential, generateTableSas, TableClient } from "@azure/data-tables";

import { azure, azureHttpClient } from "../src/azure/index.js";
import { all, settle } from "./support/azure.js";
import { open, skip } from "./support/package.js";

test("I6: a table that is made again has no policy of the one before, whatever was in flight", { skip }, async () => {
  const db = await open();
  const { accessKeySecret } = await db.createAccessKey({ rights: ["read", "write", "admin"] });
  const cred = new AzureNamedKeyCredential("demo", btoa(accessKeySecret));
  const httpClient = azureHttpClient(db) as any;
  const later = new Date(Date.now() + 3600e3);
  const seen: unknown[] = [];
  for (const order of ["set,delete", "delete,set", "set,set,delete", "set,delete,create", "set,tick,delete", "delete,tick,set", "set,set,tick,delete"])
    for (const had of [false, true]) {
      const name = `t${Math.random().toString(36).slice(2, 10)}`;
      const admin = new TableClient("https://demo.table.core.windows.net", name, cred, { httpClient });
      const off = azureHttpClient(db, { auth: "off" });
      const url = `https://demo.table.core.windows.net/${name}`;
      const set = () =>
        off.sendRequest({
          method: "PUT",
          url: `${url}?comp=acl`,
          headers: [["x-ms-version", "2019-02-02"]],
          body: `<SignedIdentifiers><SignedIdentifier><Id>pol</Id><AccessPolicy><Start>2020-01-01T00:00:00Z</Start><Expiry>${later.toISOString()}</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`,
        });
      await admin.createTable();
      if (had) await set();
      const works: Promise<any>[] = [];
      for (const step of order.split(",")) {
        if (step === "set") works.push(set());
        if (step === "delete") works.push(settle(azure(db, "demo").deleteTable(name)));
        if (step === "create") works.push(settle(azure(db, "demo").createTable(name)));
        if (step === "tick") for (let i = 0; i < 3; i++) await null;
      }
      const did = await Promise.all(works);
      await settle(azure(db, "demo").createTable(name));
      const sas = generateTableSas(name, cred, { identifier: "pol" } as any);
      const got = await settle(all(new TableClient("https://demo.table.core.windows.net", name, new AzureSASCredential(sas), { httpClient }).listEntities()));
      const acl = (await off.sendRequest({ method: "GET", url: `${url}?comp=acl`, headers: [["accept", "application/json"]] })).bodyAsText;
      seen.push([order, had, did.map((d) => d.status ?? d), got, acl.includes("pol")]);
    }
  await db.close();
  assert.deepEqual(
    seen.filter((one: any) => one[3] === "ok"),
    [],
  );
});

test("I6: parts of the service properties that are set at once are both kept", { skip }, async () => {
  const db = await open();
  const off = azureHttpClient(db, { auth: "off" });
  const put = (part: string) =>
    off.sendRequest({
      method: "PUT",
      url: "https://demo.table.core.windows.net/?restype=service&comp=properties",
      headers: [["x-ms-version", "2019-02-02"]],
      body: `<StorageServiceProperties>${part}</StorageServiceProperties>`,
    });
  await put("");
  const rule =
    "<Cors><CorsRule><AllowedOrigins>http://a</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>";
  const logging =
    "<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>false</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>";
  const did = (await Promise.all([put(rule), put(logging), put(logging)])).map(({ status }) => status);
  const text = (await off.sendRequest({ method: "GET", url: "https://demo.table.core.windows.net/?restype=service&comp=properties", headers: [] })).bodyAsText;
  await db.close();
  assert.deepEqual([did, text.includes("http://a"), text.includes("<Delete>true")], [[202, 202, 202], true, true]);
});
