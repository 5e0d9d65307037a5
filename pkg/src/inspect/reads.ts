/** Reads that tell more than the row: the path of the read, or the versions that reads do not give. */

import type { Client } from "../client/client.js";
import { ALL_VERSIONS } from "../client/scan.js";
import { checkArguments } from "../codec/check.js";
import * as encode from "../codec/requests.js";
import { FrameWriter } from "../codec/frame.js";
import { setField } from "../codec/plain-object.js";
import { kindOf } from "../codec/kinds.js";
import { readError } from "../codec/parts.js";
import { eachResponse, getRowResult } from "../codec/response.js";
import { wrongArgument } from "../types/errors.js";
import type { GetStoredRowRequest, GetStoredRowResult, ReadTrace, StoredVersion, TracedGetRowRequest, TracedGetRowResult } from "../types/inspect.js";
import type { GetRowRequest, GetRowResult } from "../types/rows.js";

const STORED = new Set(["tableName", "primaryKey", "columnsToGet", "signal"]);

/** A frame with the read of one row. */
export function frameOf(request: GetRowRequest): Uint8Array {
  const writer = new FrameWriter();
  writer.uv(1);
  encode.getRow(writer, request);
  return writer.finish().slice();
}

/** The result in a frame of one response. */
function resultOf(client: Client, response: Uint8Array): GetRowResult {
  let result: GetRowResult | undefined;
  eachResponse(response, (id, ok, payload) => {
    if (!ok) throw readError(payload, client.requestId(id));
    result = getRowResult(payload, client, id);
  });
  return result!;
}

/** The implementation of {@link Database.getRow} with a trace. */
export async function getRow(client: Client, request: TracedGetRowRequest): Promise<TracedGetRowResult> {
  const { trace = false, ...plain } = request;
  if (typeof trace !== "boolean") throw wrongArgument("trace", kindOf(trace), "true or false");
  if (!trace) return client.request(encode.getRow, plain, getRowResult, plain);
  const told = await client.admin<{ response: Uint8Array; trace: ReadTrace }>("getTracedRow", { frame: frameOf(plain) }, plain);
  return { ...resultOf(client, told.response), trace: told.trace };
}

/** The implementation of {@link Database.getStoredRow}. */
export async function getStoredRow(client: Client, request: GetStoredRowRequest): Promise<GetStoredRowResult> {
  const given = checkArguments<GetStoredRowRequest>(request, STORED, "getStoredRow");
  const frame = frameOf({ ...given, maxVersions: ALL_VERSIONS });
  const told = await client.admin<{ response: Uint8Array; hidden: StoredVersion["hidden"][]; exists: boolean; isStored: boolean }>(
    "getStoredRow",
    { frame },
    given,
  );
  const { row } = resultOf(client, told.response);
  const versions = Object.create(null) as Record<string, StoredVersion[]>;
  let next = 0;
  for (const name of row?.columnNames ?? []) {
    setField(
      versions,
      name,
      row!.columns[name]!.map(({ value, version }) => ({ value, version, hidden: told.hidden[next++]! })),
    );
  }
  return { row: told.isStored ? row : null, exists: told.exists, versions };
}
