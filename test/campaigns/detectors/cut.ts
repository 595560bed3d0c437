import type { Random } from "../../support/random.ts";

/** Cuts a text into random pieces, mostly of one to four UTF-16 units and sometimes longer. */
export function splitRandomly(text: string, chance: Random): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const size = chance.chance(0.1) ? 1 + chance.below(60) : 1 + chance.below(4);
    pieces.push(text.slice(start, start + size));
    start += size;
  }
  return pieces;
}
