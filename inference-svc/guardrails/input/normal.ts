/** Disguises that a model reads through: escapes, other forms of letters, characters that nobody sees, letters of other scripts, gaps. */
import { lookalikes } from "./lookalikes.ts";
import { type Mapped, MappedText } from "./mapped.ts";

/** Characters that nobody sees, zero-width ones and tags among them: a word stays readable to a model between them. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu;

/** Marks on one character that are put in order with it: that takes time which grows with their square. */
const mostMarks = 32;
const overMarked = new RegExp(`\\p{M}{${mostMarks + 1}}`, "u");

/** What is normalised by itself: what is plain, escapes in a row, letters that make up a syllable, a character with its marks. */
const clusters = new RegExp(
  String.raw`[\0-\x24\x26-\x5b\x5d-\x7f]+(?!\p{M})|(?:%[0-9A-Fa-f]{2})+|(?:\\x[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|[\u1100-\u11ff]+|.\p{M}{0,${mostMarks}}`,
  "gsu",
);
const escaped = /(?:%|\\x)[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}/;
const disguised = /[^\0-\x7f]|(?:%|\\x)[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}/;

/** Undisguised, but for gaps and letters of other scripts; undefined when it is that already. */
export function plain(text: string, at: number): Mapped | undefined {
  if (!disguised.test(text)) return undefined;
  if (!escaped.test(text) && !overMarked.test(text) && withoutForm(text) === text) return undefined;
  const made = new MappedText();
  for (const { 0: cluster, index } of text.matchAll(clusters)) {
    if (escaped.test(cluster)) putUnescaped(made, cluster, at + index);
    else put(made, cluster, withoutForm(cluster), at + index);
  }
  return made.text === text ? undefined : made;
}

function put(made: MappedText, was: string, is: string, at: number): void {
  if (is === was) made.copy(was, at);
  else made.put(is, { start: at, end: at + was.length });
}

/** Escapes in a row, each character for itself. What is no UTF-8 stays as it is. */
function putUnescaped(made: MappedText, run: string, at: number): void {
  const inJson = run.startsWith("\\u");
  const text = inJson ? unescapedJson(run) : unescapedUrl(run.replaceAll("\\x", "%"));
  const byteLength = run.startsWith("%") ? 3 : 4;
  if (text === undefined) return made.copy(run, at);
  let from = at;
  for (const character of text) {
    const end = from + (inJson ? 6 * character.length : byteLength * Buffer.byteLength(character));
    made.put(withoutForm(character), { start: from, end });
    from = end;
  }
}

const withoutForm = (text: string): string => text.normalize("NFKC").replace(invisible, "");

const unescapedJson = (text: string): string =>
  text.replace(/\\u(.{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));

function unescapedUrl(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Letters that only machines read (tags): each stands for one of ASCII. */
const tags = /[\u{e0020}-\u{e007e}]+/gu;

/** The letter that a tag stands for; undefined for what is none. */
export function tagged(character: string): string | undefined {
  const point = character.codePointAt(0) as number;
  return point >= 0xe0020 && point <= 0xe007e ? String.fromCharCode(point - 0xe0000) : undefined;
}

/** With tags as the letters that they stand for; undefined when there are none. */
export function revealed(text: string, at: number): Mapped | undefined {
  const made = new MappedText();
  let from = 0;
  for (const { 0: run, index } of text.matchAll(tags)) {
    made.copy(text.slice(from, index), at + from);
    from = index;
    for (const tag of run) made.put(tagged(tag) as string, { start: at + from, end: at + (from += tag.length) });
  }
  if (from === 0) return undefined;
  made.copy(text.slice(from), at + from);
  return made;
}

/** Of four letters. */
const shortestRun = 7;
/** Four letters or more, each followed by one sign that is none. */
const spaced = /(?<![\p{L}\p{N}])\p{L}(?:[ \t._*|\-+/~]\p{L}(?![\p{L}\p{N}\p{M}])){3,}/gu;

/** With letters that look like Latin ones as these, and letters that stand apart drawn together; undefined when there are none. */
export function squeezed(before: Mapped): Mapped | undefined {
  const text = lookalikes.in(before.text);
  const runs = text.length < shortestRun ? [] : [...text.matchAll(spaced)];
  if (runs.length === 0 && text === before.text) return undefined;
  const made = new MappedText();
  let at = 0;
  const copy = (end: number, step: 1 | 2) => {
    for (; at < end; at += step) made.put(text[at] as string, before.sourceOf(at, at + 1));
    at = end;
  };
  for (const { 0: run, index } of runs) {
    copy(index, 1);
    // Letters beyond the basic plane take two units: there the run stays.
    copy(index + run.length, /[\ud800-\udfff]/.test(run) ? 1 : 2);
  }
  copy(text.length, 1);
  return made;
}
