/**
 * Converts between a JSON object of the contract and the protobuf message that carries it. Both follow from the message's descriptor, so no list
 * of fields is written a second time.
 *
 * A field has the same name on both sides, with two exceptions: `x_json` carries the JSON text of the field `x`, and `paths` names fields that
 * stand deeper in the JSON than in the message. JSON fields that the message lacks are dropped; null and absent both leave a message field unset.
 */
import {
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
  create,
  isFieldSet,
} from "@bufbuild/protobuf";
import { type JsonObject, isObject } from "../runtime/validation/fields.ts";

export interface Codec<Desc extends DescMessage> {
  /** @param json an object that its shape has accepted */
  readonly message: (json: JsonObject) => MessageShape<Desc>;
  /** Unset fields are left out. Bytes that are no JSON become null, which every shape refuses. */
  readonly json: (message: MessageShape<Desc>) => JsonObject;
}

/** Where fields of the message stand in the JSON, by the names of the message: `{pdf_engine: ["pdf", "engine"]}`. */
export type JsonPaths = Readonly<Record<string, readonly string[]>>;

/** @throws Error for a kind of field that no plugin has: maps, enums, lists of messages and 64-bit integers */
export function codec<Desc extends DescMessage>(descriptor: Desc, paths: JsonPaths = {}): Codec<Desc> {
  const fields = descriptor.fields.map((field) => fieldCodec(field, paths[field.name]));
  return {
    message: (json) => {
      const init: Record<string, unknown> = {};
      for (const { field, path, toMessage } of fields) {
        const value = valueAt(json, path);
        if (value !== undefined && value !== null) init[field.localName] = toMessage(value);
      }
      return create(descriptor, init as MessageInitShape<Desc>);
    },
    json: (message) => {
      const json: Record<string, unknown> = {};
      for (const { field, path, toJson } of fields) {
        if (!isFieldSet(message, field)) continue;
        setAt(json, path, toJson((message as Readonly<Record<string, unknown>>)[field.localName]));
      }
      return json;
    },
  };
}

interface FieldCodec {
  readonly field: DescField;
  readonly path: readonly string[];
  readonly toMessage: (value: unknown) => unknown;
  readonly toJson: (value: unknown) => unknown;
}

const asIs = (value: unknown): unknown => value;

function fieldCodec(field: DescField, path: readonly string[] = [field.name]): FieldCodec {
  if (field.fieldKind === "message") {
    const inner = codec(field.message);
    return {
      field,
      path,
      toMessage: (value) => inner.message(value as JsonObject),
      toJson: (value) => inner.json(value as Message),
    };
  }
  if (field.fieldKind === "scalar" && field.scalar === ScalarType.BYTES && field.name.endsWith("_json")) {
    return { field, path: [field.name.slice(0, -"_json".length)], toMessage: encodeJson, toJson: decodeJson };
  }
  if (!isPlain(field)) throw new Error(`${field.toString()} has no form in the JSON of a request`);
  return { field, path, toMessage: asIs, toJson: asIs };
}

const plainScalars: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.DOUBLE,
]);

const isPlain = (field: DescField): boolean =>
  (field.fieldKind === "scalar" || (field.fieldKind === "list" && field.listKind === "scalar")) &&
  plainScalars.has(field.scalar);

const encodeJson = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function decodeJson(bytes: unknown): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes as Uint8Array));
  } catch {
    return null;
  }
}

const valueAt = (json: JsonObject, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), json);

function setAt(json: Record<string, unknown>, [name = "", ...deeper]: readonly string[], value: unknown): void {
  if (deeper.length === 0) json[name] = value;
  else setAt((json[name] ??= {}) as Record<string, unknown>, deeper, value);
}
