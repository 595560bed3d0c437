/** Frames are read the same wherever their bytes are cut, and damaged frames are never taken for an answer. */
import { describe, expect, test } from "@jest/globals";
import { type Frame, FrameScanner } from "@sluice/inference-svc/models/upstream/converse/frames.js";
import { maxEventBytes } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import fc from "../../../support/properties.js";
import { isLinear } from "../../../support/clock.js";
import { type RawHeader, frame } from "../../../support/answers/event-stream.js";

type Seen = readonly [headers: Record<string, string>, payload: string];

function scan(reads: readonly Uint8Array[]): Seen[] {
  const seen: Seen[] = [];
  const scanner = new FrameScanner(({ headers, payload }: Frame) =>
    seen.push([Object.fromEntries(headers), payload.toString("latin1")]),
  );
  for (const bytes of reads) scanner.feed(bytes);
  return seen;
}

const raw = (type: number, bytes: number[]): RawHeader => ({ type, bytes: Uint8Array.from(bytes) });

describe("a frame of an AWS event stream", () => {
  test("may have no headers and no payload", () => {
    const bytes = Buffer.from("000000100000000005c248eb7d98c8ff", "hex");
    expect(frame({})).toEqual(bytes);
    expect(scan([bytes])).toEqual([[{}, ""]]);
  });

  test("may have headers of every type, of which only strings are read", () => {
    const bytes = frame(
      {
        true: raw(0, []),
        a: "1",
        false: raw(1, []),
        byte: raw(2, [1]),
        short: raw(3, [1, 2]),
        int: raw(4, [1, 2, 3, 4]),
        long: raw(5, Array(8).fill(1) as number[]),
        bytes: raw(6, [0, 3, 1, 2, 3]),
        time: raw(8, Array(8).fill(1) as number[]),
        uuid: raw(9, Array(16).fill(1) as number[]),
        b: "ü€😀",
      },
      "p",
    );
    expect(scan([bytes])).toEqual([[{ a: "1", b: "ü€😀" }, "p"]]);
  });
});

test("any cut of any AWS event stream gives the same frames", () => {
  const frames = fc.array(
    fc
      .tuple(fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.string({ maxLength: 5 })), fc.uint8Array())
      .map(([headers, payload]) => frame(headers, payload)),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(frames, fc.array(fc.nat(), { maxLength: 12 }), (list, cuts) => {
      const bytes = Buffer.concat(list);
      const borders = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const whole = scan([bytes]);
      expect(whole).toHaveLength(list.length);
      expect(scan(borders.slice(1).map((end, at) => bytes.subarray(borders[at], end)))).toEqual(whole);
      expect(scan([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
    }),
    { numRuns: 200 },
  );
});

describe("damage to an AWS event stream", () => {
  const good = frame({ ":message-type": "event" }, '{"a":1}');

  test("is detected for every single flipped bit, before the frame is returned", () => {
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good);
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => scan([bad])).toThrow(Fault);
    }
  });

  test("in a length does not wait for the missing bytes", () => {
    const bad = Buffer.from(good);
    bad[0] = 0x7f;
    expect(() => scan([bad.subarray(0, 12)])).toThrow(Fault);
  });

  test("includes half a frame", () => {
    for (let end = 0; end < good.length; end++) expect(scan([good, good.subarray(0, end)])).toHaveLength(1);
  });

  test.each([
    ["a type that nobody knows", { a: raw(10, [0]) }],
    ["a value that is longer than the headers", { a: raw(7, [0, 9, 1]) }],
    ["a length without its value", { a: raw(6, [0]) }],
  ])("is found in a header with %s", (_, headers) => {
    expect(() => scan([frame(headers)])).toThrow(Fault);
  });
});

describe("limits of an AWS event stream", () => {
  test("let a frame of the limit pass, and fail one more byte as soon as the length is known", () => {
    expect(scan([frame({}, Buffer.alloc(maxEventBytes - 16))])).toHaveLength(1);
    expect(() => scan([frame({}, Buffer.alloc(maxEventBytes - 15)).subarray(0, 12)])).toThrow(Fault);
  });

  test("keep the time linear for a frame in very many pieces", async () => {
    const whole = frame({}, Buffer.alloc(3_200_000));
    const read = (count: number) => {
      const bytes = frame({}, whole.subarray(0, count * 100 - 16));
      const pieces = Array.from({ length: count }, (_, at) => bytes.subarray(at * 100, (at + 1) * 100));
      expect(scan(pieces)).toHaveLength(1);
    };
    expect(await isLinear(4_000, read)).toBe(true);
  });
});
