/** Texts built from small pieces, and their memory while they are kept. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "@jest/globals";
import { append } from "@sluice/proto/lib/text/append.js";

/** Tokens of a model, each a separate string, as made by a parser. */
const tokens = Array.from({ length: 12_000 }, (_, number) => `word${number % 10} `);
const tokenOf = (number: number): string => JSON.parse(`"${tokens[number]}"`) as string;

test("a text appended in pieces of any length equals their concatenation", () => {
  const pieces = Array.from({ length: 400 }, (_, number) =>
    (number % 7 === 0 ? "ä€😀" : "x").repeat((number * 37) % 1_500),
  );
  expect(pieces.reduce(append, "")).toBe(pieces.join(""));
});

test("a text built from tokens takes less than three bytes a character while it grows", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = Array.from({ length: 50 }, () => {
    let text = "";
    for (let number = 0; number < tokens.length; number++) text = append(text, tokenOf(number));
    return text;
  });
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // Concatenation with `+=` takes more than five bytes a character.
  expect(bytes / kept.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(3);
});
