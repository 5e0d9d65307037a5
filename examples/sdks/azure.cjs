// The SDK of Azure tables: npm install @azure/data-tables; npx tabstore serve; node azure.cjs
const { AzureNamedKeyCredential, TableClient } = require("@azure/data-tables");
const [endpoint = "http://127.0.0.1:7372"] = process.argv.slice(2);
const credential = new AzureNamedKeyCredential("demo", Buffer.from("testsecret").toString("base64"));
const client = new TableClient(`${endpoint}/demo`, "stations", credential, { allowInsecureConnection: true });
(async () => {
  await client.createTable();
  await client.createEntity({ partitionKey: "SEA", rowKey: "1", tempMax: 12.8 });
  console.log("tempMax", (await client.getEntity("SEA", "1")).tempMax);
})();
