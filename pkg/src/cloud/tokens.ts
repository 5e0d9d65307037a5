/**
 * The fields of a request as the codec writes them (`codec/requests.ts`), one by one. The codec checks arguments, with the same errors
 * as for an instance in this browser, and what it writes is read here in the same order to make a request of the service.
 */

import { lengthOf } from "../codec/bytes.js";
import { TAG } from "../codec/contract.js";
import { checkNameText, type FieldWriter, isWellFormed } from "../codec/frame.js";
import { invalid } from "../types/errors.js";
import { TYPE, type Variant } from "./plain-buffer.js";

type Token = string | number | bigint | Uint8Array;

/** Takes fields, and gives them back. */
export class Tokens implements FieldWriter {
  private readonly tokens: Token[] = [];
  private at = 0;

  u8(value: number): void {
    this.tokens.push(value);
  }

  uv(value: number): void {
    this.tokens.push(value);
  }

  sv(value: number): void {
    this.tokens.push(value);
  }

  svBig(value: bigint): void {
    this.tokens.push(value);
  }

  f64(value: number): void {
    this.tokens.push(value);
  }

  binary(value: Uint8Array): void {
    const copy = new Uint8Array(lengthOf(value));
    copy.set(value);
    this.tokens.push(copy);
  }

  str(text: string, what: string): void {
    if (!isWellFormed(text)) throw invalid(`Value of ${what} must be UTF8 encoding.`);
    this.tokens.push(text);
  }

  name(text: string): void {
    checkNameText(text);
    this.tokens.push(text);
  }

  mark(): void {
    // Rows are told apart by what they are made of.
  }

  /** The next field, a number of the codec's own. */
  number(): number {
    return this.tokens[this.at++] as number;
  }

  /** The next field, an exact integer. */
  integer(): number | bigint {
    return this.tokens[this.at++] as number | bigint;
  }

  /** The next field, a text. */
  text(): string {
    return this.tokens[this.at++] as string;
  }

  /** The next fields, whose number stands before them. */
  many<T>(read: () => T): T[] {
    return Array.from({ length: this.number() }, read);
  }

  /** The next field, if the flag before it says that there is one. */
  maybe<T>(read: () => T): T | undefined {
    return this.number() === 0 ? undefined : read();
  }

  /** The next fields, a value with its tag. */
  variant(): Variant {
    const tag = this.number();
    switch (tag) {
      case TAG.INTEGER:
        return { type: TYPE.INTEGER, value: this.integer() };
      case TAG.DOUBLE:
        return { type: TYPE.DOUBLE, value: this.number() };
      case TAG.FALSE:
      case TAG.TRUE:
        return { type: TYPE.BOOLEAN, value: tag === TAG.TRUE };
      case TAG.STRING:
        return { type: TYPE.STRING, value: this.text() };
      case TAG.BINARY:
        return { type: TYPE.BLOB, value: this.tokens[this.at++] as Uint8Array };
      default:
        return { type: tag === TAG.INF_MIN ? TYPE.INF_MIN : tag === TAG.INF_MAX ? TYPE.INF_MAX : TYPE.AUTO_INCREMENT };
    }
  }
}
