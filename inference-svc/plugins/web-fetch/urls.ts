/** URLs in what somebody says. */
import { urlIn } from "../../turn/url.ts";

const url = /https?:\/\/(?:[^\s()<>[\]"'`{}|\\^]|\([^\s()<>]*\))+/giu;
/** Ends a sentence, not a URL. */
const trailing = /[.,;:!?*_]+$/;

/** Each once, in the order in which they come. @param texts in the order in which they count */
export function urlsIn(texts: readonly string[]): readonly string[] {
  const found = new Map<string, string>();
  for (const text of texts) {
    for (const [match] of text.matchAll(url)) {
      const said = match.replace(trailing, "");
      const href = urlIn(said)?.href;
      if (href !== undefined && !found.has(href)) found.set(href, said);
    }
  }
  return [...found.values()];
}
