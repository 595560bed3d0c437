/** Each field of the contract passes through the generated codec of a session: a new field needs no line of code there. */
import {
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
  create,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect, scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "@jest/globals";
import {
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { decodeSessionRequest } from "@sluice/proto/lib/lane/decode-request.js";
import { decodeSessionResponse } from "@sluice/proto/lib/lane/decode-response.js";
import { writeSessionRequest } from "@sluice/proto/lib/lane/encode-request.js";
import { encodeSessionResponse } from "@sluice/proto/lib/lane/encode-response.js";
import { emptyRunTurnRequest } from "@sluice/proto/lib/lane/gen/codec.js";

const prefixBytes = 5;

interface Direction {
  readonly schema: DescMessage;
  readonly encode: (message: Message) => Buffer;
  readonly decode: (bytes: Buffer, start: number, end: number) => Message;
}

const directions: Readonly<Record<string, Direction>> = {
  "to inference-svc": {
    schema: SessionRequestSchema,
    encode: (message) => {
      const parts: Uint8Array[] = [];
      writeSessionRequest(message as SessionRequest, (part) => parts.push(part) > 0);
      return Buffer.concat(parts);
    },
    decode: decodeSessionRequest,
  },
  "to a gateway": {
    schema: SessionResponseSchema,
    encode: (message) =>
      encodeSessionResponse(message as SessionResponse, (_, error) => {
        throw error;
      }),
    decode: decodeSessionResponse,
  },
};

/** A value other than the default. */
function valueOf({ scalar, enum: choices, message }: DescField): unknown {
  if (message) return reflect(message, create(message));
  if (choices) return choices.values.at(-1)?.number;
  if (scalar === ScalarType.STRING) return "é word";
  if (scalar === ScalarType.BYTES) return new Uint8Array([1, 2, 3]);
  if (scalar === ScalarType.BOOL) return true;
  return typeof scalarZeroValue(scalar as ScalarType, false) === "bigint" ? 300n : 300;
}

function setField(message: ReflectMessage, field: DescField, value: unknown): void {
  if (field.fieldKind === "list") message.get(field).add(value);
  else if (field.fieldKind === "map") {
    const zero = scalarZeroValue(field.mapKey, false);
    const keys = typeof zero === "string" ? ["a", "__proto__", "b"] : [zero];
    for (const key of keys) message.get(field).set(key, value);
  } else message.set(field, value);
}

const messageWith = (schema: DescMessage, field: DescField, value: unknown): Message => {
  const message = reflect(schema, create(schema));
  setField(message, field, value);
  return message.message;
};

/** Puts a message of a kind into a message of a session. */
type Wrap = (inner: Message) => Message;

interface Case {
  readonly title: string;
  readonly schema: DescMessage;
  readonly field: DescField;
  readonly wrap: Wrap;
}

/** All fields of the messages below this one, each type of message once. */
function casesOf(schema: DescMessage, wrap: Wrap = (inner) => inner, seen = new Set([schema.typeName])): Case[] {
  return schema.fields.flatMap((field) => {
    const found: Case[] = [{ title: `${schema.name}.${field.name}`, schema, field, wrap }];
    const inner = field.message;
    if (!inner || seen.has(inner.typeName)) return found;
    seen.add(inner.typeName);
    const wrapInner: Wrap = (message) => wrap(messageWith(schema, field, reflect(inner, message as never)));
    return [...found, ...casesOf(inner, wrapInner, seen)];
  });
}

const read = (schema: DescMessage, bytes: Uint8Array): string =>
  Buffer.from(toBinary(schema, fromBinary(schema, bytes) as never)).toString("base64");

/** The message passes both ways as in the schema-driven codec. */
function expectPassage({ schema, encode, decode }: Direction, message: Message): Message {
  const general = Buffer.from(toBinary(schema, message as never));
  expect(read(schema, encode(message).subarray(prefixBytes))).toBe(read(schema, general));
  const decoded = decode(general, 0, general.length);
  const known = (one: Message) =>
    Buffer.from(toBinary(schema, one as never, { writeUnknownFields: false })).toString("base64");
  expect(known(decoded)).toBe(known(fromBinary(schema, general) as never));
  return decoded;
}

describe.each(Object.entries(directions))("fields of lane messages %s", (_, direction) => {
  const cases = casesOf(direction.schema);

  test.each(cases)("include $title, which passes as the only field", ({ schema, field, wrap }) => {
    const message = wrap(messageWith(schema, field, valueOf(field)));
    const without = wrap(create(schema) as never);
    expect(toBinary(direction.schema, message as never)).not.toEqual(toBinary(direction.schema, without as never));
    expectPassage(direction, message);
  });

  test("of a later build pass together with fields of this build", () => {
    const $unknown = [
      { no: 900, wireType: WireType.LengthDelimited, data: new Uint8Array([2, 1, 2]) },
      { no: 901, wireType: WireType.Varint, data: new Uint8Array([7]) },
    ];
    for (const { schema, field, wrap } of cases)
      expectPassage(direction, wrap({ ...messageWith(schema, field, valueOf(field)), $unknown }));
  });
});

describe("a request over the lane", () => {
  const direction = directions["to inference-svc"] as Direction;
  const fields = casesOf(SessionRequestSchema).filter(({ schema }) => schema === RunTurnRequestSchema);

  test("has every field of the contract", () => {
    expect(fields.map(({ field }) => field.number)).toEqual(RunTurnRequestSchema.fields.map(({ number }) => number));
  });

  test.each(fields)(
    "with $title and metadata passes as an object that always has the same keys",
    ({ schema, field, wrap }) => {
      const request = reflect(schema, messageWith(schema, field, valueOf(field)) as never);
      setField(request, RunTurnRequestSchema.field.metadata, "team");
      const { frames } = expectPassage(direction, wrap(request.message)) as SessionRequest;
      const open = frames[0]?.frame;
      // The schema-driven decoder leaves out absent fields: a difference means the generated code did not decode the request.
      expect(Object.keys(open?.case === "open" ? (open.value.request as object) : {})).toEqual(
        Object.keys(emptyRunTurnRequest()),
      );
    },
  );

  test("has all fields when it is empty, and encodes to no bytes", () => {
    const empty = emptyRunTurnRequest();
    expect(Object.keys(empty)).toEqual([
      "$typeName",
      ...RunTurnRequestSchema.members.map(({ localName }) => localName),
    ]);
    expect(toBinary(RunTurnRequestSchema, empty)).toHaveLength(0);
  });
});
