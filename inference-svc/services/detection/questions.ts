/**
 * Distributes texts to questions of limited length. Long texts are divided into windows; short ones are joined if the
 * service returns places.
 */
import { splitIntoWindows } from "../../content/text-windows.ts";
import type { Detection } from "./wire.ts";

/** A part of a text a question contains. */
interface Part {
  readonly text: string;
  /** Index in the text at which the part starts. */
  readonly from: number;
  /** Index in the question at which the part starts. */
  readonly at: number;
  readonly length: number;
}

export interface Question {
  readonly text: string;
  readonly parts: readonly Part[];
}

/** Matches a letter or digit; a text without any has nothing to detect. */
const wordCharacter = /[\p{L}\p{N}]/u;
/** Separator between texts in one question. */
const gap = "\n";

/** @param longest maximum UTF-16 units of a question @param joins whether several texts may share a question */
export function* questionsOf(texts: Iterable<string>, longest: number, joins: boolean): Iterable<Question> {
  let row = { text: "", parts: [] as Part[] };
  for (const text of texts) {
    if (!wordCharacter.test(text)) continue;
    if (!joins || text.length > longest) {
      for (const { start, text: stretch } of splitIntoWindows(text, longest)) {
        yield { text: stretch, parts: [{ text, from: start, at: 0, length: stretch.length }] };
      }
      continue;
    }
    if (row.text.length + gap.length + text.length > longest) {
      yield row;
      row = { text: "", parts: [] };
    }
    if (row.parts.length > 0) row.text += gap;
    row.parts.push({ text, from: 0, at: row.text.length, length: text.length });
    row.text += text;
  }
  if (row.parts.length > 0) yield row;
}

/** Divides the detections in a question by text, with places in that text. */
export function* marksByText({ parts }: Question, marks: readonly Detection[]): Iterable<readonly [string, Detection]> {
  for (const mark of marks) {
    for (const { text, from, at, length } of parts) {
      const start = Math.max(mark.start, at);
      const end = Math.min(mark.end, at + length);
      if (start < end) yield [text, { ...mark, start: start - at + from, end: end - at + from }];
    }
  }
}
