/** Decodes HTML entities as browsers do: by name, decimal or hexadecimal, also without the semicolon where browsers allow it. */
import { DecodingMode, EntityDecoder, htmlDecodeTree } from "entities/lib/decode.js";

export interface DecodedEscape {
  /** Length of the escape in UTF-16 units. */
  readonly length: number;
  readonly decoded: string;
}

/** Matches an "&" that may itself be written as an entity, at most twice. */
const escapedSign = /^&(?:amp;){0,2}/;

/**
 * Reads the entity at the start of the text. "open" means that further text decides.
 * @param text starts with "&"
 * @param goesOn whether more text may come
 */
export function readEntity(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  const sign = escapedSign.exec(text)?.[0] ?? "&";
  const inner = decode(`&${text.slice(sign.length)}`, goesOn);
  if (inner === "open") return "open";
  if (inner) return { length: sign.length - 1 + inner.length, decoded: inner.decoded };
  return sign === "&" ? undefined : { length: sign.length, decoded: "&" };
}

function decode(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  if (text === "&") return goesOn ? "open" : undefined;
  let decoded = "";
  const decoder = new EntityDecoder(htmlDecodeTree, (point) => (decoded += String.fromCodePoint(point)));
  decoder.startEntity(DecodingMode.Legacy);
  let length = decoder.write(text, 1);
  if (length === -1 && goesOn) return "open";
  if (length === -1) length = decoder.end();
  return length === 0 ? undefined : { length, decoded };
}
