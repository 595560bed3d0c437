/** A text in the forms in which it is looked at: as it is, and with its disguises taken off. */
import type { Pauses } from "../../turn/breath.ts";
import { maxMarkup } from "../disguises/markup.ts";
import { encodedIn } from "./encoded.ts";
import { joined, markupOf } from "./joined.ts";
import { type Mapped, asItIs } from "./mapped.ts";
import { plain, revealed, squeezed } from "./normal.ts";
import { rotated } from "./rotated.ts";

/** One form: its pieces, in their order. It can be asked for again. */
export type View = () => Iterable<Mapped>;

/** A form of a stretch; undefined when it is as the stretch is, or when there is nothing of it. */
type Form = (stretch: string, at: number) => readonly Mapped[] | undefined;

const one = (made: Mapped | undefined): readonly Mapped[] | undefined => made && [made];

const forms: readonly { readonly of: Form; readonly keepsRest: boolean }[] = [
  { of: (stretch, at) => one(plain(stretch, at)), keepsRest: true },
  { of: (stretch, at) => one(squeezed(plain(stretch, at) ?? asItIs(stretch, at))), keepsRest: true },
  { of: (stretch, at) => one(joined(stretch, at)), keepsRest: true },
  { of: (stretch, at) => one(revealed(stretch, at)), keepsRest: true },
  { of: (stretch, at) => some([...encodedIn(stretch, at)]), keepsRest: false },
  { of: (stretch, at) => one(rotated(stretch, at, [at > 0, stretch.length >= pieceLength])), keepsRest: true },
];

const some = (made: readonly Mapped[]): readonly Mapped[] | undefined => (made.length > 0 ? made : undefined);

/** UTF-16 units that are prepared at once: some milliseconds. */
const pieceLength = 8_192;
/** From here on a text without a seam is cut where no encoded word is torn, though letters that stand apart may be. */
const longPiece = 16_384;
/** What has not even such a place is cut here. */
const longestPiece = 131_072;
/** Behind it no word is torn, nor letters that stand apart, nor a character from its marks. */
const seam = /\n|[\p{L}\p{N}]{2}[ \t](?!\p{M})|\p{Ideographic}(?=\p{Ideographic})/gu;

const needed = /[^\w+/=%\\\-\p{Surrogate}](?!\p{M})/gu;

/** The text itself first, then the forms in which there is something else; undefined where others may have their turn. */
export function* viewsOf(text: string): Generator<View | undefined, void> {
  const cuts = yield* cutsOf(text);
  const stretches = (): Iterable<readonly [stretch: string, at: number]> =>
    cuts.map((end, index) => {
      const at = cuts[index - 1] ?? 0;
      return [text.slice(at, end), at];
    });
  yield () => lazily(stretches(), (stretch, at) => [asItIs(stretch, at)]);
  for (const { of, keepsRest } of forms) {
    const rest: Form = (stretch, at) => (keepsRest ? [asItIs(stretch, at)] : []);
    if (yield* isAny(stretches(), of)) {
      yield () => lazily(stretches(), (stretch, at) => of(stretch, at) ?? rest(stretch, at) ?? []);
    }
  }
}

function* isAny(stretches: Iterable<readonly [stretch: string, at: number]>, of: Form): Pauses<boolean> {
  for (const [stretch, at] of stretches) {
    if (of(stretch, at)) return true;
    yield;
  }
  return false;
}

function* lazily(
  stretches: Iterable<readonly [stretch: string, at: number]>,
  made: (stretch: string, at: number) => readonly Mapped[],
): Iterable<Mapped> {
  for (const [stretch, at] of stretches) yield* made(stretch, at);
}

/** Where the pieces of a text end. */
function* cutsOf(text: string): Pauses<readonly number[]> {
  const cuts: number[] = [];
  for (let at = 0; text.length - at > pieceLength; at = cuts.at(-1) as number) {
    cuts.push(cutAfter(text, at));
    yield;
  }
  cuts.push(text.length);
  return cuts;
}

function cutAfter(text: string, start: number): number {
  return (
    endOf(seam, text.slice(start, start + longPiece), pieceLength, start) ??
    endOf(needed, text.slice(start, start + longestPiece), longPiece, start) ??
    Math.min(text.length, start + longestPiece)
  );
}

/** The first place for a cut that tears no markup in two. */
function endOf(cut: RegExp, stretch: string, from: number, at: number): number | undefined {
  const offset = Math.max(0, from - maxMarkup);
  const markup = markupOf(stretch.slice(offset))[Symbol.iterator]();
  let next = markup.next();
  cut.lastIndex = from - 1;
  for (let found = cut.exec(stretch); found; found = cut.exec(stretch)) {
    const end = found.index + found[0].length;
    while (next.done !== true && offset + next.value.end <= end) next = markup.next();
    if (next.done === true || offset + next.value.start >= end) return at + end;
  }
  return undefined;
}
