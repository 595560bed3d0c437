/** Writes the fields of protobuf messages from end to beginning: first the value, then its length, then its tag. */
import { type DescMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { BackwardWriter } from "./backward-writer.ts";

/** Minimum size of bytes that are sent without a copy: for fewer bytes, a copy takes less time than a second write. */
const minFollowingBytes = 65_536;

/** Writes the tag and length of a part. @param end length of the message before the part was written */
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

/** Writes bytes so they follow the message without a copy, if they are large and end the message. */
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

/** @throws RangeError when the value is not an unsigned 32-bit integer */
export function uint32Field(writer: BackwardWriter, value: number, tag: number): void {
  if (value >>> 0 !== value) throw new RangeError(`no unsigned number of 32 bits: ${value}`);
  writer.varint(value);
  writer.varint(tag);
}

/**
 * Writes a signed integer; a negative one takes ten bytes. @throws RangeError when the value is not a 32-bit integer
 */
export function int32Field(writer: BackwardWriter, value: number, tag: number): void {
  if (value >= 0 && (value | 0) === value) writer.varint(value);
  else writer.bytes(new BinaryWriter().int32(value).finish());
  writer.varint(tag);
}

/** @throws RangeError when the value is not an unsigned 64-bit integer */
export function uint64Field(writer: BackwardWriter, value: bigint, tag: number): void {
  const number = Number(value);
  if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) writer.varint(number);
  else writer.bytes(new BinaryWriter().uint64(value).finish());
  writer.varint(tag);
}

/**
 * Writes a signed integer; a negative one takes ten bytes. @throws RangeError when the value is not a 64-bit integer
 */
export function int64Field(writer: BackwardWriter, value: bigint, tag: number): void {
  const number = Number(value);
  if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) writer.varint(number);
  else writer.bytes(new BinaryWriter().int64(value).finish());
  writer.varint(tag);
}

/** Writes a message encoded by the schema-driven codec. */
export function messageField<Desc extends DescMessage>(
  writer: BackwardWriter,
  schema: Desc,
  value: MessageShape<Desc>,
  tag: number,
): void {
  bytesField(writer, toBinary(schema, value), tag);
}

/** Writes fields that only a later build knows, unchanged. */
export function unknownFields(writer: BackwardWriter, fields: NonNullable<Message["$unknown"]>): void {
  for (const { no, wireType, data } of fields.toReversed()) {
    writer.bytes(data);
    writer.varint(no * 8 + wireType);
  }
}
