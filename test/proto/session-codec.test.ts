/** The bytes that are written and read by hand between the processes are those of the contract, whatever is said. */
import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { FaultReason, FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import {
  type ServerFrame,
  ServerFrameSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { type TurnEvent, TurnEventSchema, TurnStatus } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { decoded } from "@sluice/proto/runtime/session/decode.js";
import { packed } from "@sluice/proto/runtime/session/encode.js";
import fc from "fast-check";

const index = fc.oneof(fc.nat(3), fc.nat(0xffff_ffff));
const words = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ minLength: 60, maxLength: 70 }),
  fc.constantFrom("", "é".repeat(40), "𝒳", "x".repeat(100_000)),
);
const bytes = fc.uint8Array({ maxLength: 200 });
const textDelta = fc.record({ index, part: index, delta: words, logprobsJson: bytes });
const event: fc.Arbitrary<TurnEvent> = fc
  .oneof(
    fc.record({
      case: fc.constantFrom(
        "textDelta" as const,
        "refusalDelta" as const,
        "reasoningDelta" as const,
        "summaryDelta" as const,
      ),
      value: textDelta,
    }),
    fc.record({ case: fc.constant("argumentsDelta" as const), value: fc.record({ index, delta: words }) }),
    fc.record({ case: fc.constant("itemStart" as const), value: fc.record({ index, itemJson: bytes }) }),
    fc.record({ case: fc.constant("start" as const), value: fc.record({ model: words }) }),
    fc.record({
      case: fc.constant("end" as const),
      value: fc.record({
        status: fc.constant(TurnStatus.COMPLETED),
        usage: fc.record({
          inputTokens: index,
          cost: fc.record({ outputPicoUsd: fc.bigInt({ min: 0n, max: 2n ** 63n }) }),
        }),
      }),
    }),
    fc.constant({ case: undefined }),
  )
  .map((said) => create(TurnEventSchema, { event: said }));
const frame: fc.Arbitrary<ServerFrame> = fc
  .record({
    turn: index,
    last: fc.boolean(),
    frame: fc.oneof(
      fc.record({
        case: fc.constant("batch" as const),
        value: fc.record({ cost: index, events: fc.array(event, { maxLength: 5 }) }),
      }),
      fc.record({
        case: fc.constant("fault" as const),
        value: words.map((message) => create(FaultSchema, { message, reason: FaultReason.INTERNAL })),
      }),
      fc.constant({ case: undefined }),
    ),
  })
  .map((said) => create(ServerFrameSchema, said as Parameters<typeof create<typeof ServerFrameSchema>>[1]));
const frames = fc.array(frame, { minLength: 1, maxLength: 5 });

const written = (said: readonly ServerFrame[]): Buffer =>
  Buffer.from(
    toBinary(
      SessionResponseSchema,
      packed(create(SessionResponseSchema, { frames: [...said] }), (_, error) => {
        throw error;
      }),
    ),
  );
const general = (bytesOf: Uint8Array): SessionResponse => fromBinary(SessionResponseSchema, bytesOf);

test("what is written by hand is read in the general way as what was meant", () => {
  fc.assert(
    fc.property(frames, (said) => {
      const meant = general(toBinary(SessionResponseSchema, create(SessionResponseSchema, { frames: said })));
      expect(equals(SessionResponseSchema, general(written(said)), meant)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("what is written in the general way is read by hand as what was meant", () => {
  fc.assert(
    fc.property(frames, fc.boolean(), (said, draining) => {
      const sent = toBinary(SessionResponseSchema, create(SessionResponseSchema, { frames: said, draining }));
      expect(equals(SessionResponseSchema, decoded(Buffer.from(sent)), general(sent))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a greeting, and fields of a later build, are read as ever", () => {
  const greeting = toBinary(SessionResponseSchema, create(SessionResponseSchema, { hello: { instance: "one" } }));
  expect(decoded(Buffer.from(greeting)).hello?.instance).toBe("one");
  // Field 99 of the message, of its frame, of the frame's batch, and of a delta in it: a varint.
  const later = [0x98, 0x06, 0x07];
  const counted = (tag: number, ...inner: number[]) => [tag, inner.length, ...inner];
  const delta = counted(0x1a, ...counted(0x1a, 0x48, 0x69), ...later);
  const batch = counted(0x12, ...counted(0x0a, ...delta), ...later);
  const message = Buffer.from([...counted(0x0a, 0x08, 0x05, ...batch, ...later), ...later]);
  const [read] = decoded(message).frames;
  expect([read?.turn, read?.frame]).toMatchObject([
    5,
    { case: "batch", value: { events: [{ event: { case: "textDelta", value: { delta: "Hi" } } }] } },
  ]);
});

test("a message that is cut is refused, wherever it is cut", () => {
  const whole = written([
    create(ServerFrameSchema, {
      turn: 300,
      frame: { case: "batch", value: { events: [{ event: { case: "textDelta", value: { delta: "word" } } }] } },
    }),
  ]);
  for (let length = 1; length < whole.length; length++) {
    expect(() => decoded(whole.subarray(0, length))).toThrow();
  }
});

test("a frame that cannot be written ends its own turn, and no other", () => {
  const delta = (turn: number) =>
    create(ServerFrameSchema, {
      turn,
      frame: { case: "batch", value: { events: [{ event: { case: "textDelta", value: { delta: "word" } } }] } },
    });
  const tooMuch = create(ServerFrameSchema, {
    turn: 2,
    last: true,
    frame: {
      case: "batch",
      value: { events: [{ event: { case: "end", value: { usage: { cost: { outputPicoUsd: 2n ** 70n } } } } }] },
    },
  });
  const unsayable: number[] = [];
  const message = packed(create(SessionResponseSchema, { frames: [delta(1), tooMuch, delta(3)] }), (turn) =>
    unsayable.push(turn),
  );
  const { frames } = decoded(Buffer.from(toBinary(SessionResponseSchema, message)));
  expect(unsayable).toEqual([2]);
  expect(frames.map(({ turn, last, frame: { case: kind } }) => [turn, last, kind])).toEqual([
    [1, false, "batch"],
    [2, true, "fault"],
    [3, false, "batch"],
  ]);
});
