/** Joins words split by markup, as a page shows them, and then removes other disguises. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { DecodedEscape } from "../disguises/entities.ts";
import { readMarkup, markupStarts, maxMarkupLength } from "../disguises/markup.ts";
import { type MappedPiece, MappedText, composeMaps } from "./mapped-text.ts";
import { normalize, foldConfusables } from "./normalize.ts";

const anySign = `[${markupStarts.replace(/[\]\\]/g, "\\$&")}]`;
const endsAsWord = /[\p{L}\p{N}]_*$/u;

/** The text without markup. @returns undefined when it has none */
export function stripMarkup(text: string, at: number): MappedPiece | undefined {
  const shown = removeMarkup(text, at);
  if (shown === undefined) return undefined;
  const inner = normalize(shown.text, 0);
  const normalized = inner ? composeMaps(inner, shown) : shown;
  return foldConfusables(normalized) ?? normalized;
}

function removeMarkup(text: string, at: number): MappedPiece | undefined {
  const made = new MappedText();
  let done = 0;
  for (const { start, end, shown } of findMarkup(text)) {
    made.copy(text.slice(done, start), at + done);
    made.put(shown, { start: at + start, end: at + end });
    done = end;
  }
  if (done === 0) return undefined;
  made.copy(text.slice(done), at + done);
  return made;
}

interface MarkupSpan extends TextSpan {
  readonly shown: string;
}

/** Markup from left to right, each with the text shown on a page for it. */
export function* findMarkup(text: string): Iterable<MarkupSpan> {
  const signs = new RegExp(anySign, "g");
  let commentEnd = 0;
  for (let found = signs.exec(text); found; found = signs.exec(text)) {
    const start = found.index;
    if (text.startsWith("<!--", start)) {
      // The end of a comment is searched only once, and not again from every unclosed beginning.
      if (commentEnd < start + 4) commentEnd = endOfComment(text, start + 4);
      if (commentEnd - start > maxMarkupLength && !emptyComment.test(text.slice(start, start + 6))) continue;
    }
    const markup = readMarkupAt(text, start);
    if (markup === undefined) continue;
    const end = (signs.lastIndex = start + markup.length);
    yield { start, end, shown: markup.decoded };
  }
}

const emptyComment = /^<!---?>/;

function endOfComment(text: string, from: number): number {
  const ends = ["-->", "--!>"].map((end) => text.indexOf(end, from)).filter((at) => at !== -1);
  return ends.length > 0 ? Math.min(...ends) : Number.POSITIVE_INFINITY;
}

/** Maximum number of underscores in a row; more are a drawn line. */
const maxUnderscores = 16;

function readMarkupAt(text: string, start: number): DecodedEscape | undefined {
  const isBehindWord = text[start] === "_" && endsAsWord.test(text.slice(Math.max(0, start - maxUnderscores), start));
  const found = readMarkup(text.slice(start, start + maxMarkupLength), true, isBehindWord);
  return found === "open" ? undefined : found;
}
