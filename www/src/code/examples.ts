/** Programs to begin with. They use a table of their own, and each makes it. */

const TABLE = `await db.createTable({
  tableName: "code_example",
  primaryKey: [{ name: "id", type: "INTEGER" }],
  stream: { enabled: true, expirationHours: 24 },
  ifNotExists: true,
});
`;

/** The examples, by name. */
export const EXAMPLES = {
  put: `${TABLE}
await db.putRow({
  tableName: "code_example",
  primaryKey: { id: 1 },
  attributes: { name: "Ann", total: 12, price: double(9), paid: false },
});
const { row, consumed } = await db.getRow({ tableName: "code_example", primaryKey: { id: 1 } });
console.log(row.toObject());
consumed
`,
  scan: `${TABLE}
for (let id = 1; id <= 9; id++) {
  await db.updateRow({ tableName: "code_example", primaryKey: { id }, put: { total: id * 10 } });
}
const large = col("total").gt(50, { passIfMissing: false });
let sum = 0;
for await (const row of db.scan({ tableName: "code_example", start: { id: 2 }, filter: large })) {
  console.log(row.primaryKey.id, row.get("total"));
  sum += row.get("total");
}
sum
`,
  atomic: `${TABLE}
for (const [id, total] of [[1, 100], [2, 0]]) {
  await db.putRow({ tableName: "code_example", primaryKey: { id }, attributes: { total } });
}
const enough = col("total").ge(30, { passIfMissing: false });
const move = () => db.atomic([
  { tableName: "code_example", update: { primaryKey: { id: 1 }, increment: { total: -30 }, condition: { column: enough } } },
  { tableName: "code_example", update: { primaryKey: { id: 2 }, increment: { total: 30 } } },
]);
try {
  for (;;) await move();
} catch (error) {
  console.log(error.code);
}
for await (const row of db.scan({ tableName: "code_example", end: { id: 3 } })) {
  console.log(row.toObject());
}
`,
  watch: `${TABLE}
setInterval(() => db.updateRow({ tableName: "code_example", primaryKey: { id: 1 }, increment: { ticks: 1 } }), 1000);
for await (const { rows, changed } of db.watch({ tableName: "code_example", limit: 5 })) {
  console.log(changed.length, "changed:", rows.map((row) => row.toObject()));
}
`,
  stream: `${TABLE}
await db.putRow({ tableName: "code_example", primaryKey: { id: 7 }, attributes: { total: 1 } });
await db.updateRow({ tableName: "code_example", primaryKey: { id: 7 }, increment: { total: 2 } });
await db.deleteRow({ tableName: "code_example", primaryKey: { id: 7 } });
for await (const { type, primaryKey, cells } of db.changes({ tableName: "code_example", from: "oldest", once: true })) {
  console.log(type, primaryKey.id, cells);
}
`,
} as const;

/** The name of an example. */
export type ExampleName = keyof typeof EXAMPLES;
