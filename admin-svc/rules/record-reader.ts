/** Reads records in protobuf's JSON mapping, without a message where the JSON has the form in which processes write it. */
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  ScalarType,
  fromJson,
} from "@bufbuild/protobuf";

/** The fields of a message as JSON has them: without fields that have their default, and whole numbers of 64 bits as numbers or texts. */
export type Recorded<Message> = {
  readonly [Field in Exclude<keyof Message, "$typeName" | "$unknown">]?: Message[Field] extends bigint
    ? bigint | number | string
    : Message[Field] extends number | string | boolean | undefined
      ? Message[Field]
      : Recorded<NonNullable<Message[Field]>> | undefined;
};

type JsonObject = Record<string, JsonValue>;

/** Puts a value into the form of `Recorded`, in its object. @returns false for a value in any other form, which `fromJson` judges */
type ReadValue = (value: JsonValue, object: JsonObject, name: string) => boolean;

/**
 * Values in the form of the spool are taken as they are: making a message of each took half of the time of reading a batch (`node
 * test/dist/campaigns/bench/records.js`, 2026-11-30). A record with anything else, such as null or a number as text, becomes a message.
 */
export class RecordReader<Desc extends DescMessage> {
  readonly schema: Desc;
  readonly #fields: ReadonlyMap<string, ReadValue>;

  constructor(schema: Desc) {
    this.schema = schema;
    this.#fields = readersOf(schema);
  }

  /**
   * Ignores fields of a newer process. The last value of a repeated name counts: `fromJsonString`, which refuses repeated names, searches for them character
   * by character in each record.
   * @param json UTF-8
   * @throws an error for JSON without the form of the record
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
  // The name of the protobuf field means the same to `fromJson`.
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
