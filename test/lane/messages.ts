/** Random messages of a session with all fields of the contract, for tests of the generated codec. */
import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type MessageInitShape,
  ScalarType,
  create,
} from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import {
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import fc, { codePoint } from "../support/properties.js";

const words = fc.oneof(
  fc.string(),
  fc.string({ unit: codePoint }),
  fc.string({ minLength: 60, maxLength: 70 }),
  fc.constantFrom("", "é".repeat(40), "𝒳", "\ud835", "x\udcb3", "\ufeffx", "\ufffd", "x".repeat(5_000)),
);
const unsignedNumber = fc.oneof(fc.nat(3), fc.nat(0xffff_ffff));
const signedNumber = fc.oneof(fc.nat(100), fc.integer());
const unsignedLong = fc.oneof(
  fc.bigInt(0n, 3n),
  fc.bigInt(0n, 2n ** 64n - 1n),
  fc.constantFrom(2n ** 32n, 2n ** 49n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n),
);
const signedLong = fc.oneof(
  fc.bigInt(0n, 300n),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.constantFrom(-1n, 2n ** 49n, 2n ** 53n),
);
const exactNumber = fc.oneof(fc.double(), fc.constantFrom(0, -0, 0.7, Number.NaN));

const scalars: Partial<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.STRING]: words,
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 200 }),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.DOUBLE]: exactNumber,
  [ScalarType.FLOAT]: exactNumber.map(Math.fround),
};
const unsigned = new Set([ScalarType.UINT32, ScalarType.FIXED32, ScalarType.UINT64, ScalarType.FIXED64]);

function scalarOf(type: ScalarType): fc.Arbitrary<unknown> {
  const isLong = typeof scalarZeroValue(type, false) === "bigint";
  const wholeNumber = unsigned.has(type) ? [unsignedNumber, unsignedLong] : [signedNumber, signedLong];
  return scalars[type] ?? (wholeNumber[isLong ? 1 : 0] as fc.Arbitrary<unknown>);
}

/** An input sent without a copy. */
const largeInput = new Uint8Array(70_000);

function singleOf(field: DescField): fc.Arbitrary<unknown> {
  if (field.message) return membersOf(field.message);
  // A number without a name in this build stands for a value of a later build.
  if (field.enum) return fc.constantFrom(...field.enum.values.map(({ number }) => number), 77);
  const scalar = scalarOf(field.scalar);
  if (field !== RunTurnRequestSchema.field.inputJson) return scalar;
  return fc.oneof({ weight: 9, arbitrary: scalar }, { weight: 1, arbitrary: fc.constant(largeInput) });
}

function fieldOf(field: DescField): fc.Arbitrary<unknown> {
  const single = singleOf(field);
  if (field.fieldKind === "list") return fc.array(single, { maxLength: field.message ? 5 : 3 });
  if (field.fieldKind !== "map") return single;
  const key = field.mapKey === ScalarType.STRING ? fc.oneof(fc.string(), words) : scalarOf(field.mapKey).map(String);
  return fc.dictionary(key, single, { maxKeys: 2 });
}

const choiceOf = ({ fields }: DescOneof): fc.Arbitrary<unknown> =>
  fc.oneof(
    ...fields.map((field) => fc.record({ case: fc.constant(field.localName), value: singleOf(field) })),
    fc.constant({ case: undefined }),
  );

/** The members of a message, each left out at times. */
function membersOf(schema: DescMessage): fc.Arbitrary<object> {
  const members = schema.members.map((member) => [
    member.localName,
    member.kind === "oneof" ? choiceOf(member) : fieldOf(member),
  ]);
  return fc.record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] });
}

export const laneResponses: fc.Arbitrary<SessionResponse> = membersOf(SessionResponseSchema).map((members) =>
  create(SessionResponseSchema, members as MessageInitShape<typeof SessionResponseSchema>),
);

export const laneRequests: fc.Arbitrary<SessionRequest> = membersOf(SessionRequestSchema).map((members) =>
  create(SessionRequestSchema, members as MessageInitShape<typeof SessionRequestSchema>),
);
