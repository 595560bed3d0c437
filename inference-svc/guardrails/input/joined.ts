/** Words that markup splits, put together as a page shows them; then without their other disguises. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Escape } from "../disguises/entities.ts";
import { markupIn, markupSigns, maxMarkup } from "../disguises/markup.ts";
import { type Mapped, MappedText, through } from "./mapped.ts";
import { plain, squeezed } from "./normal.ts";

const anySign = `[${markupSigns.replace(/[\]\\]/g, "\\$&")}]`;
const endsAsWord = /[\p{L}\p{N}]_*$/u;

/** Undefined when there is no markup. */
export function joined(text: string, at: number): Mapped | undefined {
  const shown = withoutMarkup(text, at);
  if (shown === undefined) return undefined;
  const inner = plain(shown.text, 0);
  const undisguised = inner ? through(inner, shown) : shown;
  return squeezed(undisguised) ?? undisguised;
}

function withoutMarkup(text: string, at: number): Mapped | undefined {
  const made = new MappedText();
  let done = 0;
  for (const { start, end, said } of markupOf(text)) {
    made.copy(text.slice(done, start), at + done);
    made.put(said, { start: at + start, end: at + end });
    done = end;
  }
  if (done === 0) return undefined;
  made.copy(text.slice(done), at + done);
  return made;
}

interface Place extends Span {
  readonly said: string;
}

/** From left to right, with the text that is shown for it. */
export function* markupOf(text: string): Iterable<Place> {
  const signs = new RegExp(anySign, "g");
  let commentEnd = 0;
  for (let found = signs.exec(text); found; found = signs.exec(text)) {
    const start = found.index;
    if (text.startsWith("<!--", start)) {
      // Comments that end nowhere are looked for once, and not from each beginning.
      if (commentEnd < start + 4) commentEnd = endOfComment(text, start + 4);
      if (commentEnd - start > maxMarkup && !emptyComment.test(text.slice(start, start + 6))) continue;
    }
    const markup = markupAt(text, start);
    if (markup === undefined) continue;
    const end = (signs.lastIndex = start + markup.length);
    yield { start, end, said: markup.said };
  }
}

const emptyComment = /^<!---?>/;

function endOfComment(text: string, from: number): number {
  const ends = ["-->", "--!>"].map((end) => text.indexOf(end, from)).filter((at) => at !== -1);
  return ends.length > 0 ? Math.min(...ends) : Number.POSITIVE_INFINITY;
}

/** Underscores in a row; more are a line. */
const maxUnderscores = 16;

function markupAt(text: string, start: number): Escape | undefined {
  const isBehindWord = text[start] === "_" && endsAsWord.test(text.slice(Math.max(0, start - maxUnderscores), start));
  const found = markupIn(text.slice(start, start + maxMarkup), true, isBehindWord);
  return found === "open" ? undefined : found;
}
