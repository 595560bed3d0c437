/** What a campaign says of a command line that it cannot follow. */
import { expect, test } from "@jest/globals";
import { join } from "node:path";
import { readNumbers } from "./campaign-options.ts";
import { root, run } from "./processes.ts";

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

test.each([
  ["fuzz", "--wrong", "Unknown option '--wrong'"],
  ["fuzz", "bodies", "nothing to fuzz is called bodies"],
  ["fuzz", "--count=many", "--count is to be a whole number from 1 to 1000000000"],
  ["detectors", "--wrong", "Unknown option '--wrong'"],
  ["detectors", "everything", "no detector is called everything"],
  ["policy", "--wrong", "Unknown option '--wrong'"],
  ["policy", "--only=bulk,everything", "no measure is called everything"],
  ["policy", "--rounds=0", "--rounds is to be a whole number from 1 to 100000"],
  ["upgrade", "--wrong", "Unknown option '--wrong'"],
])("npm run %s -- %s says what is wrong and the usage, without a stack", async (command, arg, message) => {
  const { code, stdout, stderr } = await run(process.execPath, [join(root, "test/dist", command, "main.js"), arg]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(new RegExp(`\\nusage: npm run ${command} .*\\n$`));
  expect(stderr).not.toMatch(/^ +at /m);
});
