// Puts one entry of the package on the page, and uses it as an application would.

const { searchParams } = new URL(location.href);

/** The requests that the browser's content policy refused or would have refused. */
const violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective, sample }) => violations.push(`${violatedDirective} ${sample}`));

// An application's own policy for everything, as frameworks make one.
if (searchParams.has("policy")) {
  globalThis.trustedTypes.createPolicy("default", { createScriptURL: (address) => (new URL(address).origin === location.origin ? address : null) });
}

globalThis.T = await import(`./pkg/${searchParams.get("entry") ?? "index"}.js`);

/** Opens, writes, imports, reads, closes: all chunks and the worker are loaded. Gives what was read, or why it failed. */
async function used(options) {
  try {
    const db = await T.open("policy", options);
    if (!(await db.listTable()).includes("t")) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { name: "a" } });
    await db.importRows("t", new File(["id,name\n2,b\n3,c\n"], "t.csv"));
    const names = [];
    for await (const row of db.scan({ tableName: "t" })) names.push(row.get("name"));
    await db.close();
    return { names, instances: (await T.listInstances()).map(({ name }) => name) };
  } catch (error) {
    return { known: error instanceof T.TabStoreError, code: error.code, message: error.message };
  }
}

/** The same, with the violations: the browser tells of them a little later. */
globalThis.use = async (options) => {
  const result = await used(options);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { ...result, violations: violations.splice(0) };
};
