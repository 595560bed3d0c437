/** Error messages for invalid command lines of campaigns. */
import { expect, test } from "@jest/globals";
import { join } from "node:path";
import { readNumbers } from "./campaign-options.ts";
import { root, runProgram } from "../processes.ts";

const ranges = { kills: { default: 1_000, min: 1, max: 5_000 }, seed: { default: 7, min: 0, max: 10 } };
const read = (...args: string[]) => readNumbers("chaos", ranges, args);

test("numbers given to a campaign override the defaults", () => {
  expect(read()).toEqual({ kills: 1_000, seed: 7 });
  expect(read("--kills", "5000", "--seed=0")).toEqual({ kills: 5_000, seed: 0 });
});

test.each([
  [["--kills", "many"], "--kills must be a whole number from 1 to 5000"],
  [["--kills", "0"], "--kills must be a whole number from 1 to 5000"],
  [["--kills", "5001"], "--kills must be a whole number from 1 to 5000"],
  [["--kills", "1.5"], "--kills must be a whole number from 1 to 5000"],
  [["--seed="], "--seed must be a whole number from 0 to 10"],
  [["--help"], "Unknown option '--help'"],
])("the campaign options %j are refused with the usage", (args, message) => {
  expect(() => read(...args)).toThrow(message);
  expect(() => read(...args)).toThrow("usage: npm run chaos -- [--kills N] [--seed N]");
});

test.each([
  ["fuzz", "--wrong", "Unknown option '--wrong'"],
  ["detectors", "everything", "unknown detector: everything"],
  ["policy", "--rounds=0", "--rounds must be a whole number from 1 to 100000"],
  ["upgrade", "--wrong", "Unknown option '--wrong'"],
])("npm run %s -- %s prints the error and the usage, without a stack trace", async (command, arg, message) => {
  const { code, stdout, stderr } = await runProgram(process.execPath, [
    join(root, "test/dist/campaigns", command, "main.js"),
    arg,
  ]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(new RegExp(`\\nusage: npm run ${command} .*\\n$`));
  expect(stderr).not.toMatch(/^ +at /m);
});
