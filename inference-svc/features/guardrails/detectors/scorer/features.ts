/** Features of the prompt injection scorer: single words, pairs and triples, each hashed to a bucket. */
import { buildWordKey } from "../prompt-injection/word-key.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Number of hash buckets. Only some ten thousand have a weight, so few features collide. */
export const bucketCount = 32_768;

export interface ScorerWord {
  /** Key of the word, equal for its scrambled spellings; links and chat markup have keys of their own kind. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

const token = /https?:\/\/\S{1,200}|[\p{L}\p{N}]{1,40}|<\||###|!\[/giu;

/** Splits a text into words. @param origin place of the text within a longer text */
export function* splitWords(text: string, origin = 0): Iterable<ScorerWord> {
  for (const { 0: word, index } of text.matchAll(token)) {
    const key = /^https?:/i.test(word) ? "://" : buildWordKey(word);
    yield { key, start: origin + index, end: origin + index + word.length };
  }
}

/** FNV-1a hash of consecutive words, each followed by a space. */
function hashWords(words: readonly ScorerWord[], from: number, to: number): number {
  let hash = 0x811c_9dc5;
  for (let index = from; index < to; index++) {
    const { key } = words[index] as ScorerWord;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ unitAt(key, i), 0x0100_0193);
    hash = Math.imul(hash ^ 0x20, 0x0100_0193);
  }
  return (hash ^ (hash >>> 15)) & (bucketCount - 1);
}

/** The buckets of all words, pairs and triples, without duplicates. */
export function findBuckets(words: readonly ScorerWord[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (let from = 0; from < words.length; from++) {
    for (let to = from + 1; to <= Math.min(from + 3, words.length); to++) found.add(hashWords(words, from, to));
  }
  return found;
}
