// The SDK of Table Store for Node: npm install tablestore; npx tabstore serve; node tablestore.cjs
const TableStore = require("tablestore");
const [endpoint = "http://127.0.0.1:7371"] = process.argv.slice(2);
const client = new TableStore.Client({ endpoint, instancename: "demo", accessKeyId: "testid", secretAccessKey: "testsecret" });
const primaryKey = [
  { name: "station", type: "STRING" },
  { name: "at", type: "INTEGER" },
];
const [key, condition] = [
  [{ station: "SEA" }, { at: TableStore.Long.fromNumber(1) }],
  new TableStore.Condition(TableStore.RowExistenceExpectation.IGNORE, null),
];
(async () => {
  await client.createTable({
    tableMeta: { tableName: "node", primaryKey },
    reservedThroughput: { capacityUnit: { read: 0, write: 0 } },
    tableOptions: { timeToLive: -1, maxVersions: 1 },
  });
  await client.putRow({ tableName: "node", condition, primaryKey: key, attributeColumns: [{ tempMax: 12.8 }] });
  const { row } = await client.getRow({ tableName: "node", primaryKey: key });
  console.log(row.attributes[0].columnName, row.attributes[0].columnValue);
})();
