/** Writes the same message in another way, valid for every protobuf reader, although no writer of Sluice uses it. */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Numbers from 0 to 1, by a seed. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Adds fields of later builds, repeats fields, splits messages in two for merging, and lengthens numbers. */
export function distortMessage(schema: DescMessage, bytes: Uint8Array, random: () => number): Uint8Array {
  const reader = new BinaryReader(bytes);
  const writer = new BinaryWriter();
  if (random() < 0.1) addUnknown(writer, random);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    const value = reader.skip(type, number);
    const whole = bytes.subarray(start, reader.pos);
    const field = schema.fields.find((one) => one.number === number);
    if (field?.message && field.fieldKind !== "map") {
      const inner = distortMessage(field.message, new BinaryReader(value).bytes(), random);
      writer.tag(number, type).bytes(inner);
      // An empty message merges with the first, except in a list, where it is another element.
      if (field.fieldKind === "message" && random() < 0.1) writer.tag(number, type).bytes(new Uint8Array());
    } else if (type === WireType.Varint && field?.scalar !== ScalarType.BOOL && random() < 0.2) {
      writer.tag(number, type).raw(lengthened(value, random));
    } else writer.raw(whole);
    if (field?.fieldKind === "scalar" && random() < 0.1) writer.raw(whole);
    if (random() < 0.05) addUnknown(writer, random);
  }
  return writer.finish();
}

function addUnknown(writer: BinaryWriter, random: () => number): void {
  const number = 900 + Math.floor(random() * 20);
  const kind = Math.floor(random() * 5);
  if (kind === 0) writer.tag(number, WireType.Varint).uint32(7);
  else if (kind === 1) writer.tag(number, WireType.Bit64).double(1.5);
  else if (kind === 2) writer.tag(number, WireType.LengthDelimited).string("later");
  else if (kind === 3) writer.tag(number, WireType.Bit32).fixed32(9);
  else writer.tag(number, WireType.StartGroup).tag(1, WireType.Varint).uint32(1).tag(number, WireType.EndGroup);
}

/** The same number with further groups of seven zeros, ten bytes at most. */
function lengthened(value: Uint8Array, random: () => number): Uint8Array {
  const size = Math.min(10, value.length + 1 + Math.floor(random() * 9));
  if (size <= value.length) return value;
  const longer = new Uint8Array(size).fill(0x80);
  longer.set(value);
  longer[value.length - 1] = (longer[value.length - 1] as number) | 0x80;
  longer[size - 1] = 0;
  return longer;
}
