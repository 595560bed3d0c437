/** Time limits in tests: each only ends a hanging test, and none depends on the speed of the machine. */
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { readSources } from "./sources.ts";

/** The time limit of every test (`jest.config.mjs`). A limit at the end of a test or a hook is only for one that takes longer. */
const ofTests = 120_000;
/** The minimum for `eventually`, whose limit is 100 s: a lower one would be a claim about speed, which is the task of `findShortest`. */
const ofConditions = 30_000;

interface Limit {
  readonly place: string;
  readonly ms: number;
}

const sources = readSources(root).filter(({ path }) => path.startsWith("test/"));

/** @param pattern has the limit in milliseconds as its group */
const findLimits = (pattern: RegExp): Limit[] =>
  sources.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((found) => {
      const line = text.slice(0, found.index).split("\n").length;
      return { place: `${path}:${line}`, ms: Number(found[1]?.replaceAll("_", "")) };
    }),
  );

test("no single test or hook has a shorter time limit than all tests have", () => {
  const limits = findLimits(/^ *\}, ([\d_]{4,})\);$/gm);
  expect(limits.length).toBeGreaterThan(30);
  expect(limits.filter(({ ms }) => ms < ofTests)).toEqual([]);
});

test("no condition in a test is awaited for less than half a minute", () => {
  const limits = findLimits(/\beventually\([^;]*?, ([\d_]{3,})\);/g);
  expect(limits.length).toBeGreaterThan(1);
  expect(limits.filter(({ ms }) => ms < ofConditions)).toEqual([]);
});
