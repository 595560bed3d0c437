/** Derives the forms of a text that rules scan: the raw text, and the text with disguises removed. */
import type { Yielding } from "../../../turn/time-slice.ts";
import { maxMarkupLength } from "../disguises/markup.ts";
import { decodeWordsIn } from "./encoded.ts";
import { stripMarkup, findMarkup } from "./strip-markup.ts";
import { type MappedPiece, mapUnchanged } from "./mapped-text.ts";
import { normalize, decodeTags, foldConfusables } from "./normalize.ts";
import { decodeRot13 } from "./rot13.ts";

/** A form of a text as a sequence of pieces; every call derives it anew. */
export type TextForm = () => Iterable<MappedPiece>;

/** Derives a form of a piece; undefined when the form equals the piece, or is empty. */
type FormBuilder = (piece: string, at: number) => readonly MappedPiece[] | undefined;

const toList = (mapped: MappedPiece | undefined): readonly MappedPiece[] | undefined => mapped && [mapped];

const forms: readonly { readonly of: FormBuilder; readonly keepsRest: boolean }[] = [
  { of: (piece, at) => toList(normalize(piece, at)), keepsRest: true },
  { of: (piece, at) => toList(foldConfusables(normalize(piece, at) ?? mapUnchanged(piece, at))), keepsRest: true },
  { of: (piece, at) => toList(stripMarkup(piece, at)), keepsRest: true },
  { of: (piece, at) => toList(decodeTags(piece, at)), keepsRest: true },
  { of: (piece, at) => some([...decodeWordsIn(piece, at)]), keepsRest: false },
  { of: (piece, at) => toList(decodeRot13(piece, at, [at > 0, piece.length >= pieceLength])), keepsRest: true },
];

const some = (mapped: readonly MappedPiece[]): readonly MappedPiece[] | undefined =>
  mapped.length > 0 ? mapped : undefined;

/** UTF-16 units of a text derived between two pauses, in some milliseconds. */
const pieceLength = 8_192;
/** Minimum UTF-16 units after which a text without a seam is cut between two encoded words, even within a spelled-out word. */
const longPieceLength = 16_384;
/** Maximum UTF-16 units of a piece: a text with neither kind of place to cut is cut here. */
const maxPieceLength = 131_072;
/** Matches places where a cut splits no word, no spelled-out word and no character from its marks. */
const seam = /\n|[\p{L}\p{N}]{2}[ \t](?!\p{M})|\p{Ideographic}(?=\p{Ideographic})/gu;

const lastResortSeam = /[^\w+/=%\\\-\p{Surrogate}](?!\p{M})/gu;

/** Yields the raw text, then every form that differs from it; undefined where the caller may pause. */
export function* buildForms(text: string): Generator<TextForm | undefined, void> {
  const cuts = yield* findCuts(text);
  const pieces = (): Iterable<readonly [piece: string, at: number]> =>
    cuts.map((end, index) => {
      const at = cuts[index - 1] ?? 0;
      return [text.slice(at, end), at];
    });
  yield () => lazily(pieces(), (piece, at) => [mapUnchanged(piece, at)]);
  for (const { of, keepsRest } of forms) {
    const rest: FormBuilder = (piece, at) => (keepsRest ? [mapUnchanged(piece, at)] : []);
    if (yield* hasForm(pieces(), of)) {
      yield () => lazily(pieces(), (piece, at) => of(piece, at) ?? rest(piece, at) ?? []);
    }
  }
}

function* hasForm(pieces: Iterable<readonly [piece: string, at: number]>, of: FormBuilder): Yielding<boolean> {
  for (const [piece, at] of pieces) {
    if (of(piece, at)) return true;
    yield;
  }
  return false;
}

function* lazily(
  pieces: Iterable<readonly [piece: string, at: number]>,
  derive: (piece: string, at: number) => readonly MappedPiece[],
): Iterable<MappedPiece> {
  for (const [piece, at] of pieces) yield* derive(piece, at);
}

/** Finds the places where a text is cut into pieces. */
function* findCuts(text: string): Yielding<readonly number[]> {
  const cuts: number[] = [];
  for (let at = 0; text.length - at > pieceLength; at = cuts.at(-1) as number) {
    cuts.push(findCutAfter(text, at));
    yield;
  }
  cuts.push(text.length);
  return cuts;
}

function findCutAfter(text: string, start: number): number {
  return (
    findCut(seam, text.slice(start, start + longPieceLength), pieceLength, start) ??
    findCut(lastResortSeam, text.slice(start, start + maxPieceLength), longPieceLength, start) ??
    Math.min(text.length, start + maxPieceLength)
  );
}

/** The first place outside of markup where the pattern allows a cut. */
function findCut(cut: RegExp, piece: string, from: number, at: number): number | undefined {
  const offset = Math.max(0, from - maxMarkupLength);
  const markup = findMarkup(piece.slice(offset))[Symbol.iterator]();
  let next = markup.next();
  cut.lastIndex = from - 1;
  for (let found = cut.exec(piece); found; found = cut.exec(piece)) {
    const end = found.index + found[0].length;
    while (next.done !== true && offset + next.value.end <= end) next = markup.next();
    if (next.done === true || offset + next.value.start >= end) return at + end;
  }
  return undefined;
}
