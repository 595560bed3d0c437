/** Cases for the detectors: texts with their expected findings. Hand-written cases are in fixtures/detectors/<slug>.txt, one on each line. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { root } from "../../support/processes.ts";

export interface LabelledText {
  readonly text: string;
  /** Spans that must be found, from left to right; empty for a text that only resembles a finding. */
  readonly expected: readonly TextSpan[];
}

/** Marks around an expected finding. */
const open = "⟦";
const close = "⟧";

/** Parses a text whose expected findings are marked by ⟦⟧. */
export function parseLabelledText(marked: string): LabelledText {
  const expected: TextSpan[] = [];
  let text = "";
  for (const [index, part] of marked.split(open).entries()) {
    const [inside = "", outside] = index === 0 ? ["", part] : part.split(close);
    if (index > 0) expected.push({ start: text.length, end: text.length + inside.length });
    text += inside + (outside ?? "");
  }
  return { text, expected };
}

const escapes: Readonly<Record<string, string>> = { "\\n": "\n", "\\t": "\t", "\\\\": "\\" };

/** Replaces `\n`, `\t`, `\\` and `\u` with four digits as in JSON. */
const unescaped = (line: string): string =>
  line.replace(/\\u([\da-f]{4})|\\[nt\\]/g, (escape, code?: string) =>
    code === undefined ? (escapes[escape] as string) : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** The hand-written cases of a detector. Lines with // are remarks. */
export function handWrittenCases(slug: string): readonly LabelledText[] {
  const file = readFileSync(join(root, "test", "fixtures", "detectors", `${slug}.txt`), "utf8");
  return file
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("//"))
    .map((line) => parseLabelledText(unescaped(line)));
}
