/** Which calls are tried again, and when: the rules of the service's own SDKs. */

import { checkArguments, count } from "../codec/check.js";
import type { TabStoreError } from "../types/errors.js";
import type { RetryOptions } from "../types/rows.js";

const TOO_FREQUENT = "Too frequent table operations.";
/** The service is throttling: the first wait is longer. */
const THROTTLED = ["OTSServerBusy", "OTSNotEnoughCapacityUnit", "OTSOperationThrottled", "OTSCapacityUnitExhausted"];
/** The service has refused the call, and stored nothing. */
const REFUSED = [
  ...THROTTLED,
  "OTSRowOperationConflict",
  "OTSOperationConflict",
  "OTSTableNotReady",
  "OTSPartitionUnavailable",
  // Of an instance that `tabstore serve` has.
  "OTSSessionBusy",
];
/** The call may have been done. */
const UNKNOWN = ["OTSTimeout", "OTSInternalServerError", "OTSServerUnavailable", "Unavailable"];
const UNKNOWN_STATUS = [500, 502, 503];
/** How much longer the first wait is if the service is throttling. */
const THROTTLED_FACTOR = 2.5;
const NAMES = new Set(["attempts", "minDelay", "maxDelay"]);

/** Whether the service refuses tables for now. */
const isTooFrequent = ({ code, message }: TabStoreError): boolean => code === "OTSQuotaExhausted" && message.startsWith(TOO_FREQUENT);

/** Whether the same call may succeed a moment later. `repeatable`: it may be done twice. */
export function mayRepeat(error: TabStoreError, repeatable: boolean): boolean {
  const { code, status } = error;
  return REFUSED.includes(code) || isTooFrequent(error) || (repeatable && (UNKNOWN.includes(code) || UNKNOWN_STATUS.includes(status)));
}

/** The number and the times of retries. */
export class Retry {
  private readonly attempts: number;
  private readonly least: number;
  private readonly most: number;

  /** From the option `retry` of `connect`. */
  constructor(option: RetryOptions | false | undefined) {
    const given = option === false ? { attempts: 1 } : checkArguments<RetryOptions>(option ?? Object.create(null), NAMES, "retry");
    const { attempts = 21, minDelay = 200, maxDelay = 3000 } = given;
    count(attempts, "retry.attempts", 1);
    count(minDelay, "retry.minDelay", 0);
    count(maxDelay, "retry.maxDelay", 0);
    this.attempts = attempts;
    this.least = minDelay;
    this.most = maxDelay;
  }

  /** Milliseconds until the next try after `tries` failures, or `undefined` if there is none. */
  delay(error: TabStoreError, tries: number, repeatable: boolean): number | undefined {
    if (tries >= this.attempts || !mayRepeat(error, repeatable)) return undefined;
    const first = this.least * (THROTTLED.includes(error.code) || isTooFrequent(error) ? THROTTLED_FACTOR : 1);
    const longest = Math.min(this.most, first * 2 ** Math.min(tries - 1, 30));
    return (longest * (1 + Math.random())) / 2;
  }
}
