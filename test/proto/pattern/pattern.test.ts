/** Patterns: their matches, how early they report them, reasons for refusal, and bounded time for every text. */
import { describe, expect, test } from "@jest/globals";
import type { Finder, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { compilePattern, compileStoredPattern } from "@sluice/proto/lib/pattern/pattern.js";
import { PatternError } from "@sluice/proto/lib/pattern/refusal.js";
import { findMinCpuMs, measureCpuMs } from "../../support/clock.js";

/** Matches, and the position up to which they are decided after each piece. */
function read(pattern: string | Finder, ...pieces: readonly string[]) {
  const scan = (typeof pattern === "string" ? compilePattern(pattern) : pattern).open();
  const spans: TextSpan[] = [];
  const decided = pieces.map((piece) => {
    const found = scan.push(piece);
    spans.push(...found.spans);
    return found.decided;
  });
  spans.push(...scan.end().spans);
  const text = pieces.join("");
  return { found: spans.map(({ start, end }) => text.slice(start, end)), decided };
}

describe("a guardrail pattern finds the same as JavaScript", () => {
  test.each([
    ["a+?b", "aab ab"],
    ["a|ab", "ab"],
    ["(a|ab)(c|bcd)", "abcd"],
    ["\\bcat\\b", "cat concat cats cat"],
    ["^a|b$", "ab ab"],
    ["[^\\s]{2,3}", "a ab abc abcd"],
    ["x{2}y{0,1}z{1,}", "xxzz xxyz xz"],
    ["a[^!]*!|a", "aaaa"],
    ["(?:ab?)*c", "abac c aab"],
    ["(?<year>\\d{4})-\\u0030", "2024-0"],
    ["\\p{Lu}.\\u{1f600}", "\u00c4\u{1f601}\u{1f600}"],
    [".", "\u{1f600}\ud83d"],
    // Repetitions with an empty match before a non-empty one.
    ["a(?:b?|\\n){0,2}", "a\n- ab\nb"],
    ["a(?:|b)+", "abb"],
    ["a(?:(?:b?|-)){1,3}c?", "a--b-c"],
    ["a(?:\\b(?:b?|\\n))*", "a\n-"],
    ["a(?:(?:\\b|$)(?:b?|\\n))*", "a\nb"],
    ["a(?:(?:b??|-)*?|c)*d", "abc-bd a-cd"],
  ])("%s in %j", (pattern, text) => {
    const expected = text.match(new RegExp(pattern, "gu")) ?? [];
    expect(read(pattern, text).found).toEqual(expected);
    // The text is cut between the two halves of each character as well.
    expect(read(pattern, ...text.split("")).found).toEqual(expected);
  });

  test.each([
    ["(?i)stra\u00dfe", "STRA\u1e9eE Strasse", ["STRA\u1e9eE"]],
    ["(?i)k\u03bc", "\u212a\u00b5 K\u039c", ["\u212a\u00b5", "K\u039c"]],
    ["(?i)i", "\u0131\u0130I", ["I"]],
    ["(?s)a.b", "a\nb", ["a\nb"]],
    ["(?im)^a$", "b\nA\nb", ["A"]],
    ["(?i)(?m)^a$", "b\nA\nb", ["A"]],
    ["(?i:a)b", "Ab AB", ["Ab"]],
    ["(?i)a(?-i:b)", "Ab AB", ["Ab"]],
    ['a\\-b{\\"', 'a-b{"', ['a-b{"']],
    ["[\\w-x]}", "-}", ["-}"]],
  ])("%s in %j", (pattern, text, expected) => {
    expect(read(pattern, text).found).toEqual(expected);
  });
});

describe("a guardrail pattern reports a match as soon as it is certain", () => {
  test.each<[string, string[], string[], number[]]>([
    ["secret", ["a se", "cr", "et!"], ["secret"], [2, 2, 9]],
    ["secret", ["a se", "nt"], [], [2, 6]],
    ["\\d{3}", ["1", "2", "34"], ["123"], [0, 0, 3]],
    // The next character, or the end of the text, shows whether the word ends.
    ["cat\\b", ["cat", "s", " cat"], ["cat"], [0, 4, 5]],
    ["a+", ["a", "a", "b"], ["aa"], [0, 0, 3]],
    // The shorter match is found, but a longer one may still replace it.
    ["ab?c?", ["a", "b", "b"], ["ab"], [0, 0, 3]],
    ["a[^!]*!|a", ["aa", "a", "!b"], ["aaa!"], [0, 0, 5]],
  ])("for %s in %j", (pattern, pieces, found, decided) => {
    expect(read(pattern, ...pieces)).toEqual({ found, decided });
  });

  test("never within half a character", () => {
    expect(read("b.", "a\ud83d", "\ude00")).toEqual({ found: [], decided: [1, 3] });
  });
});

describe("a guardrail pattern is refused", () => {
  const deep = (depth: number) => `${"(".repeat(depth)}a${")".repeat(depth)}`;
  test.each([
    ["(?=a)b", "look-around is not supported: patterns must match in linear time"],
    ["a(?<!b)", "look-around is not supported: patterns must match in linear time"],
    ["(a)\\1", "back-references are not supported: patterns must match in linear time"],
    ["(?<n>a)\\k<n>", "back-references are not supported: patterns must match in linear time"],
    ["a*", "must not match the empty string"],
    ["\\b", "must not match the empty string"],
    ["(?m)^$", "must not match the empty string"],
    ["a(", "not a valid pattern: Unterminated group (character 3)"],
    ["(?i)a[", "not a valid pattern: Unterminated character class (character 7)"],
    ["(a{1000}){1000}", "too complex: more than 20000 states"],
    ["(?:){1000000000}a", "too complex: more than 20000 states"],
    [`${"(".repeat(30)}a${"{9})".repeat(30)}`, "too complex: more than 20000 states"],
    [deep(251), "groups nested deeper than 250"],
    ["a?b".repeat(10_000), "at most 20000 characters, unless it is plain text without operators"],
    [
      Array.from({ length: 251 }, (_, index) => `[a\\u{${(index + 256).toString(16)}}]`).join(""),
      "too complex: more than 250 classes",
    ],
  ])("when it is %.40s", (pattern, message) => {
    expect(() => compilePattern(pattern)).toThrow(new PatternError(message));
  });

  // In RE2 or elsewhere these have another meaning than here.
  test.each(["\\Aa", "a\\z", "\\pLa", "[[:alpha:]]a", "\\Qa\\E", "(?P<n>a)", "a\\_b\\y", "a\\u{61}}", "\\07", "(?U)a"])(
    "when it is %s, since it would match differently than written",
    (pattern) => {
      expect(() => compilePattern(pattern)).toThrow(/^not a valid pattern/);
    },
  );

  test("for its size only above the limit", () => {
    expect(read("a{1049}", "aa").found).toEqual([]);
    expect(read("((((((((a+)+)+)+)+)+)+)+)+b", "aab").found).toEqual(["aab"]);
    expect(read(deep(250), "a").found).toEqual(["a"]);
    expect(read("\u{1d4b3}".repeat(50_000), "\u{1d4b3}".repeat(100_000)).found).toHaveLength(2);
  });
});

describe("matching a guardrail pattern takes time linear in the text", () => {
  const many = 100_000;
  test.each<[string, string]>([
    ["(a+)+$", `${"a".repeat(many)}!`],
    ["(a|aa)+b", "a".repeat(many)],
    ["(a*)*b", "a".repeat(many)],
    ["a[^!]*!|a", "a".repeat(many)],
    ["(.*)(.*)(.*)=x", "=".repeat(many)],
    ["(\\w+\\s?)+$", `${"word ".repeat(many / 5)}!`],
    ["x+x+y", "x".repeat(many)],
    [`${"y".repeat(50_000)}z`, "y".repeat(many)],
  ])("for %.20s", async (pattern, text) => {
    const finder = compilePattern(pattern);
    read(finder, text.slice(0, 1_000));
    expect(await findMinCpuMs(100, () => measureCpuMs(() => read(finder, text)))).toBeLessThan(100);
  });

  test("in every piece, even when each character needs a new state", async () => {
    const finder = compileStoredPattern("[ab]{0,9000}c");
    const scan = finder.open();
    scan.push("ab".repeat(2_000));
    const length = finder.pieceLength as number;
    const piece = "ab".repeat(length).slice(0, length);
    expect(await findMinCpuMs(20, () => measureCpuMs(() => scan.push(piece)))).toBeLessThan(20);
  });
});
