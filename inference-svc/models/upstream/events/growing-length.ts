/** Counts the code points of a text that comes in pieces. Sources are placed by code points, and a count of the whole text for each takes quadratic time. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";

const isFirstHalf = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isSecondHalf = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

export class GrowingLength {
  /** Code points so far. */
  points = 0;
  #endsInHalf = false;

  add(piece: string): void {
    if (piece === "") return;
    this.points += codePointLength(piece);
    // The two halves of a character were counted by themselves.
    if (this.#endsInHalf && isSecondHalf(piece.charCodeAt(0))) this.points--;
    this.#endsInHalf = isFirstHalf(piece.charCodeAt(piece.length - 1));
  }
}
