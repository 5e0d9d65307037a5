// The workloads, and the model that says what is the right answer. They know a client, and neither an engine nor a platform.

/** Entities of one batch, and of the partition that batches go to. */
const BATCH = 100;
const PAGE = 1000;
const RANGE = 10;
const PARTITIONS = 10;
/** How often each workload does its thing in a round. */
export const TIMES = { create: 300, get: 500, update: 300, batch: 10, page: 10, range: 200 };

/** Rounds before those that count. */
const WARM = 3;

const TITLES = {
  create: "create an entity", get: "get an entity", update: "update an entity (merge)", batch: `create ${BATCH} entities in a batch`, page: `a page of ${PAGE.toLocaleString("en")} entities`, range: `a range of ${RANGE} keys`,
};
/** The workloads by name, in their order. */
export const WORKLOADS = Object.keys(TITLES);
export const title = (name) => TITLES[name];

const digits = (n) => String(n).padStart(6, "0");

/** The entity of a number: six properties of as many types beside its keys. */
function entityOf(n, partitionKey, count = n) {
  return {
    partitionKey, rowKey: digits(n), count, name: `station ${n} of the north`, height: n * 0.25 + 0.125, active: n % 3 === 0,
    opened: new Date(Date.UTC(2000, 0, 1) + n * 60_000), passengers: BigInt(n) * 1_000_003n,
  };
}

const PROPERTIES = Object.keys(entityOf(0, ""));

function same(read, wanted) {
  for (const name of PROPERTIES) {
    const [a, b] = [read?.[name], wanted[name]];
    if (a !== b && !(a instanceof Date && b instanceof Date && a.getTime() === b.getTime())) throw new Error(`wrong answer: ${name} of ${wanted.partitionKey}/${wanted.rowKey} is ${a}, and not ${b}`);
  }
}

async function gather(items) {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Tables with so many entities each, in an engine, and what the answers must be. `client` gives the client of a table. */
export class Bench {
  // Entities are created and deleted again in a table of their own, because what is left of deleted ones is in the way of pages.
  #table;
  #growing;
  #size;
  #odata;
  #checks;
  #counts = [];
  #state = 1;
  #next;
  #page = { from: 0, token: undefined };

  /** Without `checks` answers are not looked at, and what was created stays: for answers that are canned. */
  constructor(client, size, { odata, checks = true }) {
    this.#table = client("bench");
    this.#growing = client("growing");
    this.#size = size;
    this.#odata = odata;
    this.#checks = checks;
    this.#next = size;
    for (let n = 0; n < size; n++) this.#counts.push(n);
  }

  /** A number below a limit; the same ones in every engine. */
  #random(below) {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * below);
  }

  #partition(n) {
    return `p${Math.floor((n * PARTITIONS) / this.#size)}`;
  }

  #entity(n) {
    return entityOf(n, this.#partition(n), this.#counts[n]);
  }

  /** Creates the tables and their entities. */
  async fill() {
    for (const table of [this.#table, this.#growing]) {
      await table.createTable();
      for (let n = 0; n < this.#size;) {
        const actions = [];
        for (const partition = this.#partition(n); n < this.#size && actions.length < BATCH && this.#partition(n) === partition; n++) actions.push(["create", this.#entity(n)]);
        await table.submitTransaction(actions);
      }
    }
  }

  /** Does a workload so many times. Gives the milliseconds of one time; what was answered is looked at afterwards. */
  async run(name, times = TIMES[name]) {
    const { prepare, work, check, clean } = this.#workloads[name];
    const inputs = Array.from({ length: times }, () => prepare());
    const answers = [];
    // What another engine has left must not be collected now. A major collection would drop the code of the client too.
    globalThis.gc?.({ type: "minor" });
    const started = performance.now();
    for (const input of inputs) answers.push(await work(input));
    const took = (performance.now() - started) / times;
    if (!this.#checks) return took;
    inputs.forEach((input, at) => check(answers[at], input));
    await clean?.(inputs);
    return took;
  }

  #workloads = {
    create: {
      prepare: () => entityOf(this.#next++, "created"),
      work: (entity) => this.#growing.createEntity(entity),
      check: ({ etag }) => this.#etag(etag),
      clean: async (entities) => {
        for (let at = 0; at < entities.length; at += BATCH) await this.#delete(entities.slice(at, at + BATCH));
      },
    },
    get: {
      prepare: () => this.#random(this.#size),
      work: (n) => this.#table.getEntity(this.#partition(n), digits(n)),
      check: (entity, n) => same(entity, this.#entity(n)),
    },
    update: {
      prepare: () => {
        const n = this.#random(this.#size);
        this.#counts[n] = this.#next++;
        return { partitionKey: this.#partition(n), rowKey: digits(n), count: this.#counts[n] };
      },
      work: (entity) => this.#table.updateEntity(entity, "Merge"),
      check: ({ etag }) => this.#etag(etag),
    },
    batch: {
      prepare: () => Array.from({ length: BATCH }, () => ["create", entityOf(this.#next++, "batch")]),
      work: (actions) => this.#growing.submitTransaction(actions),
      check: ({ status, subResponses }) => {
        if (status !== 202 || subResponses.length !== BATCH) throw new Error(`wrong answer: a batch of ${subResponses.length} with status ${status}`);
        for (const { status: one, etag } of subResponses) if (one !== 204 || !this.#etag(etag)) throw new Error(`wrong answer: status ${one} in a batch`);
      },
      clean: async (batches) => {
        for (const actions of batches) await this.#delete(actions.map(([, entity]) => entity));
      },
    },
    page: {
      prepare: () => undefined,
      // The pages of the table one after another, and again from the first one.
      work: async () => {
        const { from, token } = this.#page;
        const page = (await this.#table.listEntities().byPage({ maxPageSize: PAGE, continuationToken: token }).next()).value;
        this.#page = page.continuationToken === undefined ? { from: 0, token: undefined } : { from: from + page.length, token: page.continuationToken };
        return { page, from };
      },
      check: ({ page, from }) => this.#sequence(page, from, Math.min(PAGE, this.#size - from)),
    },
    range: {
      prepare: () => {
        const n = this.#random(this.#size);
        const each = this.#size / PARTITIONS;
        return n - Math.max(0, (n % each) + RANGE - each);
      },
      work: (n) => gather(this.#table.listEntities({ queryOptions: { filter: this.#odata`PartitionKey eq ${this.#partition(n)} and RowKey ge ${digits(n)} and RowKey lt ${digits(n + RANGE)}` } })),
      check: (entities, n) => this.#sequence(entities, n, RANGE),
    },
  };

  // The client leaves the end of the line on an ETag of a batch.
  #etag(etag) {
    if (!/^W\/"datetime'.+'"\s*$/.test(etag ?? "")) throw new Error(`wrong answer: the ETag ${etag}`);
    return true;
  }

  #sequence(entities, from, count) {
    if (entities.length !== count) throw new Error(`wrong answer: ${entities.length} entities from ${from} on, and not ${count}`);
    for (let at = 0; at < count; at++) same(entities[at], this.#entity(from + at));
  }

  async #delete(entities) {
    await this.#growing.submitTransaction(entities.map(({ partitionKey, rowKey }) => ["delete", { partitionKey, rowKey }]));
  }

  /** Compares the whole tables with what they must be. */
  async verify() {
    if (!this.#checks) return;
    this.#sequence(await gather(this.#table.listEntities()), 0, this.#size);
    const left = await gather(this.#growing.listEntities({ queryOptions: { select: ["rowKey"] } }));
    if (left.length !== this.#size || left.some(({ rowKey }, at) => rowKey !== digits(at))) throw new Error(`wrong answer: ${left.length} entities are left`);
  }
}

/** Does all workloads in all engines, in turn; each round begins with another engine. Gives the milliseconds of each round. */
export async function rounds(benches, { count, share, say = () => {} }) {
  const samples = Object.fromEntries(WORKLOADS.map((name) => [name, Object.fromEntries(Object.keys(benches).map((engine) => [engine, []]))]));
  for (let round = 1 - WARM; round <= count; round++) {
    const order = Object.keys(benches);
    order.unshift(...order.splice((round + WARM) % order.length));
    for (const name of WORKLOADS) {
      for (const engine of order) {
        say(`round ${Math.max(0, round)} of ${count}: ${title(name)}, ${engine}`);
        const took = await benches[engine].run(name, Math.max(1, Math.round(TIMES[name] * share)));
        if (round > 0) samples[name][engine].push(took);
      }
    }
  }
  return samples;
}
