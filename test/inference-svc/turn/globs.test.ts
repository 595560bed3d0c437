/** Patterns over slugs: their matches, in linear time. */
import { expect, test } from "@jest/globals";
import { Globs } from "@sluice/inference-svc/turn/globs.js";
import fc from "../../support/properties.js";

test.each([
  ["a/b", "a/b", true],
  ["a/b", "a/bc", false],
  ["a/b", "A/b", false],
  ["a/*", "a/b", true],
  ["a/*", "a/", true],
  ["a/*", "ab/c", false],
  ["*", "a/b", true],
  ["*/b", "a/b", true],
  ["*mini*", "openai/gpt-5-mini", true],
  ["a*b*c", "abc", true],
  ["a*b*c", "acb", false],
  ["ab*ba", "aba", false],
  ["a.c", "abc", false],
  ["a**c", "abc", true],
  ["", "a", false],
])("the pattern %s matches %s: %s", (pattern, slug, expected) => {
  expect(new Globs([pattern]).matches(slug)).toBe(expected);
});

test("a name matches several patterns if it matches one, and never matches an empty list", () => {
  expect(new Globs(["a/*", "b/c"]).matches("b/c")).toBe(true);
  expect(new Globs([]).matches("b/c")).toBe(false);
});

test("a glob matches as the equivalent regular expression would", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (pattern, slug) => {
      const form = new RegExp(`^${pattern.replaceAll("*", "[^]*")}$`);
      expect(new Globs([pattern]).matches(slug)).toBe(form.test(slug));
    }),
    { numRuns: 2_000 },
  );
});
