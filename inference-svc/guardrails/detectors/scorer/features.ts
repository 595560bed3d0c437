/** What a text is scored by: its words, and two and three of them in a row, each as the number of a bucket. */
import { keyOf } from "../prompt-injection/word-key.ts";

/** Different words may share a bucket; with some ten thousand that carry a weight few do. */
export const buckets = 32_768;

/** Longer than most sentences, shorter than most texts around an attempt. */
const windowWords = 40;
const strideWords = 20;

const token = /https?:\/\/\S{1,200}|[\p{L}\p{N}]{1,40}|<\||###|!\[/giu;

/** Words as people read them, letters mixed up or not; links and marks of conversations stand for themselves. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(token)) words.push(/^https?:/i.test(word) ? "://" : keyOf(word));
  return words;
}

/** FNV-1a over the units of some words with a space between. */
function bucketOf(words: readonly string[], from: number, to: number): number {
  let hash = 0x811c_9dc5;
  for (let index = from; index < to; index++) {
    const word = words[index] as string;
    for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x0100_0193);
    hash = Math.imul(hash ^ 0x20, 0x0100_0193);
  }
  return (hash ^ (hash >>> 15)) & (buckets - 1);
}

/** The buckets of each window of a text, every one once: what is said twice counts once. */
export function* windowsOf(text: string): Iterable<ReadonlySet<number>> {
  const words = wordsOf(text);
  for (let start = 0; start === 0 || start + windowWords - strideWords < words.length; start += strideWords) {
    const end = Math.min(start + windowWords, words.length);
    const found = new Set<number>();
    for (let from = start; from < end; from++) {
      for (let to = from + 1; to <= Math.min(from + 3, end); to++) found.add(bucketOf(words, from, to));
    }
    yield found;
  }
}
