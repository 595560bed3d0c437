/** What a text is scored by: its words, and two and three of them in a row, each as the number of a bucket. */
import { keyOf } from "../prompt-injection/word-key.ts";

/** Different words may share a bucket; with some ten thousand that carry a weight few do. */
export const buckets = 32_768;

export interface Word {
  /** The word as people read it, letters mixed up or not; links and marks of conversations stand for themselves. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

const token = /https?:\/\/\S{1,200}|[\p{L}\p{N}]{1,40}|<\||###|!\[/giu;

/** The words of a text that begins at a place of a longer one. */
export function* wordsOf(text: string, origin = 0): Iterable<Word> {
  for (const { 0: word, index } of text.matchAll(token)) {
    const key = /^https?:/i.test(word) ? "://" : keyOf(word);
    yield { key, start: origin + index, end: origin + index + word.length };
  }
}

/** FNV-1a over the units of some words with a space between. */
function bucketOf(words: readonly Word[], from: number, to: number): number {
  let hash = 0x811c_9dc5;
  for (let index = from; index < to; index++) {
    const { key } = words[index] as Word;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x0100_0193);
    hash = Math.imul(hash ^ 0x20, 0x0100_0193);
  }
  return (hash ^ (hash >>> 15)) & (buckets - 1);
}

/** The buckets of some words, every one once: what is said twice counts once. */
export function bucketsOf(words: readonly Word[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (let from = 0; from < words.length; from++) {
    for (let to = from + 1; to <= Math.min(from + 3, words.length); to++) found.add(bucketOf(words, from, to));
  }
  return found;
}
