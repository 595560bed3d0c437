/** Splits a text into windows read separately. Each window begins with the end of the previous one, to keep some context. */

export interface TextWindow {
  /** UTF-16 index of the window's start in the text. */
  readonly start: number;
  readonly text: string;
}

/** Default window length in UTF-16 units: about a thousand tokens. */
const defaultLength = 4_000;
const overlap = 200;

/** Matches the end of a sentence or line. A window is cut at the last match in its second half. */
const sentence = /[.!?\u2026\u3002\uff01\uff1f]["')\]\u201d\u2019]?\s|\n/g;

/** @param longest maximum UTF-16 units of a window, without the repeated context */
export function* splitIntoWindows(text: string, longest = defaultLength): Iterable<TextWindow> {
  for (let start = 0; start < text.length; ) {
    const end = start + longest >= text.length ? text.length : cut(text, start, longest);
    const from = whole(text, Math.max(0, start - (start === 0 ? 0 : overlap)));
    yield { start: from, text: text.slice(from, end) };
    start = end;
  }
}

function cut(text: string, start: number, longest: number): number {
  const stretch = text.slice(start, start + longest);
  let last = 0;
  for (const found of stretch.matchAll(sentence)) last = found.index + found[0].length;
  return last > longest / 2 ? start + last : whole(text, start + longest);
}

/** Moves an index out of the middle of a surrogate pair. */
function whole(text: string, place: number): number {
  const half = text.charCodeAt(place - 1);
  return half >= 0xd800 && half <= 0xdbff ? place - 1 : place;
}
