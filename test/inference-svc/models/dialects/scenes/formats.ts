/** All formats that are read from bytes, and the scenes that a format can have. */
import { chatAnswers, chatDetailAnswers } from "./chat.ts";
import { cohereAnswers } from "./cohere.ts";
import { converseAnswers } from "./converse.ts";
import type { AnswerFormat, WireFormat } from "./format.ts";
import { geminiAnswers } from "./gemini.ts";
import { messagesAnswers } from "./messages.ts";
import { responsesAnswers } from "./responses.ts";
import { type Piece, type Scene, sumOf } from "./scene.ts";
import type { SceneRow } from "./table.ts";

export const wireFormats: readonly WireFormat[] = [
  chatAnswers,
  chatDetailAnswers,
  responsesAnswers,
  messagesAnswers,
  geminiAnswers,
  converseAnswers,
  cohereAnswers,
];

/** Whether the arguments of all calls are JSON. */
const hasWholeCalls = ({ pieces }: Scene): boolean =>
  pieces.every((piece) => {
    if (piece.kind !== "call") return true;
    try {
      JSON.parse(sumOf(piece) || "{}");
      return true;
    } catch {
      return false;
    }
  });

export function canCarryScene(format: AnswerFormat, scene: Pick<SceneRow, "not"> & Scene): boolean {
  if (scene.not?.includes(format.name) === true) return false;
  if (scene.pieces.some(({ kind }) => !format.kinds.includes(kind))) return false;
  if (format.cites !== true && scene.pieces.some(({ cites }) => cites)) return false;
  if (format.interleaves !== true && scene.interleaved === true) return false;
  return format.cutsCalls === true || hasWholeCalls(scene);
}

/** Order of the pieces in a message of several fields. */
const ranks: Readonly<Record<Piece["kind"], number>> = {
  summary: 0,
  thought: 1,
  text: 2,
  refusal: 3,
  image: 4,
  call: 5,
};

const rankIn = ({ keepsOrder: kept }: WireFormat, { kind }: Piece): number =>
  kept === "never" ? ranks[kind] : kept === "calls last" ? Number(kind === "call") : 0;

/** The pieces in an order that a whole answer of this format can keep. */
export const inOrder = (format: WireFormat, pieces: readonly Piece[]): readonly Piece[] =>
  pieces.toSorted((a, b) => rankIn(format, a) - rankIn(format, b));

/** Whether a whole answer of this format keeps the order of the pieces. */
export const keepsOrder = (format: WireFormat, scene: Scene): boolean =>
  hasWholeCalls(scene) && inOrder(format, scene.pieces).every((piece, at) => piece === scene.pieces[at]);
