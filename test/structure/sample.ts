/** Random samples of comments, test titles and exported names for a reader to judge; a seed gives the same sample again. */
import { parseArgs } from "node:util";
import { Random } from "../support/random.ts";
import { parseNumber } from "../support/runner/campaign-options.ts";
import { fixedSeed } from "../support/runner/fixed-seed.ts";
import { type Remark, describeRemark } from "./comments.ts";
import { readTextKinds, readTitles } from "./fingerprint.ts";
import { exportedNames } from "./names.ts";
import { type SourceFile, isProto, parseSource, readSources } from "./sources.ts";

const sampleKinds = ["comments", "titles", "names"] as const;
type SampleKind = (typeof sampleKinds)[number];

export interface CountsOptions {
  /** Folder of another checkout; undefined for this one. */
  readonly checkout: string | undefined;
  readonly sample: SampleKind | undefined;
  readonly seed: number;
  readonly count: number;
}

/** @throws for an unknown option or kind of sample, and for a number outside its range */
export function readCountsOptions(args: readonly string[]): CountsOptions {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { sample: text, seed: text, count: text },
  });
  const sample = sampleKinds.find((kind) => kind === values.sample);
  if (values.sample !== undefined && !sample) throw new Error(`--sample must be one of ${sampleKinds.join(", ")}`);
  return {
    checkout: positionals[0],
    sample,
    seed: parseNumber("seed", { default: fixedSeed, min: 0, max: 2 ** 32 - 1 }, values.seed),
    count: parseNumber("count", { default: 60, min: 1, max: 10_000 }, values.count),
  };
}

/** @returns values without repetition, in the order of the draw; all of them when there are no more than `count` */
export function drawSample<Value>(values: readonly Value[], seed: number, count: number): Value[] {
  const random = new Random(seed);
  const left = [...values];
  const drawn: Value[] = [];
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(random.below(left.length), 1));
  return drawn;
}

/** @returns a sample of the checkout's comments, titles or names, each with its place; titles follow those of their suites */
export function sampleCheckout(checkout: string, kind: SampleKind, seed: number, count: number): string[] {
  return drawSample(readKind(checkout, kind), seed, count).map(describeRemark);
}

function readKind(checkout: string, kind: SampleKind): readonly Remark[] {
  if (kind === "comments") return readTextKinds(checkout).comments;
  if (kind === "names") return readSources(checkout).flatMap(readNames);
  return readSources(checkout)
    .filter(({ room }) => room === "test")
    .flatMap(readTestTitles);
}

/** @returns the titles of a file's tests, each behind those of its suites; a suite is a heading, and shown only with its tests */
export const readTestTitles = (file: SourceFile): Remark[] =>
  readTitles(file)
    .filter(({ isSuite }) => !isSuite)
    .map(({ text, suites, path, line }) => ({ path, line, text: [...suites, text].join(" > ") }));

/** @returns the exported names of a module, each with the line of its declaration */
export function readNames(file: SourceFile): Remark[] {
  if (isProto(file)) return [];
  const lines = file.text.split("\n");
  return exportedNames(parseSource(file).program).map((name) => {
    const declares = new RegExp(`^export .*\\b${name}\\b`);
    return { path: file.path, line: lines.findIndex((line) => declares.test(line)) + 1, text: name };
  });
}
