/**
 * Converts between a JSON object of the contract and its protobuf message. Both directions follow from the message's
 * descriptor, so no list of fields is repeated.
 *
 * A field has the same name on both sides, with two exceptions: `x_json` contains the JSON text of the field `x`, and
 * `paths` lists fields that are nested more deeply in the JSON. JSON fields that the message lacks are dropped; null
 * and absent both leave a message field unset. Enum values are the words of the contract: FILTER_ACTION_BLOCK is
 * `block`.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
  create,
  isFieldSet,
} from "@bufbuild/protobuf";
import { type JsonObject, isObject } from "../../lib/validation/fields.ts";

export interface Codec<Desc extends DescMessage> {
  /** Converts JSON to a message. @param json an object accepted by its shape */
  readonly message: (json: JsonObject) => MessageShape<Desc>;
  /**
   * Converts a message to JSON. Invalid JSON bytes become null, and an unknown enum number becomes a text: shapes
   * refuse both.
   */
  readonly json: (message: MessageShape<Desc>) => JsonObject;
}

export interface CodecRules {
  /**
   * Paths in the JSON of fields that are nested more deeply there, by their names in the message, such as `{pdf_engine:
   * ["pdf", "engine"]}`.
   */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
  /** Fields with a special conversion, by their names in the message. */
  readonly conversions?: Readonly<Record<string, Conversion>>;
  /** Fields of nested messages that are null in the JSON when unset, because protobuf has only an empty value for them. */
  readonly nullable?: readonly string[];
}

export interface Conversion {
  readonly toMessage: (value: never) => unknown;
  readonly toJson: (value: never) => unknown;
}

/** Builds the codec of a message. @throws Error for a map or a 64-bit integer without a special conversion */
export const jsonCodec = <Desc extends DescMessage>(descriptor: Desc, rules: CodecRules = {}): Codec<Desc> =>
  messageCodec(descriptor, rules, () => undefined);

/** @param unset value of an unset field in the JSON; undefined leaves it out */
function messageCodec<Desc extends DescMessage>(
  descriptor: Desc,
  rules: CodecRules,
  unset: (field: DescField) => unknown,
): Codec<Desc> {
  const fields = descriptor.fields.map((field) => ({ ...fieldCodec(field, rules), unset: unset(field) }));
  return {
    message: (json) => {
      const init: Record<string, unknown> = {};
      for (const { field, path, toMessage } of fields) {
        const value = valueAt(json, path);
        if (value !== undefined && value !== null) init[field.localName] = toMessage(value as never);
      }
      return create(descriptor, init as MessageInitShape<Desc>);
    },
    json: (message) => {
      const json: Record<string, unknown> = {};
      for (const { field, path, toJson, unset: empty } of fields) {
        const value = (message as Readonly<Record<string, unknown>>)[field.localName];
        if (isFieldSet(message, field)) setAt(json, path, toJson(value as never));
        else if (empty !== undefined) setAt(json, path, empty);
      }
      return json;
    },
  };
}

interface FieldCodec extends Conversion {
  readonly field: DescField;
  readonly path: readonly string[];
}

function fieldCodec(field: DescField, rules: CodecRules): FieldCodec {
  const { paths, conversions } = rules;
  const carriesJson = field.name.endsWith("_json") && field.scalar === ScalarType.BYTES;
  const name = carriesJson ? field.name.slice(0, -"_json".length) : field.name;
  const conversion = conversions?.[field.name] ?? (carriesJson ? jsonText : conversionOf(field, rules));
  return { field, path: paths?.[field.name] ?? [name], ...conversion };
}

function conversionOf(field: DescField, rules: CodecRules): Conversion {
  const one = field.message ? messageConversion(field.message, rules) : field.enum && wordConversion(field.enum);
  if (one) return field.fieldKind === "list" ? eachOf(one) : one;
  if (field.fieldKind === "map" || field.scalar === undefined || !plainScalars.has(field.scalar)) {
    throw new Error(`${field.toString()} needs a conversion of its own`);
  }
  return asItIs;
}

const plainScalars: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.DOUBLE,
]);

const asItIs: Conversion = { toMessage: (value) => value, toJson: (value) => value };

const eachOf = ({ toMessage, toJson }: Conversion): Conversion => ({
  toMessage: (values: readonly never[]) => values.map(toMessage),
  toJson: (values: readonly never[]) => values.map(toJson),
});

/**
 * Converts nested objects and list entries. Their JSON has every field: an unset field is null, or the empty value of
 * its type.
 */
function messageConversion(descriptor: DescMessage, { nullable = [] }: CodecRules): Conversion {
  const empty = create(descriptor) as unknown as Readonly<Record<string, unknown>>;
  const unset = ({ name, localName, enum: words }: DescField): unknown => {
    if (nullable.includes(name)) return null;
    // The unspecified value of an enum has no word. It becomes the empty word, which shapes refuse with a list of the
    // valid words.
    return words ? "" : (empty[localName] ?? null);
  };
  const inner = messageCodec(descriptor, {}, unset);
  return { toMessage: (value: JsonObject) => inner.message(value), toJson: (value: Message) => inner.json(value) };
}

function wordConversion({ values }: DescEnum): Conversion {
  const words = new Map(values.map(({ number, localName }) => [number, localName.toLowerCase()]));
  const numbers = new Map([...words].map(([number, word]) => [word, number]));
  return {
    toMessage: (word: string) => numbers.get(word),
    toJson: (number: number) => words.get(number) ?? `${number}`,
  };
}

const jsonText: Conversion = {
  toMessage: (value: unknown) => new TextEncoder().encode(JSON.stringify(value)),
  toJson: (bytes: Uint8Array) => {
    try {
      return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
    } catch {
      return null;
    }
  },
};

const valueAt = (json: JsonObject, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), json);

function setAt(json: Record<string, unknown>, [name = "", ...deeper]: readonly string[], value: unknown): void {
  if (deeper.length === 0) json[name] = value;
  else setAt((json[name] ??= {}) as Record<string, unknown>, deeper, value);
}
