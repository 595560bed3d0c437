/** The checker of histories, on a register: histories it must accept, and above all histories it must refuse. */
import { describe, expect, test } from "@jest/globals";
import fc from "../support/properties.js";
import { type SequentialModel, type TimedOperation, isLinearizable } from "../support/answers/linearizable.ts";

type Input = { readonly write: number } | "read";
const register: SequentialModel<number, Input, number> = {
  initial: 0,
  step(state, input, output) {
    if (input !== "read") return input.write;
    return output === undefined || output === state ? state : undefined;
  },
  keyOf: String,
};

/** `w1 0-3` writes 1 from 0 to 3, `r1 0-3` reads 1, `w1 2-?` has an unknown outcome. */
function history(...lines: readonly string[]): TimedOperation<Input, number>[] {
  return lines.map((line) => {
    const [, kind, value, from, to] = /^([rw])(\d+) (\d+)-(\d+|\?)$/.exec(line) ?? [];
    return {
      input: kind === "r" ? "read" : { write: Number(value) },
      output: to === "?" ? undefined : Number(value),
      calledAt: Number(from),
      returnedAt: to === "?" ? Number.POSITIVE_INFINITY : Number(to),
    };
  });
}

describe("the linearizability check accepts", () => {
  test.each([
    ["nothing", []],
    ["one after the other", ["w1 0-1", "r1 2-3", "w2 4-5", "r2 6-7"]],
    ["a read beside a write, of either value", ["w1 0-9", "r0 1-2", "r1 3-4"]],
    ["writes that overlap, in the order that reads show", ["w1 0-9", "w2 0-9", "r2 10-11", "r2 12-13"]],
    ["a write that took effect although nobody was told", ["w1 0-?", "r0 1-2", "r1 3-4"]],
    ["a write that never took effect", ["w1 0-?", "r0 1-2", "r0 3-4"]],
  ])("%s", (_, lines) => expect(isLinearizable(history(...lines), register)).toBe(true));
});

describe("the linearizability check refuses", () => {
  test.each([
    ["a value that nobody wrote", ["r7 0-1"]],
    ["a read of what was written over before it began", ["w1 0-1", "r0 2-3"]],
    ["a read that goes back behind another", ["w1 0-9", "r1 1-2", "r0 3-4"]],
    ["two readers who saw two orders", ["w1 0-9", "w2 0-9", "r1 10-11", "r2 12-13", "r1 14-15"]],
    ["a write that took effect twice", ["w1 0-?", "r1 1-2", "w2 3-4", "r2 5-6", "r1 7-8"]],
    ["a write before its call", ["r1 0-1", "w1 2-3"]],
  ])("%s", (_, lines) => expect(isLinearizable(history(...lines), register)).toBe(false));
});

/** Operations with effects one after the other at whole numbers, each called up to five before and returned up to five after. */
const made = fc
  .array(
    fc.record({
      write: fc.boolean(),
      before: fc.double({ min: 0, max: 5, noNaN: true }),
      after: fc.double({ min: 0, max: 5, noNaN: true }),
    }),
    {
      minLength: 2,
      maxLength: 60,
    },
  )
  .map((steps) => {
    let value = 0;
    return steps.map(({ write, before, after }, at): TimedOperation<Input, number> => {
      if (write) value = at + 1;
      return { input: write ? { write: value } : "read", output: value, calledAt: at - before, returnedAt: at + after };
    });
  });

test("every history of a real register is linearizable, and a read before its write is not", () => {
  fc.assert(
    fc.property(made, fc.nat(), (operations, at) => {
      expect(isLinearizable(operations, register)).toBe(true);
      const n = at % operations.length;
      const wrong = operations.map((operation, index) =>
        index === n ? { ...operation, input: "read" as const, output: 1_000 } : operation,
      );
      expect(isLinearizable(wrong, register)).toBe(false);
    }),
    { numRuns: 200 },
  );
});
