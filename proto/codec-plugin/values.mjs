/** Generates the code that writes and reads one value of a field, by its type. */
import { ScalarType } from "@bufbuild/protobuf";

const varint = 0;
const eightBytes = 1;
const lengthPrefixed = 2;

const tagOf = (number, wireType) => number * 8 + wireType;

/** In each entry of a map, the key has the number 1 and the value the number 2. */
export const keyTag = tagOf(1, lengthPrefixed);
export const entryValueTag = ({ wireType }) => tagOf(2, wireType);

/** Types with generated code: functions for writing and reading, and the condition for a value other than zero or empty. */
const scalars = new Map([
  [ScalarType.STRING, scalar(lengthPrefixed, "textField", "string", (value) => `${value} !== ""`)],
  [ScalarType.BYTES, scalar(lengthPrefixed, "bytesField", "counted", (value) => `${value}.length > 0`)],
  [ScalarType.BOOL, scalar(varint, "boolField", "bool", (value) => value)],
  [ScalarType.DOUBLE, scalar(eightBytes, "doubleField", "double", (value) => `!Object.is(${value}, 0)`)],
  [ScalarType.INT32, scalar(varint, "int32Field", "int32", (value) => `${value} !== 0`)],
  [ScalarType.UINT32, scalar(varint, "uint32Field", "varint", (value) => `${value} !== 0`)],
  [ScalarType.INT64, scalar(varint, "int64Field", "uint64", (value) => `${value} !== 0n`)],
  [ScalarType.UINT64, scalar(varint, "uint64Field", "uint64", (value) => `${value} !== 0n`)],
]);

function scalar(wireType, writer, reader, isSet) {
  const write = (value, tag) => [`${writer}(writer, ${value}, ${tag});`];
  return { wireType, isSet, write, read: `reader.${reader}()` };
}

function messageValue({ message }, { frequent, late }) {
  const name = codeName(message);
  if (!frequent.has(message.typeName)) {
    const write = (value, tag) => [`messageField(writer, ${name}Schema, ${value}, ${tag});`];
    return { wireType: lengthPrefixed, write, read: `readBySchema(${name}Schema, reader, reader.end())` };
  }
  const write = (value, tag) => partOf(`write${name}(writer, ${value});`, tag);
  const reader = late.has(message.typeName) ? `new Unread${name}` : `read${name}`;
  return { wireType: lengthPrefixed, write, read: `${reader}(reader, reader.end())` };
}

/** Writes the length and the tag after the code in between has written the content. */
export const partOf = (line, tag) => ["const end = writer.length;", line, `closePart(writer, end, ${tag});`];

/**
 * The form of a field in the code: a single value, a list or a map, with the type of its values and its tag. Undefined for a field without generated code;
 * the schema-driven codec handles it completely.
 */
export function formOf(field, context) {
  const value = valueOf(field, context);
  if (!value) return undefined;
  if (field.fieldKind === "map") {
    const isPlain = field.mapKey === ScalarType.STRING && field.mapKind === "scalar";
    return isPlain ? { kind: "map", value, tag: tagOf(field.number, lengthPrefixed) } : undefined;
  }
  const isList = field.fieldKind === "list";
  // A list of numbers is packed into one value.
  if (isList && value.wireType !== lengthPrefixed) return undefined;
  return { kind: isList ? "list" : "single", value, tag: tagOf(field.number, value.wireType) };
}

function valueOf(field, context) {
  if (field.longAsString || field.delimitedEncoding) return undefined;
  // Some messages of protobuf itself have other types in the code.
  if (field.message?.typeName.startsWith("google.protobuf.")) return undefined;
  if (field.message) return messageValue(field, context);
  return field.enum ? field.enum.open && scalars.get(ScalarType.INT32) : scalars.get(field.scalar);
}

/** Value of FieldPresence in a descriptor: an absent value equals zero or empty. */
const implicitPresence = 2;
export const isOptional = (field) => field.presence !== implicitPresence;

export const isOneof = (member) => member.kind === "oneof";
/** Name of a message in the code of protoc-gen-es. */
export const codeName = ({ typeName, file }) => typeName.slice(file.proto.package.length + 1).replaceAll(".", "_");
export const memberName = ({ parent, name }) => `${parent.typeName}.${name}`;
export const memberType = ({ parent, localName }) => `${codeName(parent)}[${JSON.stringify(localName)}]`;

export const indent = (lines) => lines.map((line) => (line === "" ? "" : `  ${line}`));
/** Braces are left out around one statement. */
export const block = (head, lines) =>
  lines.length === 1 ? [`${head} ${lines[0]}`] : [`${head} {`, ...indent(lines), "}"];
