/** Every short text made of letters, gaps and disguises reads the same wherever it is cut, and keeps each written character. */
import { expect, test } from "@jest/globals";
import type { Deobfuscated } from "@sluice/inference-svc/features/guardrails/output/forms/characters.js";
import { Deobfuscator } from "@sluice/inference-svc/features/guardrails/output/forms/deobfuscator.js";

const formNames = ["raw", "normalized", "folded", "unmarked", "tagsDecoded"] as const;

function readForms(cuts: readonly string[]): readonly string[] {
  const deobfuscator = new Deobfuscator();
  const pieces: Deobfuscated[] = cuts.flatMap((cut) => deobfuscator.push(cut));
  pieces.push(...deobfuscator.end());
  return formNames.map((form) => pieces.map((piece) => piece[form]).join(""));
}

function* textsOf(signs: readonly string[], length: number): Generator<string> {
  if (length === 0) return void (yield "");
  for (const start of textsOf(signs, length - 1)) for (const sign of signs) yield start + sign;
}

/** Whole and in halves a text may match undisguised; letter by letter every character is read separately. */
const differing = (text: string): readonly string[][] => {
  const alone = readForms(text.split(""));
  const half = text.length >> 1;
  return [[text], [text.slice(0, half), text.slice(half)]].filter(
    (cuts) => alone[0] !== text || readForms(cuts).some((form, index) => form !== alone[index]),
  );
};

test.each([
  ["letters, digits and underscores", ["p", "_", "1"], 9],
  ["spelled-out words beside words", ["p_", "p.", "wo", " ", "1"], 6],
  ["gaps of several signs", ["p", " ", "-", "_"], 8],
  ["markup and snake case", ["p", "wo", "_", "*", "<b>", "](x)"], 5],
  ["escapes and snake case", ["p", "_", "%70", "&#112;", "\\u0070", "wo"], 5],
  ["invisible and foreign letters", ["p", "_", "\u200b", "\u0440", "\u{1d5c9}", "wo"], 5],
  ["encoded words on either side", ["p_l_u_t", " ", "aGVsbG8gd29ybGQ=", "= ", "1"], 5],
])("matches in %s are found wherever the stream is cut", (_, signs, length) => {
  const differences = [...textsOf(signs, length)].flatMap(differing).slice(0, 10);
  expect(differences).toEqual([]);
});
