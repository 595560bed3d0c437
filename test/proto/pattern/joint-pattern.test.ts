/** Patterns matched together on one text: each finds the same as by itself, and as early. */
import { describe, expect, test } from "@jest/globals";
import type { Automaton } from "@sluice/proto/lib/pattern/automaton.js";
import type { Finder, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { JointAutomaton } from "@sluice/proto/lib/pattern/joint.js";
import { type JointFound, JointScan } from "@sluice/proto/lib/pattern/joint-scan.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { findMinCpuMs, measureCpuMs } from "../../support/clock.js";

const jointOf = (finders: readonly Finder[]): JointAutomaton =>
  new JointAutomaton(finders.map(({ automaton }) => automaton as Automaton));

/** Matches of each pattern, and the position up to which they are complete. */
interface Told {
  readonly spans: readonly (readonly TextSpan[])[];
  readonly decided: number;
}

function together({ spans, decided }: JointFound, members: number): Told {
  const all: (readonly TextSpan[])[] = Array.from({ length: members }, () => []);
  for (const [member, own] of spans) all[member] = own;
  return { spans: all, decided };
}

function alone(
  scans: readonly { push(piece: string): { spans: readonly TextSpan[]; decided: number } }[],
  piece: string,
) {
  const found = scans.map((scan) => scan.push(piece));
  return { spans: found.map(({ spans }) => spans), decided: Math.min(...found.map(({ decided }) => decided)) };
}

const patterns = [
  "cat",
  "\\bcats?\\b",
  "(?i)CAT.",
  "a[^!]*!|a",
  "\\d{3}-\\d{2}",
  "^c|t$",
  "[\u{1f600}-\u{1f64f}]+",
  "\\w+@\\w",
];
const text = "cat concat cats CATS a 123-45 a@b \u{1f600}\u{1f601} cat! caaat 12-345 \ud83d cat";

describe("several patterns scanned together", () => {
  const finders = patterns.map((pattern) => compilePattern(pattern));

  test.each([1, 2, 3, 7, 100])("find the matches of each single pattern in pieces of %i units", (length) => {
    const joint = new JointScan(jointOf(finders));
    const scans = finders.map((finder) => finder.open());
    for (let at = 0; at < text.length; at += length) {
      const piece = text.slice(at, at + length);
      expect(together(joint.push(piece), patterns.length).spans).toEqual(alone(scans, piece).spans);
    }
    expect(together(joint.end(), patterns.length).spans).toEqual(scans.map((scan) => scan.end().spans));
  });

  test("decide a position once all of them have decided it", () => {
    const joint = new JointScan(jointOf(["ab", "bcd", "(?i)x"].map((pattern) => compilePattern(pattern))));
    expect(["a", "b", "c", "e", "\ud83d"].map((piece) => joint.push(piece).decided)).toEqual([0, 1, 1, 4, 4]);
  });

  test.each(["fork", "split"] as const)("find the same matches after %s", (way) => {
    for (let at = 0; at <= text.length; at++) {
      const joint = new JointScan(jointOf(finders));
      const scans = finders.map((finder) => finder.open());
      joint.push(text.slice(0, at));
      alone(scans, text.slice(0, at));
      const expected = [alone(scans, text.slice(at)).spans, scans.map((scan) => scan.end().spans)];
      if (way === "fork") {
        const fork = joint.fork();
        joint.push("cats!");
        const told = [fork.push(text.slice(at)), fork.end()].map((found) => together(found, patterns.length).spans);
        expect(told).toEqual(expected);
      } else {
        const apart = joint.split();
        expect([alone(apart, text.slice(at)).spans, apart.map((scan) => scan.end().spans)]).toEqual(expected);
      }
    }
  });

  test.each<[string, readonly string[]]>([
    ["more states than are remembered", ["[ab].{11}c", "b.{11}c", "(?:ab|b){3,9}c"]],
    ["states that are not remembered", ["[ab]{0,400}c", "a.{200,}b", "ba"]],
  ])("find the matches of each single pattern with %s", (_, many) => {
    const own = many.map((pattern) => compilePattern(pattern));
    const joint = new JointScan(jointOf(own));
    const scans = own.map((finder) => finder.open());
    let random = 1;
    for (let piece = 0; piece < 300; piece++) {
      let letters = "";
      for (let unit = 0; unit < 20; unit++) {
        random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
        letters += "aabbc"[(random >>> 16) % 5];
      }
      expect(together(joint.push(letters), many.length).spans).toEqual(alone(scans, letters).spans);
    }
    expect(together(joint.end(), many.length).spans).toEqual(scans.map((scan) => scan.end().spans));
  });
});

test("the start of a match is remembered only for patterns of variable length", () => {
  const text =
    "Please keep the plain, clear and short summary; ask the people in Kyiv for 12 keys, \u{1f600} and p\u{1f600}q.";
  const countNoted = (...sources: readonly string[]): number => {
    const joint = jointOf(sources.map(compilePattern));
    let state = joint.initial;
    let noted = 0;
    for (const character of text) {
      const move = joint.move(state, joint.symbols.of(character.codePointAt(0) as number));
      noted += move.members.length;
      state = move.to;
    }
    return noted;
  };
  expect(countNoted("plutonium", "(?i)kernel", "\\bpl\\d{3}\\b", "a[a-z]{4}!", "\u{1f600}{2}", "p\u{1f600}r")).toBe(0);
  expect(countNoted("[a-z]+!")).toBeGreaterThan(0);
  expect(countNoted("p.r")).toBeGreaterThan(0);
});

test("a text that drives 64 patterns into ever new states delays no other work", async () => {
  const own = Array.from({ length: 64 }, (_, index) =>
    compilePattern(`[a${String.fromCharCode(98 + (index % 20))}].{${6 + (index % 5)}}!`),
  );
  const share = own.reduce((sum, { pieceLength = 1 }) => sum + 1 / pieceLength, 0);
  const length = Math.max(1, Math.floor(1 / share));
  const joint = jointOf(own);
  const scan = new JointScan(joint);
  let random = 1;
  const piece = () =>
    Array.from({ length }, () => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return String.fromCharCode(97 + ((random >>> 16) % 26));
    }).join("");
  expect(await findMinCpuMs(20, () => measureCpuMs(() => scan.push(piece())))).toBeLessThan(20);
});
