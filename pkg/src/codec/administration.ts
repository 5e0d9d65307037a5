/**
 * What the contract declares of administrative operations. Names may come from a tab of another release, so each is checked where it
 * arrives.
 */

import { invalid } from "../types/errors.js";
import { ADMIN, ADMINISTRATION, type AdminOperation } from "./contract-administration.js";

/** Refuses an operation that is not declared. */
export function checkOperation(op: string): asserts op is AdminOperation {
  if (!Object.hasOwn(ADMINISTRATION, op)) throw invalid(`There is no operation '${op}'.`);
}

/** Its number, by which the engine knows it. */
export const numberOf = (op: AdminOperation): number => ADMINISTRATION[op] & ADMIN.NUMBER;

/** Whether it keeps its order among those that the engine finds too frequent. */
export const isOrdered = (op: AdminOperation): boolean => (ADMINISTRATION[op] & ADMIN.ORDERED) !== 0;

/** Whether it is done once, under a number of its own, whichever engines are asked. */
export const isOnce = (op: AdminOperation): boolean => (ADMINISTRATION[op] & ADMIN.ONCE) !== 0;

/** Whether it is asked again if an engine may have done it. `knows`: the next one has the answers of that one. */
export const isAskedAgain = (op: AdminOperation, knows = false): boolean => (ADMINISTRATION[op] & ADMIN.REPEATABLE) !== 0 || (knows && isOnce(op));
