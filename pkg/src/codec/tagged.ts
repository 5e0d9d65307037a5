/** Values with their tags before them: in records of streams, and in the keys that watchers are told. */

import type { Value } from "../data.js";
import { TAG } from "./contract.js";
import type { Reader } from "./reader.js";

/** A value: `u8 tag | its bytes`. */
export function readTagged(reader: Reader, bigints: boolean): Value {
  const tag = reader.u8();
  switch (tag) {
    case TAG.INTEGER: {
      const value = reader.sv();
      return bigints ? BigInt(value) : value;
    }
    case TAG.DOUBLE:
      return reader.f64();
    case TAG.FALSE:
      return false;
    case TAG.TRUE:
      return true;
    case TAG.STRING:
      return reader.str();
    default:
      return reader.binary();
  }
}
