/** Server-sent events are read the same wherever the bytes are cut. */
import { describe, expect, test } from "@jest/globals";
import { EventScanner, maxEventBytes } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import fc, { codePoint } from "../../../support/properties.js";
import { isLinear } from "../../../support/clock.js";

type Event = readonly [name: string | undefined, data: string];

function scan(chunks: readonly Uint8Array[], flush = false): Event[] {
  const events: Event[] = [];
  const scanner = new EventScanner((name, data) => events.push([name, data]));
  for (const chunk of chunks) scanner.feed(chunk);
  if (flush) scanner.flush();
  return events;
}

const whole = (text: string, flush = false) => scan([Buffer.from(text)], flush);

/** Cuts bytes at the given fractions. */
function cut(bytes: Buffer, fractions: readonly number[]): Uint8Array[] {
  const at = [
    0,
    ...fractions.map((fraction) => Math.floor(fraction * bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

describe("the syntax of server-sent events", () => {
  test.each<[string, string, Event[]]>([
    ["one event", "data: a\n\n", [[undefined, "a"]]],
    [
      "CR",
      "data: a\r\rdata: b\r\r",
      [
        [undefined, "a"],
        [undefined, "b"],
      ],
    ],
    ["CRLF", "event: x\r\ndata: a\r\n\r\n", [["x", "a"]]],
    ["several lines", "data: a\ndata:b\ndata\n\n", [[undefined, "a\nb\n"]]],
    ["only the first space goes", "data:  a\n\n", [[undefined, " a"]]],
    ["comments and other fields", ": hi\nid: 1\nretry: 5\nfoo: bar\ndata: a\n\n", [[undefined, "a"]]],
    ["a name without data", "event: x\n\ndata: a\n\n", [[undefined, "a"]]],
    ["empty data", "data:\n\n", [[undefined, ""]]],
    ["byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", [[undefined, "a"]]],
    ["an event that never ends", "data: a\n\ndata: b\n", [[undefined, "a"]]],
  ])("is read with %s", (_, text, expected) => {
    expect(whole(text)).toEqual(expected);
  });

  test("includes a last event without its blank line, but no half line", () => {
    expect(whole("data: a\n", true)).toEqual([[undefined, "a"]]);
    expect(whole("data: a\ndata: b", true)).toEqual([[undefined, "a"]]);
  });
});

describe("a character over several server-sent events", () => {
  const event = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('data: {"t":"'), Buffer.from(bytes), Buffer.from('"}\n\n')]);
  const said = (...texts: string[]) => texts.map((text): Event => [undefined, `{"t":"${text}"}`]);

  test.each<[string, readonly Buffer[], Event[]]>([
    ["two", [event(0x61, 0xe4, 0xbd), event(0xa0, 0x62)], said("a", "你b")],
    ["one byte each", [event(0xe4), event(0xbd), event(0xa0)], said("", "", "你")],
    ["comments between", [event(0xf0, 0x9f), Buffer.from("\n"), event(0x98, 0x80)], said("", "😀")],
  ])("is joined: %s", (_, chunks, expected) => {
    expect(scan(chunks)).toEqual(expected);
    expect(scan([Buffer.concat(chunks)])).toEqual(expected);
  });

  test.each<[string, readonly Buffer[]]>([
    ["no rest", [event(0xe4, 0xbd), event(0x61)]],
    ["a rest without a beginning", [event(0xa0)]],
    ["a beginning amid a text", [event(0xe4, 0xbd, 0x61)]],
    ["a byte of no character", [event(0xff)]],
  ])("fails: %s", (_, chunks) => {
    expect(() => scan(chunks)).toThrow(Fault);
  });
});

test("any cut of any server-sent event stream gives the same events", () => {
  const line = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
    fc.constantFrom("", "", "event: x", ": comment", "data", 'data: {"a":"ü€😀"}', "nonsense"),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 30 })
    .map((lines) => Buffer.from(lines.map(([text, end]) => text + end).join("")));
  fc.assert(
    fc.property(stream, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }), (bytes, fractions) => {
      expect(scan(cut(bytes, fractions))).toEqual(scan([bytes]));
      expect(scan([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(scan([bytes]));
    }),
    { numRuns: 500 },
  );
});

test("a byte order mark and characters of four bytes survive every single cut of an event stream", () => {
  const bytes = Buffer.from('\ufeffevent: ü\r\ndata: {"a":"😀€"}\r\n\r\ndata: b\r\r');
  for (let at = 0; at <= bytes.length; at++) {
    expect(scan([bytes.subarray(0, at), bytes.subarray(at)])).toEqual([
      ["ü", '{"a":"😀€"}'],
      [undefined, "b"],
    ]);
  }
});

describe("limits of server-sent events", () => {
  const line = (length: number) => `data: ${"x".repeat(length - 6)}`;

  test("let a line of the limit pass, and fail one more byte, in any pieces", () => {
    expect(whole(`${line(maxEventBytes)}\n\n`)).toHaveLength(1);
    expect(() => whole(`${line(maxEventBytes + 1)}\n\n`)).toThrow(Fault);
    const endless = Buffer.alloc(64 * 1024, "x");
    expect(() => scan(Array.from({ length: maxEventBytes / endless.length + 1 }, () => endless))).toThrow(Fault);
  });

  test("count many lines of one event together", () => {
    expect(() => whole(`${`data: ${"x".repeat(1024)}\n`.repeat(maxEventBytes / 1024)}\n`)).toThrow(Fault);
  });

  test("keep the time linear for a line in very many pieces", async () => {
    // A line long enough for repeated copying to dominate the time.
    const piece = Buffer.alloc(100, "x");
    const pieces = Array.from({ length: 32_000 }, () => piece);
    const read = (count: number) => {
      const events = scan([Buffer.from("data: "), ...pieces.slice(0, count), Buffer.from("\n\n")]);
      expect(events[0]?.[1]).toHaveLength(100 * count);
    };
    expect(await isLinear(4_000, read)).toBe(true);
  });

  test.each([[[0xff]], [[0xc3, 0x28]], [[0xed, 0xa0, 0x80]], [[0xe2, 0x82]]])(
    "fail for the invalid UTF-8 %j",
    (bad) => {
      const bytes = Buffer.concat([Buffer.from("data: "), Uint8Array.from(bad), Buffer.from("\n\n")]);
      expect(() => scan([bytes])).toThrow(Fault);
    },
  );
});
