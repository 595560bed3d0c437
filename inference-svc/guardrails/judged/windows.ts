/** A text in stretches that a judge reads at a time. Each begins with the end of the one before it, so that nothing is read without what leads to it. */

/** In UTF-16 units: about a thousand tokens. */
const longest = 4_000;
const overlap = 200;

/** The last end of a sentence, or line, before which enough is left to be worth a question. */
const sentence = /[.!?\u2026\u3002\uff01\uff1f]["')\]\u201d\u2019]?\s|\n/g;

export function* windowsOf(text: string): Iterable<string> {
  for (let start = 0; start < text.length; ) {
    const end = start + longest >= text.length ? text.length : cut(text, start);
    yield text.slice(Math.max(0, start - (start === 0 ? 0 : overlap)), end);
    start = end;
  }
}

function cut(text: string, start: number): number {
  const stretch = text.slice(start, start + longest);
  let last = 0;
  for (const found of stretch.matchAll(sentence)) last = found.index + found[0].length;
  if (last > longest / 2) return start + last;
  // Not between the halves of a character.
  const half = stretch.charCodeAt(longest - 1);
  return start + longest - (half >= 0xd800 && half <= 0xdbff ? 1 : 0);
}
