/** The list of planted faults fits the compiled modules. The campaign that plants them runs each night. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SourceTextModule } from "node:vm";
import { expect, test } from "@jest/globals";
import { limitAfter, modules, readRun } from "./campaign.ts";
import { plantedFaults } from "./faults.ts";
import { plant } from "./plant.ts";
import type { DialectSuite } from "./reporter.ts";

test.each(plantedFaults.map((fault) => [fault.effect, fault] as const))(
  "a planted fault fits its module: %s",
  (_, fault) => {
    const source = readFileSync(join(modules, `${fault.module}.js`), "utf8");
    const code = plant(source, fault);
    expect(code).not.toBe(source);
    // A fault that leaves invalid code would be found by any test, and prove nothing.
    expect(() => new SourceTextModule(code)).not.toThrow();
  },
);

test("a planted fault without its place in the module is refused", () => {
  const fault = { effect: "", module: "m", code: "b", faulty: "c" };
  expect(plant("abd", fault)).toBe("acd");
  for (const source of ["ad", "abbd"]) expect(() => plant(source, fault)).toThrow("m.js has this code");
});

const suites = (...tests: DialectSuite["tests"]) => [
  { path: "/dialects/quick.test.js", hasFailed: false, tests: [{ ms: 5, failures: [] }] },
  { path: "/dialects/slow.test.js", hasFailed: true, tests },
];

test("the time limit of the mutation campaign follows the longest test without a planted fault", () => {
  const run = readRun(suites({ ms: 41_000, failures: [] }, { failures: [] }));
  expect(run).toEqual({ failing: ["slow.test.js"], isOnlyByTime: false, longestMs: 41_000 });
  expect([limitAfter(run), limitAfter({ ...run, longestMs: 900 })]).toEqual([123_000, 60_000]);
});

test("a planted fault found only by a timeout is reported apart from one found by an assertion", () => {
  const late = { ms: 60_001, failures: ["thrown: Exceeded timeout of 60000 ms for a test."] };
  const seen = { ms: 3, failures: ["expect(received).toBe(expected)"] };
  expect(readRun(suites(late, late)).isOnlyByTime).toBe(true);
  expect(readRun(suites(late, seen)).isOnlyByTime).toBe(false);
});
