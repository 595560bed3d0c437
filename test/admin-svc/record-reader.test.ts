/** Records of calls and turns are read directly from JSON where possible, and give the same rows as the messages that protobuf parses. */
import { expect, test } from "@jest/globals";
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  ScalarType,
  fromJson,
} from "@bufbuild/protobuf";
import { type Recorded, RecordReader } from "@sluice/admin-svc/rules/record-reader.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { TurnRecordSchema, UsageRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import fc from "../support/properties.ts";

/** Field values in the form in which processes write them. */
function plainValue(field: DescField): fc.Arbitrary<JsonValue> {
  if (field.fieldKind === "enum") return fc.constantFrom(...field.enum.values.map(({ name }) => name));
  if (field.fieldKind === "message") return plainRecord(field.message);
  switch (field.fieldKind === "scalar" ? field.scalar : undefined) {
    case ScalarType.STRING:
      return fc.oneof(fc.string(), fc.constantFrom("", "a=b, c=d", "0.000000000001", "responses"));
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.UINT32:
      return fc.nat();
    default:
      return fc.oneof(fc.nat(), fc.nat().map(String), fc.constantFrom(2 ** 53 - 1, "9007199254740993"));
  }
}

const plainRecord = (schema: DescMessage): fc.Arbitrary<JsonValue> =>
  fc
    .tuple(...schema.fields.map((field) => fc.option(plainValue(field), { nil: undefined })))
    .map((values) =>
      Object.fromEntries(
        schema.fields.flatMap(({ jsonName }, at) => (values[at] === undefined ? [] : [[jsonName, values[at]]])),
      ),
    );

/** Values in any other form, some of which protobuf takes as well. */
const oddTexts = ["", "12", "012", "-1", "1e2", "true", "\ud800"];
const oddNumbers = [7, -1, 1.5, 1e21, 2 ** 32, 2 ** 53];
const oddValue: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom(...oddTexts),
  fc.constantFrom(...oddNumbers),
  fc.constantFrom<JsonValue[]>(null, true, [], {}, [1]),
);

/** A record with some odd values, under names of fields in JSON or in the message, or under an unknown name. */
const oddRecord = (schema: DescMessage): fc.Arbitrary<JsonValue> => {
  const names = [...schema.fields.flatMap(({ name, jsonName }) => [name, jsonName]), "added_later", "__proto__"];
  return fc
    .tuple(plainRecord(schema), fc.array(fc.tuple(fc.constantFrom(...names), oddValue), { maxLength: 2 }))
    .map(([record, odd]) => Object.assign(record as object, Object.fromEntries(odd)) as JsonValue);
};

const anyRecord = (schema: DescMessage): fc.Arbitrary<JsonValue> =>
  fc.oneof({ weight: 3, arbitrary: plainRecord(schema) }, { weight: 6, arbitrary: oddRecord(schema) }, oddValue);

/** The row that a reading of the JSON gives, as text: an invalid date does not equal itself. */
function outcomeOf(read: () => object): string {
  try {
    return JSON.stringify(read());
  } catch {
    return "refused";
  }
}

function expectRowsOfMessages<Desc extends DescMessage>(
  schema: Desc,
  toAnyRow: (record: Recorded<MessageShape<Desc>>) => object,
): void {
  const reader = new RecordReader(schema);
  const property = fc.property(anyRecord(schema), (json) => {
    const text = JSON.stringify(json);
    const asMessage = () => fromJson(schema, JSON.parse(text) as JsonValue, { ignoreUnknownFields: true });
    expect(outcomeOf(() => toAnyRow(reader.read(Buffer.from(text))))).toBe(
      outcomeOf(() => toAnyRow(asMessage() as Recorded<MessageShape<Desc>>)),
    );
  });
  fc.assert(property, { numRuns: 4_000 });
}

test("the JSON of any call record gives the same row as its message", () => {
  expectRowsOfMessages(UsageRecordSchema, toRow);
});

test("the JSON of any turn record gives the same row as its message", () => {
  expectRowsOfMessages(TurnRecordSchema, toTurnRow);
});

test.each([UsageRecordSchema, TurnRecordSchema])("every field of a $name record changes its row", (schema) => {
  const reader = new RecordReader<DescMessage>(schema);
  const toAnyRow = (schema === UsageRecordSchema ? toRow : toTurnRow) as (record: object) => object;
  const none = toAnyRow(reader.read(Buffer.from("{}")));
  for (const field of schema.fields) {
    const value = changedValues[field.jsonName] ?? lastValueOf(field);
    const row = toAnyRow(reader.read(Buffer.from(JSON.stringify({ [field.jsonName]: value }))));
    expect([field.name, row]).not.toEqual([field.name, none]);
  }
});

/** Fields whose texts have a special form, or whose last value means the same as an absent one. */
const changedValues: Readonly<Record<string, JsonValue>> = {
  tags: "a=b",
  count: 2,
  status: "ATTEMPT_STATUS_COMPLETED",
  outcome: "TURN_OUTCOME_COMPLETED",
};

function lastValueOf(field: DescField): JsonValue {
  if (field.fieldKind === "enum") return field.enum.values.at(-1)?.name ?? "";
  if (field.fieldKind === "message") return {};
  if (field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL) return true;
  return field.fieldKind === "scalar" && field.scalar === ScalarType.STRING ? "some" : 7;
}
