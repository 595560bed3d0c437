/**
 * Decodes protobuf as written by this build.
 *
 * For rare and malformed fields it gives up: the schema-driven decoder then reads the same bytes, or refuses them.
 */

import { type DescMessage, type MessageShape, fromBinary } from "@bufbuild/protobuf";

/**
 * Error that passes a message to the schema-driven decoder. There is only one instance, because it is always caught and
 * its stack is not needed.
 */
export const unsupportedMessage = new Error("not a message that generated code reads");

/** Empty bytes, shared by all messages with an unset bytes field. */
export const emptyBytes: Uint8Array = new Uint8Array(0);

/** An unset oneof, shared by all messages. */
export const unsetOneof = { case: undefined } as const;

export class WireReader {
  readonly bytes: Buffer;
  /** Position of the next byte. */
  at: number;
  readonly #limit: number;

  /** @param limit position after the last readable byte */
  constructor(bytes: Buffer, at: number, limit: number) {
    this.bytes = bytes;
    this.at = at;
    this.#limit = limit;
  }

  /** Reads the length of a part. @returns the position after the part */
  end(): number {
    const end = this.varint() + this.at;
    if (end > this.#limit) throw unsupportedMessage;
    return end;
  }

  /** Checks that a part ends within its message. */
  ends(end: number): void {
    if (this.at !== end) throw unsupportedMessage;
  }

  /** Reads a bytes field as a view of the message, without a copy. */
  counted(): Uint8Array {
    const end = this.end();
    const value = this.bytes.subarray(this.at, end);
    this.at = end;
    return value;
  }

  string(): string {
    const end = this.end();
    const value = this.bytes.toString("utf8", this.at, end);
    // Here, bytes of invalid UTF-8 become U+FFFD. Such a text is left to the schema-driven decoder, which refuses
    // invalid UTF-8.
    if (value.includes("\ufffd")) throw unsupportedMessage;
    this.at = end;
    return value;
  }

  bool(): boolean {
    return this.varint() !== 0;
  }

  /** Reads a signed integer. A negative one has ten bytes and is left to the schema-driven decoder. */
  int32(): number {
    return this.varint() | 0;
  }

  double(): number {
    const { at } = this;
    if (at + 8 > this.#limit) throw unsupportedMessage;
    this.at = at + 8;
    return this.bytes.readDoubleLE(at);
  }

  /** Reads a varint of at most 49 bits. */
  uint64(): bigint {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(value);
    }
    throw unsupportedMessage;
  }

  /** Reads a varint of at most 32 bits. */
  varint(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    // Bit shifts would give negative numbers, and V8 computes powers slowly.
    for (let factor = 128; factor <= 2 ** 28; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80 && value <= 0xffff_ffff) return value;
    }
    throw unsupportedMessage;
  }

  #byte(): number {
    if (this.at >= this.#limit) throw unsupportedMessage;
    return this.bytes[this.at++]!;
  }
}

/**
 * Decodes a message, or leaves it to the schema-driven decoder. @throws Error when the bytes from `start` to `end` are
 * not a valid message
 */
export function decodeMessage<Desc extends DescMessage>(
  schema: Desc,
  read: (reader: WireReader, end: number) => MessageShape<Desc>,
  bytes: Buffer,
  start: number,
  end: number,
): MessageShape<Desc> {
  try {
    return read(new WireReader(bytes, start, end), end);
  } catch (error) {
    if (error !== unsupportedMessage) throw error;
    return fromBinary(schema, bytes.subarray(start, end));
  }
}

/**
 * Decodes a part with the schema-driven decoder. If the part is refused, that decoder still tries to read the whole
 * message.
 */
export function readBySchema<Desc extends DescMessage>(
  schema: Desc,
  reader: WireReader,
  end: number,
): MessageShape<Desc> {
  const start = reader.at;
  reader.at = end;
  try {
    return fromBinary(schema, reader.bytes.subarray(start, end));
  } catch {
    throw unsupportedMessage;
  }
}

/** Sets an entry of a map. A plain assignment to `__proto__` would set the prototype of the object. */
export function setEntry<Value>(entries: Record<string, Value>, key: string, value: Value): void {
  if (key !== "__proto__") entries[key] = value;
  else Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true });
}
