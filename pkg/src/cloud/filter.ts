/** Filters and column conditions, as the service has them. */

import { COMPARATOR, FILTER } from "../codec/contract.js";
import { AnyFilter, ColumnFilter, CompositeFilter, PageFilter } from "./messages.js";
import { TYPE, variantBytes } from "./plain-buffer.js";
import { encode, type Fields } from "./protobuf.js";
import type { Tokens } from "./tokens.js";

const SINGLE = 1;
const COMPOSITE = 2;
const PAGINATION = 3;
/** Comparisons without a value: the message needs one all the same, which the service ignores. */
const EXIST = /* @__PURE__ */ COMPARATOR.indexOf("EXIST");
const NO_VALUE = { type: TYPE.INTEGER, value: 0 };

/** The bits of a comparison, as `codec/filter.ts` writes them. */
const PASSES_IF_MISSING = 1;
const LATEST_ONLY = 2;
const TRANSFERS = 4;

function readComparison(tokens: Tokens): Uint8Array {
  const column = tokens.text();
  const comparator = tokens.number();
  const hasValue = comparator < EXIST;
  const value = variantBytes(hasValue ? tokens.variant() : NO_VALUE);
  const flags = tokens.number();
  return encode(ColumnFilter, {
    comparator,
    column,
    value,
    filterIfMissing: !hasValue || (flags & PASSES_IF_MISSING) === 0,
    latestVersionOnly: (flags & LATEST_ONLY) !== 0,
    rule: (flags & TRANSFERS) === 0 ? undefined : { regex: tokens.text(), castType: tokens.number() },
  });
}

function readAny(tokens: Tokens): Fields<typeof AnyFilter> {
  switch (tokens.number()) {
    case FILTER.Column:
      return { type: SINGLE, filter: readComparison(tokens) };
    case FILTER.Composite:
      return { type: COMPOSITE, filter: encode(CompositeFilter, { combinator: tokens.number(), filters: tokens.many(() => readAny(tokens)) }) };
    default:
      return { type: PAGINATION, filter: encode(PageFilter, { offset: tokens.integer(), limit: tokens.integer() }) };
  }
}

/** Reads a filter. */
export const readFilter = (tokens: Tokens): Uint8Array => encode(AnyFilter, readAny(tokens));
