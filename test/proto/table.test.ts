/** Tables of the command line fit the terminal: ids are cut first, then the widest texts, and numbers never. */
import { expect, test } from "@jest/globals";
import { fitTable } from "@sluice/proto/lib/process/table.js";
import stringWidth from "string-width";
import fc from "../support/properties.ts";

const hash = "c56454edb818d6b14bc0d61c46025f1450b0f4012d12304ab40aacb519fcbc93";
const titles = ["NAME", "STATE", "USD", "HASH"];
const rows = [
  ["billing-team", "active", "12.000000000001", hash],
  ["翻訳サービス", "disabled", "0", hash],
  ["a name that somebody has made far too long for any list", "active", "1234.5", hash],
];

test("a table printed to a file or a pipe is whole, with wide characters counted as two columns", () => {
  const lines = fitTable(titles, rows, Infinity);
  expect(lines.every((line, n) => n === 0 || line.includes(hash))).toBe(true);
  const places = lines.slice(1).map((line) => stringWidth(line.slice(0, line.indexOf(hash))));
  expect(new Set(places).size).toBe(1);
});

test("hashes in a printed table are cut to twelve digits first, and then the longest name", () => {
  expect(fitTable(titles, rows, 110)).toEqual([
    "NAME                                                     STATE     USD              HASH",
    "billing-team                                             active    12.000000000001  c56454edb818…",
    "翻訳サービス                                             disabled  0                c56454edb818…",
    "a name that somebody has made far too long for any list  active    1234.5           c56454edb818…",
  ]);
  expect(fitTable(titles, rows, 60)).toEqual([
    "NAME                STATE     USD              HASH",
    "billing-team        active    12.000000000001  c56454edb818…",
    "翻訳サービス        disabled  0                c56454edb818…",
    "a name that someb…  active    1234.5           c56454edb818…",
  ]);
});

test("a printed table cuts no character of two columns or several code points in half", () => {
  expect(fitTable(["N", "X"], [["翻訳サービス翻訳", "y".repeat(20)]], 19)[1]).toBe("翻訳サ…   yyyyyyyy…");
  expect(fitTable(["N"], [["👩‍👩‍👧‍👦".repeat(3) + "x".repeat(20)]], 9)[1]).not.toMatch(/\u200d…/);
});

test("numbers, amounts and times of a table stay whole in a terminal that is too narrow for them", () => {
  const [, line] = fitTable(["AT", "USD", "NAME"], [["2026-11-21T12:00:00Z", "0.000000000001", "a long name"]], 20);
  expect(line).toBe("2026-11-21T12:00:00Z  0.000000000001  a long …");
});

test("lines of a text table are as wide as the terminal at most, and columns begin at one place", () => {
  const cell = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.constantFrom("翻訳サービス".repeat(4), hash, "-"),
  );
  const table = fc.integer({ min: 1, max: 5 }).chain((columns) =>
    fc.record({
      rows: fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 6 }),
      width: fc.integer({ min: 15 * columns, max: 200 }),
    }),
  );
  fc.assert(
    fc.property(table, ({ rows: cells, width }) => {
      const lines = fitTable(
        (cells[0] ?? []).map((_, n) => `T${n}`),
        cells.map((row) => row.map((text) => `x${text.replace(/[\p{C}\p{Z}]/gu, "")}`)),
        width,
      );
      expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    }),
  );
});
