/**
 * Parses records in protobuf's JSON mapping. It creates a protobuf message only when the JSON differs from the form
 * that inference processes write.
 */
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  ScalarType,
  fromJson,
} from "@bufbuild/protobuf";

/**
 * Fields of a message as in its JSON: fields with their default value are absent, and 64-bit integers are numbers or
 * texts.
 */
export type Recorded<Message> = {
  readonly [Field in Exclude<keyof Message, "$typeName" | "$unknown">]?: Message[Field] extends bigint
    ? bigint | number | string
    : Message[Field] extends number | string | boolean | undefined
      ? Message[Field]
      : Recorded<NonNullable<Message[Field]>> | undefined;
};

type JsonObject = Record<string, JsonValue>;

/**
 * Converts a value within its JSON object to the form of `Recorded`. @returns false for a value in any other form,
 * which `fromJson` then accepts or refuses
 */
type ReadValue = (value: JsonValue, object: JsonObject, name: string) => boolean;

/**
 * Parser of one kind of record. Values that have the form of the spool are taken unchanged: creating a message of each
 * record took half of the time of reading a batch (`node test/dist/campaigns/bench/records.js`, 2026-11-30). A record
 * with any other value, such as null or a number as text, becomes a message.
 */
export class RecordReader<Desc extends DescMessage> {
  readonly schema: Desc;
  readonly #fields: ReadonlyMap<string, ReadValue>;

  constructor(schema: Desc) {
    this.schema = schema;
    this.#fields = readersOf(schema);
  }

  /**
   * Parses a record, and ignores fields of a newer process. Of a repeated field name the last value counts:
   * `fromJsonString` refuses repeated names, but searches each record for them character by character.
   * @param json UTF-8
   * @throws Error for JSON that does not have the form of the record
   */
  read(json: Uint8Array): Recorded<MessageShape<Desc>> {
    const value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8")) as JsonValue;
    if (isRead(value, this.#fields)) return value as Recorded<MessageShape<Desc>>;
    return fromJson(this.schema, value, { ignoreUnknownFields: true }) as Recorded<MessageShape<Desc>>;
  }
}

function isRead(value: JsonValue, fields: ReadonlyMap<string, ReadValue>): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  for (const name in value) {
    const read = fields.get(name);
    if (read && !read(value[name] as JsonValue, value, name)) return false;
  }
  return true;
}

function readersOf(schema: DescMessage): ReadonlyMap<string, ReadValue> {
  const readers = new Map<string, ReadValue>();
  // `fromJson` also accepts the protobuf name of a field; such a record becomes a message.
  for (const { name } of schema.fields) readers.set(name, () => false);
  for (const field of schema.fields) readers.set(field.jsonName, readerOf(field));
  return readers;
}

function readerOf(field: DescField): ReadValue {
  if (field.fieldKind === "enum") {
    const numbers = new Map(field.enum.values.map(({ name, number }) => [name, number]));
    return (value, object, name) => {
      const number = numbers.get(value as string);
      if (number === undefined) return false;
      object[name] = number;
      return true;
    };
  }
  if (field.fieldKind === "message") {
    const fields = readersOf(field.message);
    return (value) => isRead(value, fields);
  }
  return (field.fieldKind === "scalar" && scalarReaders.get(field.scalar)) || (() => false);
}

const maxUint32 = 2 ** 32 - 1;
const isWhole = (value: JsonValue): boolean => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isDigits = (value: JsonValue): boolean => typeof value === "string" && /^(?:0|[1-9]\d{0,14})$/.test(value);

const scalarReaders: ReadonlyMap<ScalarType, ReadValue> = new Map<ScalarType, ReadValue>([
  [ScalarType.STRING, (value) => typeof value === "string" && value.isWellFormed()],
  [ScalarType.BOOL, (value) => typeof value === "boolean"],
  [ScalarType.UINT32, (value) => isWhole(value) && (value as number) <= maxUint32],
  [ScalarType.UINT64, (value) => isWhole(value) || isDigits(value)],
  [ScalarType.INT64, (value) => isWhole(value) || isDigits(value)],
]);
