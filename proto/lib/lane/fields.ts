/** Writes fields of messages backwards: first the value, then its length, then its tag. */
import { type DescMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { BackwardWriter } from "./backward-writer.ts";

/** Below this size, a copy costs less than a second write. */
const minFollowingBytes = 65_536;

/** Writes the length of everything since `end`, and its tag. */
export function closePart(writer: BackwardWriter, end: number, tag: number): void {
  writer.varint(writer.length - end);
  writer.varint(tag);
}

export function textField(writer: BackwardWriter, value: string, tag: number): void {
  const end = writer.length;
  writer.text(value);
  closePart(writer, end, tag);
}

export function bytesField(writer: BackwardWriter, value: Uint8Array, tag: number): void {
  writer.bytes(value);
  writer.varint(value.length);
  writer.varint(tag);
}

/** Bytes sent after the message without a copy, when they are large and nothing comes after them. */
export function followingField(writer: BackwardWriter, value: Uint8Array, tag: number): void {
  if (value.length < minFollowingBytes || writer.length > 0) return bytesField(writer, value, tag);
  writer.follow(value);
  writer.varint(value.length);
  writer.varint(tag);
}

export function boolField(writer: BackwardWriter, value: boolean, tag: number): void {
  writer.varint(value ? 1 : 0);
  writer.varint(tag);
}

export function doubleField(writer: BackwardWriter, value: number, tag: number): void {
  writer.double(value);
  writer.varint(tag);
}

/** @throws RangeError when the value is not an unsigned 32-bit number */
export function uint32Field(writer: BackwardWriter, value: number, tag: number): void {
  if (value >>> 0 !== value) throw new RangeError(`no unsigned number of 32 bits: ${value}`);
  writer.varint(value);
  writer.varint(tag);
}

/** A negative number has ten bytes. @throws when the value is not a 32-bit number */
export function int32Field(writer: BackwardWriter, value: number, tag: number): void {
  if (value >= 0 && (value | 0) === value) writer.varint(value);
  else writer.bytes(new BinaryWriter().int32(value).finish());
  writer.varint(tag);
}

/** @throws when the value is not an unsigned 64-bit number */
export function uint64Field(writer: BackwardWriter, value: bigint, tag: number): void {
  const number = Number(value);
  if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) writer.varint(number);
  else writer.bytes(new BinaryWriter().uint64(value).finish());
  writer.varint(tag);
}

/** A negative number has ten bytes. @throws when the value is not a 64-bit number */
export function int64Field(writer: BackwardWriter, value: bigint, tag: number): void {
  const number = Number(value);
  if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) writer.varint(number);
  else writer.bytes(new BinaryWriter().int64(value).finish());
  writer.varint(tag);
}

/** A message encoded by its schema. */
export function messageField<Desc extends DescMessage>(
  writer: BackwardWriter,
  schema: Desc,
  value: MessageShape<Desc>,
  tag: number,
): void {
  bytesField(writer, toBinary(schema, value), tag);
}

/** Fields of a later build, unchanged. */
export function unknownFields(writer: BackwardWriter, fields: NonNullable<Message["$unknown"]>): void {
  for (const { no, wireType, data } of fields.toReversed()) {
    writer.bytes(data);
    writer.varint(no * 8 + wireType);
  }
}
