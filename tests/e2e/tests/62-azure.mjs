// Microsoft's client for Azure tables, as it is published and bundled, on the package: in a page, in a worker and in a tab that
// follows. And the module of the engine that it needs: when it is loaded, and what happens where it cannot be.

import assert from "node:assert/strict";

import { loadAzure, serveAzure, useTable, USED_TABLE } from "../support/azure.mjs";
import { openPage, reload, startBrowser } from "../support/browser.mjs";
import { startContext } from "../support/contexts.mjs";
import { test, turns } from "../support/harness.mjs";
import { led, open, WAYS } from "../support/tabs.mjs";

const FILE = "/contexts.html";
const MODULE = "/pkg/tabstore_azure.wasm";

/** A page with the client and an open instance. */
async function visit(t, browser, server, options = {}) {
  const page = await openPage(t, browser, server, FILE);
  await page.evaluate(loadAzure);
  const role = await page.evaluate(open, { name: "azure", options });
  return { page, role };
}

/** The number of entities of a table. */
const size = async (name) => {
  const client = new S.TableClient("https://demo.table.core.windows.net", name, { httpClient: A.azureHttpClient(db, { auth: "off" }) });
  let entities = 0;
  for await (const page of client.listEntities().byPage()) entities += page.length;
  return entities;
};

for (const worker of turns([true, false])) {
  test(
    `Z1, Z2, Z3: the client for Azure tables has all of the service in a page, and its entities stay (worker: ${worker})`,
    async (t) => {
      const server = await serveAzure(t);
      const { page } = await visit(t, await startBrowser(t), server, { worker });
      assert.deepEqual(await page.evaluate(useTable, "stations"), { role: "leader", ...USED_TABLE });
      await page.evaluate(() => db.close());
      await reload(page);
      await page.evaluate(loadAzure);
      await page.evaluate(open, { name: "azure", options: { worker } });
      assert.equal(await page.evaluate(size, "stations"), 5001);
      await page.evaluate(() => db.close());
    },
    { seconds: 120 },
  );
}

test(
  "Z1, Z2, Z3: the client for Azure tables has all of the service in a worker without a document",
  async (t) => {
    const server = await serveAzure(t);
    const page = await openPage(t, await startBrowser(t), server, FILE);
    const context = await startContext(page, "dedicated worker", "azure");
    await context.evaluate(open, { name: "azure" });
    assert.deepEqual(await context.evaluate(useTable, "stations"), { role: "leader", ...USED_TABLE });
    await context.evaluate(() => db.close());
  },
  { seconds: 120 },
);

test(
  "Z1, Z2, Z3: the client for Azure tables has all of the service in a tab that follows",
  async (t) => {
    const server = await serveAzure(t);
    const browser = await startBrowser(t);
    const one = await visit(t, browser, server);
    const two = await visit(t, browser, server);
    assert.deepEqual([one.role, two.role], ["leader", "follower"]);
    assert.deepEqual(await two.page.evaluate(useTable, "stations"), { role: "follower", ...USED_TABLE });
    assert.equal(await one.page.evaluate(size, "STATIONS"), 5001);
    await two.page.evaluate(() => db.close());
    await one.page.evaluate(() => db.close());
  },
  { seconds: 120 },
);

test("Z2: ETags of Azure's service decide between writers of two tabs: one wins, and none overwrites what it has not read", async (t) => {
  const server = await serveAzure(t);
  const browser = await startBrowser(t);
  const pages = [(await visit(t, browser, server)).page, (await visit(t, browser, server)).page];
  const prepare = async () => {
    globalThis.client = new S.TableClient("https://demo.table.core.windows.net", "counters", { httpClient: A.azureHttpClient(db, { auth: "off" }) });
    await client.createTable();
  };
  for (const page of pages) await page.evaluate(prepare);
  const etag = await pages[0].evaluate(async () => (await client.createEntity({ partitionKey: "p", rowKey: "r", n: 0 })).etag);
  assert.equal(await pages[1].evaluate(async () => (await client.getEntity("p", "r")).etag), etag);
  const update = async (given) => {
    try {
      return (await client.updateEntity({ partitionKey: "p", rowKey: "r", n: 0 }, "Merge", { etag: given })).etag === given ? "the same ETag" : "done";
    } catch (error) {
      return `${error.statusCode} ${error.details.odataError.code}`;
    }
  };
  // Both tabs have read before either writes, so each round has a conflict, however the machine runs them.
  for (let round = 0; round < 20; round += 1) {
    const read = await Promise.all(pages.map((page) => page.evaluate(async () => (await client.getEntity("p", "r")).etag)));
    assert.equal(read[0], read[1]);
    const seen = await Promise.all(pages.map((page) => page.evaluate(update, read[0])));
    assert.deepEqual(seen.sort(), ["412 UpdateConditionNotSatisfied", "done"]);
  }
  const count = async (times) => {
    let conflicts = 0;
    for (let done = 0; done < times; ) {
      const entity = await client.getEntity("p", "r");
      try {
        await client.updateEntity({ partitionKey: "p", rowKey: "r", n: entity.n + 1 }, done % 2 === 0 ? "Merge" : "Replace", { etag: entity.etag });
        done += 1;
      } catch (error) {
        if (error.statusCode !== 412) throw error;
        conflicts += 1;
      }
    }
    return conflicts;
  };
  const conflicts = await Promise.all(pages.map((page) => page.evaluate(count, 200)));
  assert.equal(await pages[1].evaluate(async () => (await client.getEntity("p", "r")).n), 400);
  t.note(`400 updates of one entity by two tabs met ${conflicts[0] + conflicts[1]} conflicts`);
  for (const page of pages.reverse()) await page.evaluate(() => db.close());
});

test("Z1: access policies, properties and statistics of Azure's service come back in a page, which reads XML", async (t) => {
  const server = await serveAzure(t);
  const { page } = await visit(t, await startBrowser(t), server);
  const seen = await page.evaluate(async () => {
    const options = { httpClient: A.azureHttpClient(db, { auth: "off" }) };
    const client = new S.TableClient("https://demo.table.core.windows.net", "stations", options);
    const service = new S.TableServiceClient("https://demo.table.core.windows.net", options);
    await client.createTable();
    await client.setAccessPolicy([
      { id: "readers & <others>", accessPolicy: { start: new Date("2026-01-01T00:00:00Z"), expiry: new Date("2027-01-01T12:30:00Z"), permission: "r" } },
      { id: "all", accessPolicy: { permission: "raud" } },
    ]);
    const policies = await client.getAccessPolicy();
    let six;
    try {
      await client.setAccessPolicy(Array.from({ length: 6 }, (_, n) => ({ id: `p${n}`, accessPolicy: { permission: "r" } })));
    } catch (error) {
      six = error.statusCode;
    }
    await client.setAccessPolicy([]);
    await service.setProperties({
      hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } },
      cors: [{ allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "", maxAgeInSeconds: 60 }],
    });
    const { hourMetrics, cors } = await service.getProperties();
    return JSON.stringify({
      policies,
      six,
      left: (await client.getAccessPolicy()).length,
      hourMetrics,
      origins: cors.map(({ allowedOrigins }) => allowedOrigins),
      status: (await service.getStatistics()).geoReplication.status,
    });
  });
  assert.deepEqual(JSON.parse(seen), {
    policies: [
      { id: "readers & <others>", accessPolicy: { start: "2026-01-01T00:00:00.000Z", expiry: "2027-01-01T12:30:00.000Z", permission: "r" } },
      { id: "all", accessPolicy: { permission: "raud" } },
    ],
    six: 400,
    left: 0,
    hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } },
    origins: ["*"],
    status: "live",
  });
  await page.evaluate(() => db.close());
});

test("I6: in a page the secret of an access key stands for the signature that the client for Azure tables cannot make", async (t) => {
  const server = await serveAzure(t);
  const { page } = await visit(t, await startBrowser(t), server);
  const seen = await page.evaluate(async () => {
    const { accessKeySecret } = await db.createAccessKey({ rights: ["read", "write", "admin"] });
    const outcomes = [];
    for (const options of [{}, { key: "wrong" }, { key: accessKeySecret }]) {
      const client = new S.TableClient("https://demo.table.core.windows.net", "stations", { httpClient: A.azureHttpClient(db, options) });
      outcomes.push(
        await client.createTable().then(
          () => "done",
          ({ statusCode, details }) => `${statusCode} ${details.odataError.code}`,
        ),
      );
    }
    return outcomes;
  });
  assert.deepEqual(seen, ["403 AuthenticationFailed", "403 AuthenticationFailed", "done"]);
  await page.evaluate(() => db.close());
});

test("I6: in a page a shared access signature gives the client for Azure tables what it says, as a credential, in a URL and in a connection string", async (t) => {
  const server = await serveAzure(t);
  const { page } = await visit(t, await startBrowser(t), server);
  const seen = await page.evaluate(async () => {
    const { AzureNamedKeyCredential, AzureSASCredential, generateAccountSas, generateTableSas, TableClient, TableServiceClient } = S;
    const URL = "https://demo.table.core.windows.net";
    const httpClient = A.azureHttpClient(db);
    const { accessKeySecret } = await db.createAccessKey({ rights: ["read", "write", "admin"] });
    const refusal = async (work) => {
      try {
        await work();
        return "done";
      } catch (error) {
        return error.statusCode === undefined ? error.message : `${error.statusCode} ${error.details.odataError.code}`;
      }
    };
    // What the client has for those with the key needs Node.
    const credential = new AzureNamedKeyCredential("demo", btoa(accessKeySecret));
    const nodeOnly = [
      await refusal(() => generateAccountSas(credential)),
      await refusal(() => generateTableSas("stations", credential)),
      await refusal(() => new TableClient(URL, "stations", credential, { httpClient })),
      await refusal(() =>
        TableClient.fromConnectionString(
          `DefaultEndpointsProtocol=https;AccountName=demo;AccountKey=${btoa(accessKeySecret)};EndpointSuffix=core.windows.net`,
          "stations",
          { httpClient },
        ),
      ),
    ];
    // So an application gets its signatures from elsewhere, or signs by WebCrypto as here.
    const encoder = new TextEncoder();
    const key = await crypto.subtle.importKey("raw", encoder.encode(accessKeySecret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const sign = async (fields, lines) => {
      const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(lines.join("\n")));
      return new URLSearchParams({ ...fields, sig: btoa(String.fromCharCode(...new Uint8Array(signature))) }).toString();
    };
    const se = "9999-01-01T00:00:00Z";
    const sv = "2019-02-02";
    const ofAccount = (sp) => sign({ sv, ss: "t", srt: "sco", sp, se }, ["demo", sp, "t", "sco", "", se, "", "", sv, ""]);
    const ofTable = (sp, tn, spk = "", epk = "") =>
      sign({ sv, tn, sp, se, ...(spk === "" ? {} : { spk, epk }) }, [sp, "", se, `/table/demo/${tn}`, "", "", "", sv, spk, "", epk, ""]);
    const all = new TableClient(URL, "stations", new AzureSASCredential(await ofAccount("rwdlau")), { httpClient });
    await all.createTable();
    await all.submitTransaction([
      ["create", { partitionKey: "p", rowKey: "1", n: 1 }],
      ["create", { partitionKey: "p", rowKey: "2", n: 2 }],
    ]);
    await all.upsertEntity({ partitionKey: "q", rowKey: "1", n: 3 });
    const rows = async (client) => {
      const found = [];
      for await (const { partitionKey, rowKey } of client.listEntities()) found.push(partitionKey + rowKey);
      return found.join(" ");
    };
    const reader = new TableClient(URL, "stations", new AzureSASCredential(await ofTable("r", "stations", "p", "p")), { httpClient });
    const forger = new TableClient(URL, "stations", new AzureSASCredential((await ofTable("r", "stations")).replace("sp=r", "sp=raud")), { httpClient });
    // The browser build takes connection strings that have a signature.
    const text = `TableEndpoint=${URL};SharedAccessSignature=${await ofAccount("rl")}`;
    const tables = [];
    for await (const table of TableServiceClient.fromConnectionString(text, { httpClient }).listTables()) tables.push(table.name);
    return {
      nodeOnly,
      read: [
        await rows(all),
        await rows(reader),
        await rows(TableClient.fromConnectionString(text, "stations", { httpClient })),
        await rows(new TableClient(`${URL}?${await ofTable("r", "stations")}`, "stations", { httpClient })),
        tables.join(" "),
      ],
      refused: [
        await refusal(() => reader.getEntity("q", "1")),
        await refusal(() => reader.upsertEntity({ partitionKey: "p", rowKey: "3" })),
        await refusal(() => reader.deleteTable()),
        await refusal(() => forger.getEntity("p", "1")),
        await refusal(() => new TableClient(URL, "stations", { httpClient }).getEntity("p", "1")),
      ],
      left: await rows(all),
    };
  });
  assert.deepEqual(seen, {
    nodeOnly: [
      "computeHMACSHA256 is not supported in the browser",
      "computeHMACSHA256 is not supported in the browser",
      "Shared Access Key authentication is not supported in the browser",
      "Account connection string is only supported in Node.js environment",
    ],
    read: ["p1 p2 q1", "p1 p2", "p1 p2 q1", "p1 p2 q1", "stations"],
    refused: [
      "403 AuthorizationFailure",
      "403 AuthorizationPermissionMismatch",
      "403 AuthorizationResourceTypeMismatch",
      "403 AuthenticationFailed",
      "403 AuthenticationFailed",
    ],
    left: "p1 p2 q1",
  });
  await page.evaluate(() => db.close());
});

for (const worker of turns([true, false])) {
  test(`Z1: the module of Azure's service is loaded by the first request, once, and by nothing else (worker: ${worker})`, async (t) => {
    const server = await serveAzure(t);
    const { page } = await visit(t, await startBrowser(t), server, { worker });
    const loads = () => server.asked.filter((name) => name === MODULE).length;
    await page.evaluate(async () => {
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 100; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { n: id } });
      await db.flush();
      await db.compact();
      await db.metrics();
      globalThis.client = new S.TableClient("https://demo.table.core.windows.net", "stations", { httpClient: A.azureHttpClient(db, { auth: "off" }) });
    });
    assert.equal(loads(), 0);
    const [first, second] = await page.evaluate(async () => {
      const times = [];
      for (let at = 0; at < 2; at++) {
        const started = performance.now();
        await client.getEntity("p", "r").catch(({ statusCode }) => statusCode === 404 || Promise.reject(new Error(`${statusCode}`)));
        times.push(performance.now() - started);
      }
      return times;
    });
    assert.equal(loads(), 1);
    const bytes = server.files.get(MODULE).length;
    t.note(
      `the module of Azure's service (${(bytes / 1024).toFixed(0)} KB) costs the first request ${(first - second).toFixed(1)} ms: it takes ${first.toFixed(1)} ms, the second one ${second.toFixed(1)} ms`,
    );
    await page.evaluate(() => db.close());
  });

  test(`Z1: a module of Azure's service that cannot be loaded fails the request by name, and is loaded by the next one (worker: ${worker})`, async (t) => {
    const server = await serveAzure(t);
    const { page } = await visit(t, await startBrowser(t), server, { worker });
    server.failing.add(MODULE);
    const refused = await page.evaluate(async () => {
      globalThis.client = new S.TableClient("https://demo.table.core.windows.net", "stations", { httpClient: A.azureHttpClient(db, { auth: "off" }) });
      const refusals = [await H.refusal(() => client.createTable()), await H.refusal(() => A.azure(db, "demo").createTable("stations"))];
      // The rest of the instance works.
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
      return { refusals, rows: (await db.count({ tableName: "t" })).count };
    });
    for (const { known, code, message } of refused.refusals) {
      assert.deepEqual([known, code], [true, "Unavailable"], message);
      assert.match(message, /^The module 'azure' of TabStore could not be loaded: .*503.*init/);
    }
    assert.equal(refused.rows, 1);
    server.failing.clear();
    const healed = await page.evaluate(async () => {
      await client.createTable();
      await client.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
      return (await client.getEntity("p", "r")).n;
    });
    assert.equal(healed, 1);
    await page.evaluate(() => db.close());
  });
}

/** Makes every kind of change in a partition, on entities of this round. */
const writeAll = async ([partitionKey, round]) => {
  const table = A.azure(db, "demo").table("birds");
  const key = { partitionKey, rowKey: `${round}` };
  await table.createEntity({ ...key, n: 1, gone: true });
  await table.updateEntity({ ...key, n: 2 });
  await table.updateEntity({ ...key, n: 3 }, "Replace");
  await table.submitTransaction([
    ["upsert", { ...key, n: 4 }],
    ["create", { partitionKey, rowKey: `${round}b`, big: 2n ** 40n }],
  ]);
  await table.deleteEntity(partitionKey, key.rowKey);
};

/** What a reader sees of {@link writeAll}: kind, keys, the properties `n` and `big`, the old value of `n`. */
const written = (partition, round) => [
  `PUT ${partition}/${round} 1 undefined was undefined`,
  `UPDATE ${partition}/${round} 2 undefined was 1`,
  `PUT ${partition}/${round} 3 undefined was 2`,
  `UPDATE ${partition}/${round} 4 undefined was 3`,
  `PUT ${partition}/${round}b undefined 1099511627776 was undefined`,
  `DELETE ${partition}/${round} undefined undefined was 4`,
];

/** Begins to read all changes behind the stored token. `seen` has them, and `place` is the token of the last one. */
const readOn = () => {
  globalThis.seen = [];
  globalThis.reading = (async () => {
    for await (const { type, entity, original, token } of A.azure(db, "demo")
      .table("birds")
      .changes({ from: localStorage.place ?? "oldest" })) {
      seen.push(`${type} ${entity.partitionKey}/${entity.rowKey} ${entity.n} ${entity.big} was ${original.n}`);
      localStorage.place = token;
    }
  })().catch((error) => seen.push(`${error.code}: ${error.message}`));
};

for (const [way, prepare] of turns(WAYS)) {
  test(`ST3, Z3: a tab that follows reads the changes of an Azure table once, through a hand-over and a reload (${way})`, async (t) => {
    const server = await serveAzure(t);
    const browser = await startBrowser(t);
    await prepare(browser);
    const { page: one } = await visit(t, browser, server);
    const { page: two, role } = await visit(t, browser, server);
    assert.equal(role, "follower");
    // WebDriver fails for a value that contains itself, as a table does.
    await one.evaluate(async () => void (await A.azure(db, "demo").createTable("birds")));
    await two.evaluate(
      async () =>
        void (await A.azure(db, "demo")
          .table("birds")
          .enableStream({ expirationHours: 1, originColumns: ["n"] })),
    );
    await two.evaluate(readOn);
    /** The changes that the reader has after `count` of them, by partition. A moment later there are no more. */
    const seen = async (count) => {
      await two.waitForFunction((least) => globalThis.seen.length >= least, count);
      await new Promise((resolve) => setTimeout(resolve, 200));
      const all = await two.evaluate(() => globalThis.seen);
      assert.equal(all.length, count, all.join("\n"));
      return ["one", "two"].map((partition) => all.filter((change) => change.includes(` ${partition}/`)));
    };
    await Promise.all([one.evaluate(writeAll, ["one", 1]), two.evaluate(writeAll, ["two", 1])]);
    assert.deepEqual(await seen(12), [written("one", 1), written("two", 1)]);
    await one.close();
    await led([two]);
    await two.evaluate(writeAll, ["two", 2]);
    assert.deepEqual(await seen(18), [written("one", 1), [...written("two", 1), ...written("two", 2)]]);
    // The page goes away in the middle of the loop, and later changes are made while nobody reads.
    await reload(two);
    await two.evaluate(loadAzure);
    await two.evaluate(open, { name: "azure", options: {} });
    await two.evaluate(writeAll, ["two", 3]);
    await two.evaluate(readOn);
    assert.deepEqual(await seen(6), [[], written("two", 3)]);
    await two.evaluate(() => db.close());
  });
}
