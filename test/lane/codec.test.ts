/** The generated codec of a session agrees with the contract, for all messages and all bytes. */
import { type DescMessage, type MessageShape, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import {
  ServerFrameSchema,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { decodeSessionRequest } from "@sluice/proto/lib/lane/decode-request.js";
import { decodeSessionResponse } from "@sluice/proto/lib/lane/decode-response.js";
import { writeSessionRequest } from "@sluice/proto/lib/lane/encode-request.js";
import { encodeSessionResponse } from "@sluice/proto/lib/lane/encode-response.js";
import fc from "../support/properties.js";
import { distortMessage, seededRandom } from "./distort.ts";
import { laneRequests, laneResponses } from "./messages.ts";

const runs = { numRuns: 200 };
const prefixBytes = 5;

/** A message serialized for comparison by the general codec: NaN included, which equals nothing. */
const bytesOf = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string =>
  // Batches are decoded late, which drops unknown fields of later builds that no code reads.
  Buffer.from(
    toBinary(schema, message, { writeUnknownFields: schema.typeName !== SessionResponseSchema.typeName }),
  ).toString("base64");

const meaning = (schema: DescMessage, bytes: Uint8Array): string => bytesOf(schema, fromBinary(schema, bytes));

/** Decodes in the middle of other bytes, as in a chunk of a stream. */
function within<Message>(decode: (bytes: Buffer, start: number, end: number) => Message, bytes: Uint8Array): Message {
  const chunk = Buffer.concat([Buffer.from([0x0a, 0x7f, 1]), bytes, Buffer.from([0x0a, 0x7f])]);
  return decode(chunk, 3, 3 + bytes.length);
}

function unprefixed(message: Buffer): Buffer {
  expect([message[0], message.readUInt32BE(1)]).toEqual([0, message.length - prefixBytes]);
  return message.subarray(prefixBytes);
}

const writtenResponse = (message: SessionResponse): Buffer =>
  unprefixed(
    encodeSessionResponse(message, (_, error) => {
      throw error;
    }),
  );

function writtenRequest(message: Parameters<typeof writeSessionRequest>[0]): Buffer {
  const parts: Uint8Array[] = [];
  writeSessionRequest(message, (part) => parts.push(part) > 0);
  return unprefixed(Buffer.concat(parts));
}

/** A change of a message: the place, a byte, and whether the byte is removed, inserted or replaced. */
const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(3)), { maxLength: 4 });

function changed(message: Uint8Array, all: readonly (readonly [number, number, number])[]): Buffer {
  let bytes = Buffer.from(message.subarray(0, 2_000));
  for (const [place, value, way] of all) {
    const at = place % (bytes.length + 1);
    const added = way === 0 ? [] : [value];
    bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(added), bytes.subarray(way === 3 ? at : at + 1)]);
  }
  return bytes;
}

function outcome(read: () => string): string {
  try {
    return read();
  } catch {
    return "refused";
  }
}

describe("lane messages of inference-svc", () => {
  const general = (message: SessionResponse) => toBinary(SessionResponseSchema, message);
  const byCode = (bytes: Uint8Array) => bytesOf(SessionResponseSchema, within(decodeSessionResponse, bytes));

  test("written by generated code mean the same to the general codec", () => {
    fc.assert(
      fc.property(laneResponses, (message) => {
        expect(meaning(SessionResponseSchema, writtenResponse(message))).toBe(
          meaning(SessionResponseSchema, general(message)),
        );
      }),
      runs,
    );
  });

  test("written by the general codec mean the same to generated code", () => {
    fc.assert(
      fc.property(laneResponses, (message) => {
        const bytes = general(message);
        expect(byCode(bytes)).toBe(meaning(SessionResponseSchema, bytes));
      }),
      runs,
    );
  });

  test("have the same meaning for generated code in any encoding allowed by the contract", () => {
    fc.assert(
      fc.property(laneResponses, fc.integer(), (message, seed) => {
        const bytes = distortMessage(SessionResponseSchema, general(message), seededRandom(seed));
        expect(byCode(bytes)).toBe(meaning(SessionResponseSchema, bytes));
      }),
      runs,
    );
  });

  test("with changed, cut or added bytes are read as the contract reads them, or refused", () => {
    fc.assert(
      fc.property(laneResponses, changes, (message, all) => {
        const bytes = changed(general(message), all);
        const contract = outcome(() => meaning(SessionResponseSchema, bytes));
        // The schema-driven decoder reads past the end of a message with an overlong part; our decoder refuses such a batch.
        expect([contract, "refused"]).toContain(outcome(() => byCode(bytes)));
      }),
      { numRuns: 1_000 },
    );
  });

  test("are refused wherever they are cut", () => {
    const frame = { case: "batch", value: { events: [{ event: { case: "textDelta", value: { delta: "word" } } }] } };
    const whole = general(create(SessionResponseSchema, { frames: [{ turn: 300, frame }] } as object));
    for (let length = 1; length < whole.length; length++) {
      expect(() => within(decodeSessionResponse, whole.subarray(0, length))).toThrow();
    }
  });

  test("isolate an unreadable batch from the other turns", () => {
    // A batch of one event with a length beyond its end.
    const unreadable = [0x0a, 0x06, 0x08, 0x05, 0x12, 0x02, 0x0a, 0x7f];
    const readable = [0x0a, 0x06, 0x08, 0x06, 0x12, 0x02, 0x10, 0x07];
    const { frames } = within(decodeSessionResponse, Buffer.from([...unreadable, ...readable]));
    const costs = frames.map(
      ({ frame }) =>
        () =>
          frame.case === "batch" ? frame.value.cost : undefined,
    );
    expect(costs[0]).toThrow();
    expect(costs[1]?.()).toBe(7);
  });

  test("end only the affected turn with a frame the contract cannot express", () => {
    const delta = (turn: number) =>
      create(ServerFrameSchema, {
        turn,
        frame: { case: "batch", value: { events: [{ event: { case: "textDelta", value: { delta: "word" } } }] } },
      });
    const tooMuch = (cost: object) =>
      create(ServerFrameSchema, {
        turn: 2,
        last: true,
        frame: { case: "batch", value: { events: [{ event: { case: "end", value: { usage: cost } } }] } },
      });
    for (const usage of [{ cost: { outputPicoUsd: 2n ** 70n } }, { inputTokens: -1 }, { inputTokens: 1.5 }]) {
      const dropped: number[] = [];
      const frames = [delta(1), tooMuch(usage), delta(3)];
      const bytes = encodeSessionResponse(create(SessionResponseSchema, { frames }), (turn) => dropped.push(turn));
      const read = within(decodeSessionResponse, unprefixed(bytes)).frames;
      expect(dropped).toEqual([2]);
      expect(read.map(({ turn, last, frame: { case: kind } }) => [turn, last, kind])).toEqual([
        [1, false, "batch"],
        [2, true, "fault"],
        [3, false, "batch"],
      ]);
    }
  });
});

describe("lane messages of a gateway", () => {
  const general = (message: Parameters<typeof writeSessionRequest>[0]) => toBinary(SessionRequestSchema, message);
  const byCode = (bytes: Uint8Array) => bytesOf(SessionRequestSchema, within(decodeSessionRequest, bytes));

  test("written by generated code mean the same to the general codec", () => {
    fc.assert(
      fc.property(laneRequests, (message) => {
        expect(meaning(SessionRequestSchema, writtenRequest(message))).toBe(
          meaning(SessionRequestSchema, general(message)),
        );
      }),
      runs,
    );
  });

  test("written by the general codec mean the same to generated code", () => {
    fc.assert(
      fc.property(laneRequests, (message) => {
        const bytes = general(message);
        expect(byCode(bytes)).toBe(meaning(SessionRequestSchema, bytes));
      }),
      runs,
    );
  });

  test("have the same meaning for generated code in any encoding allowed by the contract", () => {
    fc.assert(
      fc.property(laneRequests, fc.integer(), (message, seed) => {
        const bytes = distortMessage(SessionRequestSchema, general(message), seededRandom(seed));
        expect(byCode(bytes)).toBe(meaning(SessionRequestSchema, bytes));
      }),
      runs,
    );
  });

  test("with changed, cut or added bytes are read or refused as the contract does", () => {
    fc.assert(
      fc.property(laneRequests, changes, (message, all) => {
        const bytes = changed(general(message), all);
        expect(outcome(() => byCode(bytes))).toBe(outcome(() => meaning(SessionRequestSchema, bytes)));
      }),
      { numRuns: 1_000 },
    );
  });

  test("are refused when they are nested without end, or have numbers without end", () => {
    const deep = Buffer.alloc(100_000, 0x0b);
    const long = Buffer.concat([Buffer.from([0x0a, 0x0d, 0x08]), Buffer.alloc(11, 0xff), Buffer.from([1])]);
    for (const bytes of [deep, long, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])]) {
      expect(() => within(decodeSessionRequest, bytes)).toThrow();
    }
  });

  test("with 32 MiB of input are written without a copy of the input", () => {
    const inputJson = Buffer.alloc(32 * 1024 * 1024, "x");
    const parts: Uint8Array[] = [];
    const open = { turn: 1, frame: { case: "open" as const, value: { keyHash: "k", request: { inputJson } } } };
    const last = writeSessionRequest(create(SessionRequestSchema, { frames: [open] }), (part) => parts.push(part) < 2);
    expect([parts.length, parts[1] === inputJson, last]).toEqual([2, true, false]);
    const [read] = within(decodeSessionRequest, unprefixed(Buffer.concat(parts))).frames;
    expect(read?.frame.case === "open" && inputJson.equals(read.frame.value.request?.inputJson as Buffer)).toBe(true);
  });
});
