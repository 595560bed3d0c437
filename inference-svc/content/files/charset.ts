/**
 * Decodes the bytes of a text. Programs disagree about a charset when its label, its byte order mark and the bytes
 * contradict each other; all texts a reader might see are returned.
 */
import { isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import type { Yielding } from "../../turn/time-slice.ts";
import { FileProblem } from "./problem.ts";

/** UTF-16 units decoded per time slice, some milliseconds of work. A multiple of four: pieces end between characters of UTF-32. */
const piece = 1_048_576;

export interface TextReading {
  readonly text: string;
  /** Texts as decoded by readers that assume another charset. */
  readonly others: readonly string[];
}

interface Mark {
  readonly charset: string;
  readonly bytes: readonly number[];
}

/** Byte order marks. The one of UTF-32 begins with the one of UTF-16, so it comes first. */
const marks: readonly Mark[] = [
  { charset: "utf-32le", bytes: [0xff, 0xfe, 0, 0] },
  { charset: "utf-32be", bytes: [0, 0, 0xfe, 0xff] },
  { charset: "utf-16le", bytes: [0xff, 0xfe] },
  { charset: "utf-16be", bytes: [0xfe, 0xff] },
  { charset: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
];

/** Decodes a text. @throws FileProblem for an unknown charset */
export function* readText(bytes: Buffer, label?: string): Yielding<TextReading> {
  const marked = marks.filter(({ bytes: mark }) => mark.every((byte, index) => bytes[index] === byte));
  const named = label === undefined ? undefined : findCharset(label, marked.length > 0);
  const body = bytes.subarray(marked.at(-1)?.bytes.length ?? 0);
  const isValid = isUtf8(body);
  const narrow = yield* readNarrow(body, isValid);
  const hasControls = yield* holdsControls(narrow);
  if (isValid && !hasControls && [named ?? "utf-8", ...marked.map(({ charset }) => charset)].every(isNarrow))
    return { text: narrow, others: [] };

  const texts: string[] = [];
  const add = (text: string | undefined): void => {
    const shown = text?.replaceAll("\0", "");
    if (shown !== undefined && !texts.includes(shown)) texts.push(shown);
  };
  for (const { charset, bytes: mark } of marked) add(yield* decode(bytes.subarray(mark.length), charset));
  const isText = isMostlyText(narrow);
  const wide = hasControls ? orderWide(body, named) : [];
  if (!(isValid && isText)) add(yield* findWide(body, wide));
  if (named !== undefined) add(yield* decode(body, named));
  // In any other charset of single bytes, such as windows-1251, this reading would only repeat the ASCII characters.
  const isOther = isValid || hasControls || marked.length > 0 || /^utf-(?:16|32)/.test(named ?? "");
  if (texts.length === 0 || (isText && isOther)) add(narrow);
  for (const charset of wide.filter((each) => each.startsWith("utf-16"))) add(yield* decode(body, charset));
  const [text = "", ...others] = texts;
  return { text, others };
}

/** Decodes the likeliest text without a pause. An unknown label is ignored. */
export function decodeText(bytes: Buffer, label?: string): string {
  const reading = readText(bytes, label !== undefined && isKnown(label) ? label : undefined);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value.text;
  }
}

function isKnown(label: string): boolean {
  try {
    return findCharset(label, false) !== undefined;
  } catch {
    return false;
  }
}

/**
 * The lowercase name of a charset among the labels of the Encoding Standard, or of UTF-32.
 * @throws FileProblem for an unknown label, unless a byte order mark tells the charset
 */
function findCharset(label: string, isMarked: boolean): string | undefined {
  const [, order] = /^(?:utf|ucs)[-_]?(?:32|4)(le|be)?$/.exec(label) ?? [];
  if (order !== undefined || /^(?:utf[-_]?32|ucs[-_]?4)$/.test(label)) return `utf-32${order ?? "le"}`;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    if (isMarked) return undefined;
    throw new FileProblem(`its charset ${label.slice(0, 40)} is not known`);
  }
}

const isNarrow = (charset: string): boolean => charset === "utf-8";

/**
 * The text by the bytes alone, without label and mark: UTF-8, or windows-1252 as in browsers for bytes without any
 * letter of UTF-8 beyond ASCII.
 */
function* readNarrow(bytes: Buffer, isValid: boolean): Yielding<string> {
  const text = (yield* decode(bytes, "utf-8")) ?? "";
  if (isValid || /[^\0-\u007f\ufffd]/.test(text)) return text;
  return (yield* decode(bytes, "windows-1252")) ?? "";
}

/** The first decoding among these charsets that has no errors and looks like text. */
function* findWide(bytes: Buffer, charsets: readonly string[]): Yielding<string | undefined> {
  for (const charset of charsets) {
    const text = yield* decode(bytes, charset, true);
    if (text !== undefined && isMostlyText(text)) return text;
  }
  return undefined;
}

/**
 * Whether the first bytes of a file look like text.
 * @param isStrict for bytes declared as a picture or a sound: requires text without any control character, in UTF-8 or UTF-16
 */
export function looksLikeText(head: Buffer, isStrict: boolean): boolean {
  if (marks.some(({ bytes }) => bytes.every((byte, index) => head[index] === byte))) return true;
  return ["utf-8", "windows-1252", "utf-16le", "utf-16be"].some((charset) => {
    if (charset === "windows-1252") return !isStrict && isMostlyText(head.toString("latin1"));
    // A head cut inside a UTF-8 character is no error of the text.
    const stream = charset === "utf-8";
    if (!stream && !hasFewHighBytes(head, charset)) return false;
    try {
      const text = new TextDecoder(charset, { fatal: true }).decode(head, { stream });
      return isStrict ? !control.test(text) : isMostlyText(text);
    } catch {
      return false;
    }
  });
}

/** Bytes read to guess the byte order. */
const headBytes = 4_096;

/** Counts the different high bytes in UTF-16. A text has few, since its letters are of few scripts. */
function countHighBytes(bytes: Buffer, charset: string): number {
  const seen = new Set<number>();
  const first = charset === "utf-16le" ? 1 : 0;
  for (let at = first; at < bytes.length && at < headBytes; at += 2) seen.add(bytes[at] as number);
  return seen.size;
}

/** Whether there are few different high bytes. A PNG of eight bytes, for example, has four characters of UTF-16 with three high bytes. */
const hasFewHighBytes = (head: Buffer, charset: string): boolean => countHighBytes(head, charset) * 6 <= head.length;

/** The possible charsets of bytes with zeros and control characters, the likeliest first. */
function orderWide(bytes: Buffer, named: string | undefined): readonly string[] {
  const isBig = countHighBytes(bytes, "utf-16be") < countHighBytes(bytes, "utf-16le");
  const guessed = isBig ? ["utf-16be", "utf-16le"] : ["utf-16le", "utf-16be"];
  const all = [...guessed, "utf-32le", "utf-32be"];
  return named !== undefined && all.includes(named) ? [named, ...all.filter((each) => each !== named)] : all;
}

/** Matches control characters never found in text. */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f]/;

function* holdsControls(text: string): Yielding<boolean> {
  for (let at = 0; at < text.length; at += piece) {
    if (control.test(text.slice(at, at + piece))) return true;
    yield;
  }
  return false;
}

/** Number of UTF-16 units examined. */
const sampled = 65_536;

/** Whether control characters are rare. In random bytes every tenth place has one; texts may have a few. */
export function isMostlyText(text: string): boolean {
  const head = text.slice(0, sampled);
  let controls = 0;
  for (const each of head) if (control.test(each)) controls++;
  return controls * 16 <= head.length;
}

/** @returns undefined for bytes invalid in the charset, if it is UTF-32 or the reading is strict */
function* decode(bytes: Buffer, charset: string, isStrict = false): Yielding<string | undefined> {
  const decoder = charset.startsWith("utf-32") ? new Utf32(charset) : new TextDecoder(charset, { fatal: isStrict });
  const pieces: string[] = [];
  try {
    for (let at = 0; at < bytes.length; at += piece) {
      pieces.push(decoder.decode(bytes.subarray(at, at + piece), { stream: true }));
      yield;
    }
    pieces.push(decoder.decode());
  } catch {
    return undefined;
  }
  return pieces.join("");
}

/** Code points converted to a string at once. */
const pointsAtOnce = 4_096;

/** A decoder for UTF-32, which the platform lacks. Throws for invalid bytes. */
class Utf32 {
  readonly #isLittle: boolean;

  constructor(charset: string) {
    this.#isLittle = charset.endsWith("le");
  }

  decode(bytes: Buffer = Buffer.alloc(0), _options?: object): string {
    const pieces: string[] = [];
    let points: number[] = [];
    for (let at = 0; at < bytes.length; at += 4) {
      const point = this.#isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
      if (point >= 0xd800 && point < 0xe000) throw new RangeError("a surrogate");
      points.push(point);
      if (points.length < pointsAtOnce) continue;
      pieces.push(String.fromCodePoint(...points));
      points = [];
    }
    return pieces.join("") + String.fromCodePoint(...points);
  }
}
