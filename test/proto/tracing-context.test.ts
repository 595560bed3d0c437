/** W3C Trace Context as it is taken at the edge. */
import { describe, expect, test } from "@jest/globals";
import { readTraceHeaders, traceparentOf } from "@sluice/proto/lib/tracing/context.js";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const good = `00-${traceId}-${spanId}-01`;

const read = (traceparent: string, tracestate = "") => readTraceHeaders({ traceparent, tracestate });

test("a well-formed traceparent is read, and written unchanged", () => {
  expect(read(good)).toEqual({ traceId, spanId, sampled: true, tracestate: "" });
  expect(read(`00-${traceId}-${spanId}-00`)?.sampled).toBe(false);
  expect(traceparentOf({ traceId, spanId, sampled: true })).toBe(good);
});

test("later versions of traceparent may add data, and unknown flags are ignored", () => {
  expect(read(`cc-${traceId}-${spanId}-03-what-comes`)?.sampled).toBe(true);
  expect(read(`cc-${traceId}-${spanId}-02`)?.sampled).toBe(false);
});

describe("a malformed traceparent is ignored", () => {
  test.each([
    ["empty", ""],
    ["zero trace", `00-${"0".repeat(32)}-${spanId}-01`],
    ["zero span", `00-${traceId}-${"0".repeat(16)}-01`],
    ["upper case", good.toUpperCase()],
    ["version ff", `ff-${traceId}-${spanId}-01`],
    ["version 00 with more", `${good}-more`],
    ["version 01 without a dash before more", `01-${traceId}-${spanId}-01more`],
    ["too short", `00-${traceId.slice(1)}-${spanId}-01`],
    ["two of them", `${good}, ${good}`],
    ["blanks", ` ${good}`],
    ["line end", `${good}\n`],
    ["very long", `01-${traceId}-${spanId}-01-${"x".repeat(8_192)}`],
  ])("with %s", (_, traceparent) => {
    expect(read(traceparent)).toBeUndefined();
  });
});

describe("a tracestate header", () => {
  test.each(["a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "fw529a3039@dt=FfAF", "a=1, b=2", "0a/b*c-d_e=!~"])(
    "with %s is passed on",
    (tracestate) => {
      expect(read(good, tracestate)?.tracestate).toBe(tracestate);
    },
  );

  test.each([
    ["no value", "a="],
    ["no key", "=1"],
    ["capitals", "A=1"],
    ["the same key twice", "a=1,a=2"],
    ["33 members", Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(",")],
    ["more than 512 characters", `a=${"x".repeat(250)},b=${"x".repeat(250)},c=${"x".repeat(10)}`],
    ["controls", "a=\u0001"],
    ["letters of elsewhere", "a=ü"],
  ])("is dropped, and the trace kept: %s", (_, tracestate) => {
    expect(read(good, tracestate)).toEqual({ traceId, spanId, sampled: true, tracestate: "" });
  });
});
