/** The npm package `tablestore`, as it is published, and what its answers are compared with. It has no types of its own. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";

/** A 64-bit integer as the package reads it. */
export interface Int64 {
  toNumber(): number;
  toString(): string;
}

/** A row of an answer. */
export interface SdkRow {
  readonly primaryKey?: readonly { readonly name: string; readonly value: unknown }[] | null;
  readonly attributes?: readonly { readonly columnName: string; readonly columnValue: unknown; readonly timestamp: Int64 }[] | null;
}

/** An answer: its members depend on the operation. */
export type SdkAnswer = any;

/** A client of the package. */
export type SdkClient = Readonly<Record<string, (params: unknown) => Promise<SdkAnswer>>>;

/** The exports that the tests use. */
export interface Sdk {
  readonly Client: new (options: Readonly<Record<string, unknown>>) => SdkClient;
  readonly Long: { fromNumber(value: number): unknown; fromString(value: string): unknown };
  readonly Condition: new (expectation: number, condition: unknown) => unknown;
  readonly SingleColumnCondition: new (name: string, value: unknown, comparator: number, passIfMissing?: boolean, latestOnly?: boolean) => unknown;
  readonly CompositeCondition: new (operator: number) => { addSubCondition(condition: unknown): void };
  readonly ColumnPaginationFilter: new (limit: number, offset: number) => unknown;
  readonly RowExistenceExpectation: Readonly<Record<string, number>>;
  readonly ComparatorType: Readonly<Record<string, number>>;
  readonly LogicalOperator: Readonly<Record<string, number>>;
  readonly ReturnType: Readonly<Record<string, number>>;
  readonly Direction: Readonly<Record<string, string>>;
  readonly INF_MIN: unknown;
  readonly INF_MAX: unknown;
  readonly PK_AUTO_INCR: unknown;
  HttpClient: { prototype: object };
}

/** Loads the package. */
export const sdk = (): Sdk => createRequire(import.meta.url)("tablestore") as Sdk;

/** A client. It repeats nothing: a call that fails has failed. */
export function sdkClient(endpoint: string, more: Readonly<Record<string, unknown>> = {}): SdkClient {
  return new (sdk().Client)({ endpoint, instancename: "demo", accessKeyId: "testid", secretAccessKey: "testsecret", maxRetries: 0, ...more });
}

const isInt64 = (value: unknown): value is Int64 => typeof value === "object" && value !== null && !Buffer.isBuffer(value) && "toNumber" in value;

/** A value as JavaScript has it: integers are bigints, bytes are texts in hexadecimal. */
export const plain = (value: unknown): unknown => (isInt64(value) ? BigInt(value.toString()) : Buffer.isBuffer(value) ? value.toString("hex") : value);

/** The key of a row, by column. */
export const keyOf = (row: SdkRow): Record<string, unknown> => Object.fromEntries((row.primaryKey ?? []).map(({ name, value }) => [name, plain(value)]));

/** The attributes of a row in their order, with all their versions. */
export const cellsOf = (row: SdkRow): [name: string, value: unknown][] =>
  (row.attributes ?? []).map(({ columnName, columnValue }) => [columnName, plain(columnValue)]);

/** Checks that a call is refused. The package has the status as its code, and the bytes of the error in its message. */
export async function refusedSdk(work: Promise<unknown>, status: number, code: string, message = ""): Promise<void> {
  const error = await work.then(
    () => assert.fail("it was done"),
    (thrown: unknown) => thrown as { code: unknown; message: string },
  );
  assert.equal(error.code, status, String(error.message));
  assert.ok(error.message.includes(code) && error.message.includes(message), `${JSON.stringify(error.message)} has no ${code} ${message}`);
}
