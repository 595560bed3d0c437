/**
 * Appends to a text that grows by small pieces. V8 joins strings only when they are read: until then each piece of a
 * few letters takes some sixty bytes, and the text of an answer ten times its length.
 */

/** Minimum length of a text whose pieces are joined, as a power of two; shorter texts are not worth the time. */
const minLengthShift = 10;
/**
 * Pieces are joined after the text has grown by an eighth to a quarter, so each character is copied some eight
 * times at most.
 */
const growthShift = 3;

/** Length from which a piece takes little more memory than its characters. */
const longPiece = 1_024;

export function append(text: string, piece: string): string {
  const whole = text + piece;
  if (piece.length > longPiece) return whole;
  const shift = Math.max(minLengthShift, 31 - growthShift - Math.clz32(whole.length));
  // Reading a character makes V8 join the pieces.
  if (whole.length >> shift !== text.length >> shift) whole.charCodeAt(0);
  return whole;
}
