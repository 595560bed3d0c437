/** What a campaign says of a command line that it cannot follow. */
import { expect, test } from "@jest/globals";
import { readNumbers } from "./campaign-options.ts";

const ranges = { kills: { usual: 1_000, least: 1, most: 5_000 }, seed: { usual: 7, least: 0, most: 10 } };
const read = (...args: string[]) => readNumbers("chaos", ranges, args);

test("numbers that are given, and the usual ones", () => {
  expect(read()).toEqual({ kills: 1_000, seed: 7 });
  expect(read("--kills", "5000", "--seed=0")).toEqual({ kills: 5_000, seed: 0 });
});

test.each([
  [["--kills", "many"], "--kills is to be a whole number from 1 to 5000"],
  [["--kills", "0"], "--kills is to be a whole number from 1 to 5000"],
  [["--kills", "5001"], "--kills is to be a whole number from 1 to 5000"],
  [["--kills", "1.5"], "--kills is to be a whole number from 1 to 5000"],
  [["--seed="], "--seed is to be a whole number from 0 to 10"],
  [["--help"], "Unknown option '--help'"],
])("%j is refused with the usage", (args, message) => {
  expect(() => read(...args)).toThrow(message);
  expect(() => read(...args)).toThrow("usage: npm run chaos -- [--kills N] [--seed N]");
});
