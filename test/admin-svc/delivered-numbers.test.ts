import { expect, test } from "@jest/globals";
import {
  hasNumber,
  missingText,
  parseDelivered,
  withNumbers,
} from "@sluice/admin-svc/store/ledger/delivered-numbers.js";

const numbers = (from: number, to: number, step = 1): bigint[] =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => BigInt(from + at * step));

test("the longest gaps in a process's delivered numbers stay known however many short gaps follow", () => {
  const restored = withNumbers(undefined, [1n, 500n]);
  const known = withNumbers(restored, numbers(502, 42_000, 2));
  expect(known.missing).toHaveLength(64);
  expect(hasNumber(known, 250n)).toBe(false);
  expect(missingText(known).length).toBeLessThan(1_024);
  expect(known.missing.map(([from]) => from)).toEqual(
    known.missing.map(([from]) => from).toSorted((a, b) => Number(a - b)),
  );
  const read = parseDelivered(String(known.last), missingText(known));
  expect(read).toEqual(known);
});

test("a gap in a process's delivered numbers disappears when it is filled from both ends and its middle", () => {
  const known = withNumbers(undefined, [1n, 10n]);
  const part = withNumbers(known, [2n, 9n, 5n]);
  expect(part.missing).toEqual([
    [3n, 5n],
    [6n, 9n],
  ]);
  expect(
    withNumbers(
      part,
      numbers(3, 9).filter((number) => number !== 5n),
    ).missing,
  ).toEqual([]);
});
