/**
 * Protocol buffers (proto2), as far as the service's messages need them. A message is declared as a table of its fields, from which
 * both directions follow. The libraries for it bring code for each message, or a compiler of schemas, which weigh more than this.
 */

import { decodeText } from "../codec/reader.js";
import { Bytes, exact, utf8 } from "./bytes.js";
import { damaged } from "./errors.js";

/** The kind of a field: `int` is any integer or enumeration of up to 64 bits, `sint` a zigzag one. */
export type Kind = "int" | "sint" | "bool" | "text" | "bytes" | Message;

/** A field: its number, its kind, and whether there may be many of it. */
export type Field = readonly [number: number, kind: Kind, many?: true];

/** The fields of a message by name, in the order in which they are written. */
export interface Message {
  readonly [name: string]: Field;
}

type Single<K> = K extends "int" | "sint"
  ? number | bigint
  : K extends "bool"
    ? boolean
    : K extends "text"
      ? string
      : K extends "bytes"
        ? Uint8Array
        : K extends Message
          ? Fields<K>
          : never;

/** The contents of a message. A field that is missing is `undefined`. */
export type Fields<M extends Message> = {
  readonly [name in keyof M]?: (M[name] extends readonly [number, infer K, true] ? readonly Single<K>[] : Single<M[name][1]>) | undefined;
};

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

/** Declares a message. */
export const message = <const M extends Message>(fields: M): M => fields;

function writeField(bytes: Bytes, number: number, kind: Kind, value: unknown): void {
  const isNumber = kind === "int" || kind === "sint" || kind === "bool";
  bytes.varint((number << 3) | (isNumber ? VARINT : DELIMITED));
  if (isNumber) {
    const plain = value as number | bigint | boolean;
    // Of the numbers that are `sint`, only answers have any.
    bytes.varint(typeof plain === "boolean" ? Number(plain) : plain);
    return;
  }
  const content = kind === "text" ? utf8(value as string) : kind === "bytes" ? (value as Uint8Array) : encode(kind, value as Fields<Message>);
  bytes.varint(content.length);
  bytes.raw(content);
}

/** Writes a message. Fields that are `undefined` are left out. */
export function encode<M extends Message>(fields: M, value: Fields<M>): Uint8Array<ArrayBuffer> {
  const bytes = new Bytes();
  for (const [name, [number, kind, many]] of Object.entries(fields)) {
    const one: unknown = value[name];
    if (one === undefined) continue;
    for (const each of many ? (one as unknown[]) : [one]) writeField(bytes, number, kind, each);
  }
  return bytes.finish();
}

/** A position in a message. */
class Cursor {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw damaged("a message ends too early");
  }

  take(length: number): Uint8Array {
    const { at } = this;
    if (!(at + length <= this.bytes.length)) throw damaged("a message ends too early");
    this.at += length;
    return this.bytes.subarray(at, this.at);
  }
}

function readField(cursor: Cursor, wire: number, kind: Kind | undefined): unknown {
  switch (wire) {
    case VARINT: {
      const value = cursor.varint();
      if (kind === "bool") return value !== 0n;
      return exact(kind === "sint" ? (value >> 1n) ^ -(value & 1n) : BigInt.asIntN(64, value));
    }
    case DELIMITED: {
      const content = cursor.take(Number(cursor.varint()));
      return kind === "text" ? decodeText(content, 0, content.length) : typeof kind === "object" ? decode(kind, content) : content;
    }
    case FIXED64:
    case FIXED32:
      return cursor.take(wire === FIXED64 ? 8 : 4);
    default:
      throw damaged(`a field has the wire type ${wire}`);
  }
}

/** Whether a field of this wire type can be of this kind. */
const suits = (wire: number, kind: Kind): boolean => wire === (kind === "int" || kind === "sint" || kind === "bool" ? VARINT : DELIMITED);

/** Reads a message. Fields that are not declared are passed over, as those of a newer service. */
export function decode<M extends Message>(fields: M, bytes: Uint8Array): Fields<M> {
  const cursor = new Cursor(bytes);
  const value: Record<string, unknown> = {};
  const declared = Object.entries(fields);
  for (const [name, [, , many]] of declared) if (many) value[name] = [];
  while (cursor.at < bytes.length) {
    const tag = Number(cursor.varint());
    const wire = tag & 7;
    const number = Math.floor(tag / 8);
    const found = declared.find(([, field]) => field[0] === number);
    if (found === undefined) {
      readField(cursor, wire, undefined);
      continue;
    }
    const [name, [, kind, many]] = found;
    if (!suits(wire, kind)) throw damaged(`the field '${name}' has the wire type ${wire}`);
    const one = readField(cursor, wire, kind);
    if (many) (value[name] as unknown[]).push(one);
    else value[name] = one;
  }
  return value as Fields<M>;
}
