/**
 * Promises of every detector: equal findings wherever a text is cut, the published figures, and work proportional
 * to the text.
 */
import { changeDigit } from "../../support/altered.ts";
import { describe, expect, test } from "@jest/globals";
import { builtinDetectors } from "@sluice/inference-svc/features/guardrails/detectors/registry.js";
import { builtinPlaceholders } from "@sluice/proto/contract/records/content-filters.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { bareFind, baselines } from "./baselines.ts";
import { handWrittenCases } from "./corpus.ts";
import { splitRandomly } from "./cut.ts";
import { findSpans } from "./finding.ts";
import { generatedCases } from "./generated/index.ts";
import { measureDetector } from "./figures.ts";
import { minQuality } from "./floors.ts";
import { adversaries, measureScanMs } from "./speed.ts";
import { Random } from "../../support/random.ts";

const finderOf = (slug: string) => {
  const detector = builtinDetectors.find((one) => one.slug === slug);
  if (detector === undefined) throw new Error(`no detector ${slug}`);
  return detector.finder;
};

describe.each(builtinDetectors)("the detector $slug", ({ slug, finder }) => {
  test("finds the same matches in a text cut at any place", () => {
    const chance = new Random(7, slug.length);
    const cases = [...handWrittenCases(slug), ...generatedCases(slug)];
    for (let round = 0; round < 600; round++) {
      // Several cases in a row and fragments of them: a case may follow another text or lose its end.
      const part = (text: string) =>
        chance.chance(0.5) ? text : text.slice(chance.below(10), 1 + chance.below(text.length));
      const text = Array.from({ length: 1 + chance.below(5) }, () => part(chance.pick(cases).text)).join(
        chance.pick([" ", "\n", "", "."]),
      );
      const pieces = splitRandomly(text, chance);
      expect({ text, spans: findSpans(finder, pieces) }).toEqual({ text, spans: findSpans(finder, [text]) });
    }
  });

  test("has a hundred handwritten cases, half of them without a finding", () => {
    const cases = handWrittenCases(slug);
    expect(cases.length).toBeGreaterThanOrEqual(100);
    expect(cases.filter(({ expected }) => expected.length === 0).length * 2).toBeGreaterThanOrEqual(cases.length);
  });

  test("reaches the figures of the README, less a small margin", () => {
    const { byHand, generated } = measureDetector(slug, (text) => findSpans(finder, [text]));
    const least = minQuality[slug];
    expect(least).toBeDefined();
    for (const [quality, floor] of [
      [byHand, least?.byHand],
      [generated, least?.generated],
    ] as const) {
      expect(quality.precision).toBeGreaterThanOrEqual(floor?.precision ?? 1);
      expect(quality.recall).toBeGreaterThanOrEqual(floor?.recall ?? 1);
    }
  });

  test.each(adversaries)("takes no longer for $name than for other text", ({ text }) => {
    // Linear work takes some ten milliseconds here, quadratic work takes seconds.
    expect(measureScanMs(finder, text)).toBeLessThan(1_500);
  });
});

test.each(Object.entries(baselines))(
  "the detector %s has better precision than a bare pattern of its kind, and no worse recall",
  (slug, pattern) => {
    const finder = finderOf(slug);
    const bare = measureDetector(slug, bareFind(pattern));
    const ours = measureDetector(slug, (text) => findSpans(finder, [text]));
    for (const set of ["byHand", "generated"] as const) {
      expect(ours[set].precision).toBeGreaterThan(bare[set].precision);
      expect(ours[set].recall).toBeGreaterThanOrEqual(bare[set].recall);
    }
  },
);

test("built-in detectors have the names allowed in guardrails", () => {
  expect(builtinDetectors.map(({ slug }) => slug).toSorted()).toEqual(Object.keys(builtinPlaceholders).toSorted());
});

describe("secrets found by the detector", () => {
  const found = (text: string) => findSpans(finderOf("secrets"), [text]);

  test("include Sluice's own keys with a correct checksum", () => {
    const key = mintKey(KeyKind.INFERENCE);
    expect(found(`the key ${key} leaked`)).toEqual([{ start: 8, end: 8 + key.length }]);
    expect(found(`the key ${changeDigit(key)} leaked`)).toEqual([]);
    expect(found(mintKey(KeyKind.MANAGEMENT))).toHaveLength(1);
  });

  test("exclude placeholders, and the quotes around a secret", () => {
    expect(found("postgres://user:password@db.example.com/app")).toEqual([]);
    expect(found("password: 'Ab3$kkPq9'")).toEqual([{ start: 11, end: 20 }]);
  });

  test("include private keys up to their end, or as far as they look like a key without an end", () => {
    const armour = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n";
    expect(found(`${armour}-----END PRIVATE KEY-----\nbye`)).toEqual([{ start: 0, end: armour.length + 25 }]);
    expect(found(armour)).toEqual([{ start: 0, end: armour.length }]);
    expect(found(`${armour}<end>`)).toEqual([{ start: 0, end: armour.length }]);
  });
});

test("a detector holds back at most a word of unrelated text", () => {
  const text = "the quick brown fox jumps over the lazy dog ".repeat(20);
  for (const { finder } of builtinDetectors) {
    const scan = finder.open();
    for (let place = 0; place < text.length; place++) {
      const { decided } = scan.push(text.charAt(place));
      expect(place + 1 - decided).toBeLessThanOrEqual(6);
    }
  }
});
