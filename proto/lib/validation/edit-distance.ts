/** Number of letters to add, remove, replace or swap with a neighbour to turn one word into another. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] as number;
}

/** The known word with the smallest edit distance; undefined when it exceeds `maxEdits` for all. */
export function nearestWord(word: string, known: readonly string[], maxEdits: number): string | undefined {
  let best: string | undefined;
  let bestEdits = maxEdits + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestEdits) continue;
    const edits = editDistance(word, candidate);
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  return best;
}
