/**
 * Every invisible character of Unicode, and every letter and digit in another style or script, in words and in
 * numbers, in requests and in answers. The properties are those of the running Node, not of the generated table.
 */
import { describe, expect, test } from "@jest/globals";
import { inputGuardrails } from "@sluice/inference-svc/features/guardrails/input/guard.js";
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { AppliesTo, FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";
import {
  type Filter,
  type GuardrailFields,
  runGuarded,
  guardrailOf,
  joinDeltas,
  redactFilter,
  streamedMessage,
} from "./gating.js";

const hidden =
  /^(?:[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Me}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\p{Emoji_Modifier}\u2800\ufff9-\ufffd\u{1d159}\ud7b0-\ud7ff])$/u;
const unassigned = /^\p{Cn}$/u;
const points = Array.from({ length: 0x110000 }, (_, point) => point);
const isOf = (property: RegExp) => (point: number) => property.test(String.fromCodePoint(point));

/** Planes without any character. In the planes below them, an older Node counts characters as unassigned that the table's Unicode 17 has assigned. */
const emptyPlanes = 0x40000;
const isReserved = (point: number): boolean =>
  isOf(unassigned)(point) && (Number(process.versions.unicode) >= 17 || point >= emptyPlanes);

/** All invisible characters; of the 800,000 unassigned code points only the ends of their ranges. */
const signs: readonly string[] = points
  .filter((point) => {
    if (isOf(/^[\t\n\r]$/)(point)) return false;
    return isOf(hidden)(point) || (isReserved(point) && !(isReserved(point - 1) && isReserved(point + 1)));
  })
  .map((point) => String.fromCodePoint(point));
/** One in a hundred of the private-use characters, and all others; with SIGNS=all every one of them. */
const tried = signs.filter(
  (sign, index) => process.env["SIGNS"] === "all" || index % 100 === 0 || !/\p{Co}/u.test(sign),
);

/** The words in turn, each with the next `count` invisible characters in each gap between its letters, or in only one gap. */
function written(words: readonly string[], all: readonly string[], count: number, inAll: boolean): string {
  const made: string[] = [];
  for (let next = 0; next < all.length; ) {
    const word = words[made.length % words.length] as string;
    const only = 1 + (made.length % (word.length - 1));
    made.push(
      Array.from(word, (letter, gap) => {
        if (gap === 0 || !(inAll || gap === only)) return letter;
        const taken = Array.from({ length: count }, (_, at) => all[(next + at) % all.length]);
        next += count;
        return taken.join("") + letter;
      }).join(""),
    );
  }
  return made.join("\n");
}

interface Rules extends GuardrailFields {
  readonly filters: readonly Filter[];
}

async function asked(text: string, { filters, ...fields }: Rules): Promise<string> {
  let sent: TurnRequest | undefined;
  const turn = inputGuardrails([])((request) => {
    sent = request;
    return new WholeAnswer([]);
  });
  const guardrail = guardrailOf(filters, { ...fields, appliesTo: AppliesTo.INPUT });
  await runTestTurn(
    turn,
    testRequest({ input: [{ type: "message", role: "user", content: text }] }),
    newScope({ guardrail }),
  );
  return String(sent?.input[0]?.["content"]);
}

/** The text delivered to the client, streamed in pieces cut at any unit. */
const answered = async (text: string, { filters, ...fields }: Rules): Promise<string> =>
  joinDeltas((await runGuarded(streamedMessage(...(text.match(/[^]{1,997}/g) ?? [])), filters, fields)).events);

const sides = { requests: asked, answers: answered };
const sideNames = ["requests", "answers"] as const;

/** The first unredacted words. Marks after a word, such as a keycap's, may stay. */
const left = (shown: string): readonly string[] =>
  shown
    .split("\n")
    .filter((word) => !/^(?:<pw>|\[[A-Z_]+\])\p{M}*$/u.test(word))
    .slice(0, 5)
    .map((word) => JSON.stringify(word));

const atom: Rules = { filters: [redactFilter("atom", "<pw>")] };
const slugs = ["email", "credit-card", "ssn", "phone", "secrets"];
const detectors: Rules = {
  filters: [],
  contentFilterBuiltins: slugs.map((slug) => ({ slug, action: FilterAction.REDACT })),
};
const found = ["someone@example.com", "4111111111111111", "536-22-8145", "+14155552671", "AKIAIOSFODNN7EXAMPLE"];

describe.each(sideNames)("a guardrail for an %s", (side) => {
  describe.each([
    ["a pattern", atom, ["atom"]],
    ["five detectors", detectors, found],
  ] as const)("with %s", (_name, rules, words) => {
    test("finds its words in plain writing", async () => {
      expect(left(await sides[side](words.join("\n"), rules))).toEqual([]);
    });

    test.each([
      ["one sign that shows nothing", 1, false],
      ["two signs that show nothing", 2, false],
      ["one such sign between all letters", 1, true],
      ["two such signs between all letters", 2, true],
    ] as const)("finds a word with %s", async (_, count, inAll) => {
      expect(left(await sides[side](written(words, tried, count, inAll), rules))).toEqual([]);
    });
  });
});

/** The word in an alphabet starting at this code point. */
const styled = (word: string, start: number): string =>
  Array.from(word, (letter) => String.fromCodePoint(start + (letter.codePointAt(0) as number) - 0x61)).join("");

const firstLetters = {
  "full width": [0xff21, 0xff41],
  circled: [0x24b6, 0x24d0],
  parenthesized: [0x249c, 0x1f110],
  squared: [0x1f130],
  "negative circled": [0x1f150],
  "negative squared": [0x1f170],
  "regional indicators": [0x1f1e6],
  "mathematical, bold": [0x1d400, 0x1d41a],
  "mathematical, sans-serif bold italic": [0x1d63c, 0x1d656],
  monospace: [0x1d670, 0x1d68a],
};

/** Every character that NFKC maps to a single letter of the word, in its place in the word. */
const compatible = Array.from("password").flatMap((letter, at) =>
  points
    .filter((point) => point > 0x7f && String.fromCodePoint(point).normalize("NFKC").toLowerCase() === letter)
    .map((point) => `${"password".slice(0, at)}${String.fromCodePoint(point)}${"password".slice(at + 1)}`),
);

const words: readonly (readonly [style: string, written: string])[] = [
  ...Object.entries(firstLetters).map(
    ([style, starts]) => [style, starts.map((start) => styled("password", start)).join("\n")] as const,
  ),
  ["small capitals", "\u1d18\u1d00\ua731\ua731\u1d21\u1d0f\u0280\u1d05"],
  ["modifier letters", "\u1d56\u1d43\u02e2\u02e2\u02b7\u1d52\u02b3\u1d48"],
  ["compatibility characters", compatible.join("\n")],
  ...points
    .filter(isOf(/^\p{Zs}$/u))
    .map((space) => [`space ${space.toString(16)}`, Array.from("password").join(String.fromCodePoint(space))] as const),
];

test.each(words)("a word in letters of the Unicode style %s is detected", async (_, text) => {
  const rules = { filters: [redactFilter("(?i)password", "<pw>")] };
  expect([left(await asked(text, rules)), left(await answered(text, rules))]).toEqual([[], []]);
});

/** The digits from 0 to 9 of every script, and in circles, brackets, raised and lowered. */
const digits: readonly (readonly string[])[] = [
  ...points
    .filter((point) => isOf(/^\p{Nd}$/u)(point) && !isOf(/^\p{Nd}$/u)(point - 1))
    .flatMap((zero) => (zero === 0x1d7ce ? [0, 10, 20, 30, 40].map((more) => zero + more) : [zero]))
    .map((zero) => Array.from({ length: 10 }, (__, value) => String.fromCodePoint(zero + value))),
  ..."\u24ea\u2460 \u24ea\u2474 \u24ff\u2776 \u24ea\u24f5 \u{1f10b}\u2780 \u{1f10c}\u278a \u{1f100}\u2488 \u{1f101}\u{1f102} \u2080\u2081"
    .split(" ")
    .map(([zero = "", one = ""]) => [
      zero,
      ...Array.from({ length: 9 }, (__, at) => String.fromCodePoint((one.codePointAt(0) as number) + at)),
    ]),
  Array.from("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"),
  Array.from("0123456789", (digit) => `${digit}\ufe0f\u20e3`),
];

test("numbers in the digits of every script and style are detected", async () => {
  expect(digits.length).toBeGreaterThan(80);
  const numbers = found.filter((sample) => /\d{3}/.test(sample));
  const text = digits
    .flatMap((ten) => numbers.map((number) => number.replace(/\d/g, (digit) => ten[Number(digit)] as string)))
    .join("\n");
  expect([left(await asked(text, detectors)), left(await answered(text, detectors))]).toEqual([[], []]);
});

test.each([
  "A hand \u{1f44b}\u{1f3fd}, a family \u{1f468}\u200d\u{1f469}\u{1f3fb}\u200d\u{1f467}\u{1f3ff} and flags \u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7}\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}.",
  "\u0641\u064a \u0639\u0627\u0645 \u0662\u0660\u0662\u0666 \u0628\u0644\u063a \u0639\u062f\u062f \u0627\u0644\u0633\u0643\u0627\u0646 \u0661\u0660\u0669\u066c\u0662\u0666\u0662\u066c\u0661\u0667\u0668 \u0646\u0633\u0645\u0629\u060c \u06dd\u0661\u0662.",
  "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06f3 \u06a9\u062a\u0627\u0628\u200c\u0647\u0627 \u0631\u0627 \u062f\u0631 \u06f1\u06f4\u06f0\u06f5/\u06f0\u06f9/\u06f0\u06f7 \u0628\u062e\u0648\u0627\u0646\u0645.",
  "\u0915\u094d\u200d\u0937\u092e\u093e \u0915\u0930\u0947\u0902, \u0930\u093e\u091c\u094d\u200c\u092f \u092e\u0947\u0902 \u0967\u0968\u0969\u096a \u0932\u094b\u0917 \u0939\u0948\u0902\u0964",
  "\uc548\ub155\ud558\uc138\uc694 \u1112\u1161\u11ab\u1100\u1173\u11af \u3160\u3160 \ud7b0\ud7cb \u3164 2026\ub144 11\uc6d4 28\uc77c.",
  "\u{1d11e} \u{1d15f}\u{1d165}\u{1d16e} \u{1d159}\u{1d173}\u{1d174} in \u2158 and \u00bd time, H\u2082O, x\u00b2 + y\u00b3 = 1\u00ba, \u2460\u2461\u2462 \u2474 \u2488",
  "\ue0b0 main \ue0b1 \uf09b repo \u{f0001} ok\u000bnext\u000cpage \u001b[1mbold\u001b[0m line\u2028line\u2029\u0085end\u0007",
  "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u7535\u8bdd\uff1a\uff11\uff12\uff13\u3002 \u30b3\u30fc\u30d2\u30fc \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e51\u0e52\u0e53 \u05e9\u05dc\u05d5\u05dd \u200f\u202b12\u202c \u169b\u1691\u1680\u1692\u169c \u2801\u2800\u2803",
])("no word is found and no character is changed in: %j", async (text) => {
  const rules = { ...detectors, filters: [redactFilter("(?i)password|plutonium", "<pw>")] };
  expect([await asked(text, rules), await answered(text, rules)]).toEqual([text, text]);
});
