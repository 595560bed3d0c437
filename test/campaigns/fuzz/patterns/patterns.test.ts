/** Random patterns over texts in pieces, and disguised texts. A million runs: npm run fuzz -- patterns, or disguises. */
import { GuardedTexts } from "@sluice/inference-svc/features/guardrails/output/guarded-texts.js";
import { TextPart } from "@sluice/inference-svc/features/guardrails/output/text-part.js";
import { Report } from "@sluice/inference-svc/features/guardrails/output/rules/report.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { expect, test } from "@jest/globals";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { patternCampaign, patternLine } from "./campaign.ts";
import { runToEnd, redactRule } from "./trial.ts";

const limits = { seed: fixedSeed, seconds: Number.POSITIVE_INFINITY };

test("a guardrail's pattern gives the same output for a stream as for the whole text, and delivers no match", () => {
  const report = patternCampaign({ ...limits, subject: "patterns", count: 3_000 });
  process.stdout.write(`${patternLine(report)}\n`);
  expect(report.complaints).toEqual([]);
  // Texts without a match prove nothing, so most texts have one.
  expect(report.matches).toBeGreaterThan(report.runs / 2);
  // Text that is held back can usually still become a match.
  expect(report.held / report.pieces).toBeLessThan(2);
}, 900_000);

test("disguised secrets are redacted whole and nothing else is, with the same result for every cut", () => {
  const report = patternCampaign({ ...limits, subject: "disguises", count: 1_500 });
  process.stdout.write(`${patternLine(report)}\n`);
  expect(report.complaints).toEqual([]);
  expect(report.matches).toBeGreaterThan(report.runs / 2);
}, 900_000);

const prose =
  "I am a man of a certain age, and 100% sure that the model answers with words, digits (2026) and na\u00efve caf\u00e9s. ";
const code = "const a = b + c;\nfor (let i = 0; i < list.length; i++) total += list[i].value ?? 0;\n";
/** Bytes of an image, in base64, which contain no text. */
const image = Buffer.from(
  Array.from({ length: 6_000 }, (_, index) => (index * index * 31 + (index >> 3)) & 0xff),
).toString("base64");

test.each([
  ["prose", prose.repeat(20), 1],
  ["code", code.repeat(20), 1],
  ["an image", `![a](data:image/png;base64,iVBORw0KGgo${image})`, 0.5],
])("hardly any text is held back from a stream of %s sent letter by letter", (what, text, most) => {
  const rules = ["plutonium", "sk-[a-z0-9]{8}", "(?i)hunter2"].map((pattern, index) =>
    redactRule(pattern, compilePattern(pattern), index),
  );
  let shown = "";
  let held = 0;
  const channel = new GuardedTexts(rules, new Report());
  const part = new TextPart("text", { joinKey: "text", item: 0 }, (said) => (shown += said));
  for (const unit of text.split("")) {
    runToEnd(channel.push(part, unit));
    held += channel.held;
  }
  runToEnd(channel.end());
  process.stdout.write(`${what}: ${(held / text.length).toFixed(2)} characters held back on average\n`);
  expect(shown).toBe(text);
  expect(held / text.length).toBeLessThan(most);
});
