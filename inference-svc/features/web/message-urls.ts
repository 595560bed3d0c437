/** URLs in the texts of messages. */
import { parseUrl } from "../../turn/url.ts";

const inUrl = String.raw`[^\s()<>[\]"'\x60{}|\\^]`;
const path = String.raw`${inUrl}|\([^\s()<>]*\)`;
/** An IPv6 address in brackets (45 characters and a zone at most), optionally after credentials. */
const bracketed = String.raw`(?:[\w.~%:-]{0,200}@)?\[(?=[\da-f]{0,4}:)[\w:.%-]{2,80}\]`;
const url = new RegExp(String.raw`https?:\/\/(?:(${bracketed})(?:${path})*|(?:${path})+)`, "giu");
/** Punctuation at the end of a sentence, not part of the URL. */
const trailing = /[.,;:!?*_]+$/;

/** URLs in order of appearance, without duplicates. @param texts most important first */
export function urlsIn(texts: readonly string[]): readonly string[] {
  const found = new Map<string, string>();
  for (const text of texts) {
    for (const [match, host] of text.matchAll(url)) {
      const address = match.replace(trailing, "");
      // An invalid host in brackets is still listed, to inform the model that it was not read.
      const href = parseUrl(address)?.href ?? (host && address);
      if (href !== undefined && !found.has(href)) found.set(href, address);
    }
  }
  return [...found.values()];
}
