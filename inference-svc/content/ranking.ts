/** Full-text search that ranks texts by rare words shared with a question (BM25), and by similar spelling. */

/** Parameters of Okapi BM25, with their usual values. */
const k1 = 1.2;
const b = 0.75;
/** Constant of reciprocal rank fusion (Cormack et al., 2009): the higher it is, the less the first places differ. */
const fusion = 60;
/** Minimum share of a question's trigrams a text must contain to be similar. */
const minSimilarity = 0.3;

/** The fields of a text, each with the weight of its words. */
export type Fields = readonly (readonly [text: string, weight: number])[];

/** Splits a text into words; camelCase, snake_case and dotted names are split as well. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, " ")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

export class Index {
  readonly documents: readonly Fields[];
  #read: readonly Document[] | undefined;

  constructor(documents: readonly Fields[]) {
    this.documents = documents;
  }

  /** @returns indices of the texts that match the question, best first */
  ranked(question: string): readonly number[] {
    this.#read ??= this.documents.map(documentOf);
    const byWords = placesOf(scoresOf(this.#read, [...new Set(wordsOf(question))]));
    const byLetters = placesOf(likenessOf(this.#read, threesOf(question)));
    const scores = this.#read.map((_, index) => pointsFor(byWords.get(index)) + pointsFor(byLetters.get(index)));
    return [...placesOf(scores).keys()];
  }
}

interface Document {
  /** Weighted count of each word. */
  readonly words: ReadonlyMap<string, number>;
  /** Sum of the weighted counts. */
  readonly length: number;
  readonly threes: ReadonlySet<string>;
}

function documentOf(fields: Fields): Document {
  const words = new Map<string, number>();
  for (const [text, weight] of fields)
    for (const word of wordsOf(text)) words.set(word, (words.get(word) ?? 0) + weight);
  const length = [...words.values()].reduce((sum, count) => sum + count, 0);
  return { words, length, threes: threesOf(fields.map(([text]) => text).join(" ")) };
}

const pointsFor = (place: number | undefined): number => (place === undefined ? 0 : 1 / (fusion + place));

/** Ranks of the texts by their index: 1 is best, equal scores share a rank, and texts with a score of zero have no rank. */
function placesOf(scores: readonly number[]): ReadonlyMap<number, number> {
  const found = scores.flatMap((score, index) => (score > 0 ? [index] : []));
  const scoreOf = (index: number) => scores[index] as number;
  const sorted = found.toSorted((one, other) => scoreOf(other) - scoreOf(one));
  const places = new Map<number, number>();
  let place = 0;
  for (const [at, index] of sorted.entries()) {
    if (at === 0 || scoreOf(index) < scoreOf(sorted[at - 1] as number)) place = at + 1;
    places.set(index, place);
  }
  return places;
}

function scoresOf(documents: readonly Document[], question: readonly string[]): readonly number[] {
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length);
  const rareness = question.map((word) => {
    const having = documents.filter(({ words }) => words.has(word)).length;
    return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
  });
  return documents.map(({ words, length }) => {
    const norm = k1 * (1 - b + (b * length) / Math.max(1, mean));
    return question.reduce((score, word, at) => {
      const count = words.get(word) ?? 0;
      return score + ((rareness[at] as number) * count * (k1 + 1)) / (count + norm);
    }, 0);
  });
}

/** Share of the question's trigrams found in each text. */
function likenessOf(documents: readonly Document[], wanted: ReadonlySet<string>): readonly number[] {
  return documents.map(({ threes }) => {
    const share = [...wanted].filter((three) => threes.has(three)).length / Math.max(1, wanted.size);
    return share < minSimilarity ? 0 : share;
  });
}

function threesOf(text: string): ReadonlySet<string> {
  const threes = new Set<string>();
  for (const word of wordsOf(text)) {
    const padded = ` ${word} `;
    for (let at = 0; at + 3 <= padded.length; at++) threes.add(padded.slice(at, at + 3));
  }
  return threes;
}
