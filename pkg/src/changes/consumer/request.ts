/** The request of a consumer, checked. */

import { checkArguments, checkName } from "../../codec/check.js";
import { shown } from "../../codec/kinds.js";
import type { ConsumerRequest, ConsumerType } from "../../types/consumer.js";
import { invalid, wrongArgument } from "../../types/errors.js";
import { signalOf } from "../../client/signals.js";
import { isOfAccount } from "../streams.js";

const CONSUMER = new Set(["tableName", "group", "type", "from", "limit", "heartbeatTimeout", "signal"]);
const NAME = /^[A-Za-z0-9_-]{1,255}$/;
const TYPES: readonly ConsumerType[] = ["BaseData", "Stream", "BaseAndStream"];

/** The request of a group, checked. */
export interface Asked {
  readonly tableName: string;
  readonly group: string;
  readonly type: ConsumerType | undefined;
  readonly from: "EARLIEST" | "LATEST" | number;
  readonly limit: number;
  readonly timeout: number;
}

function within(value: unknown, argument: string, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most)
    throw wrongArgument(argument, shown(value), `an integer from ${least} to ${most}`);
}

/** The name of a table in the rows of its groups. The names of accounts' tables are the same in any case. */
export const nameOf = (tableName: string): string => (isOfAccount(tableName) ? tableName.toLowerCase() : tableName);

export function check(request: ConsumerRequest): Asked {
  const { tableName, group, type, from, limit = 1000, heartbeatTimeout: timeout = 10_000 } = checkArguments<ConsumerRequest>(request, CONSUMER, "consumer");
  checkName(tableName, "tableName");
  if (typeof group !== "string" || !NAME.test(group)) throw wrongArgument("group", shown(group), "a name of 1 to 255 letters (A to Z), digits, _ and -");
  if (type !== undefined && !TYPES.includes(type)) throw wrongArgument("type", shown(type), "'BaseData', 'Stream' or 'BaseAndStream'");
  // Else the group would be made, and fail at its first row.
  if (isOfAccount(tableName) && type !== undefined && type !== "Stream") throw wrongArgument("type", shown(type), "'Stream' for a table of an account");
  if (from !== undefined) {
    if (type === "BaseData" || type === "BaseAndStream") {
      throw invalid(
        `The argument 'from' is ${shown(from)}; a group of the type '${type}' begins with the rows that are there.`,
        "Leave 'from' out, or give the type 'Stream'.",
      );
    }
    if (from !== "EARLIEST" && from !== "LATEST" && !(typeof from === "number" && Number.isSafeInteger(from))) {
      throw invalid(
        `The argument 'from' is ${shown(from)}; it must be 'EARLIEST', 'LATEST' or a time in milliseconds.`,
        "'oldest', 'latest' and tokens are for db.changes.",
      );
    }
  }
  within(limit, "limit", 1, 1000);
  within(timeout, "heartbeatTimeout", 500, 300_000);
  signalOf(request);
  return { tableName: nameOf(tableName), group, type, from: from ?? "EARLIEST", limit, timeout };
}
