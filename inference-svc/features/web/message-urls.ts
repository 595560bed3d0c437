/** Finds URLs in the texts of messages. */
import { parseUrl } from "../../turn/url.ts";

const inUrl = String.raw`[^\s()<>[\]"'\x60{}|\\^]`;
const path = String.raw`${inUrl}|\([^\s()<>]*\)`;
/** Pattern for an IPv6 address in brackets (at most 45 characters and a zone), which credentials may precede. */
const bracketed = String.raw`(?:[\w.~%:-]{0,200}@)?\[(?=[\da-f]{0,4}:)[\w:.%-]{2,80}\]`;
const url = new RegExp(String.raw`https?:\/\/(?:(${bracketed})(?:${path})*|(?:${path})+)`, "giu");
/** Matches punctuation at the end of a sentence, which is not part of the URL. */
const trailing = /[.,;:!?*_]+$/;

/** URLs in order of appearance, without duplicates. @param texts texts to search, most important first */
export function urlsIn(texts: readonly string[]): readonly string[] {
  const found = new Map<string, string>();
  for (const text of texts) {
    for (const [match, host] of text.matchAll(url)) {
      const address = match.replace(trailing, "");
      // An invalid host in brackets is listed nevertheless, so the model learns that the page was not read.
      const href = parseUrl(address)?.href ?? (host && address);
      if (href !== undefined && !found.has(href)) found.set(href, address);
    }
  }
  return [...found.values()];
}
