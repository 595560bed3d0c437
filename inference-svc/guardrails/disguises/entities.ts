/** Entities of HTML as browsers read them in a text: by name, decimal or hexadecimal, and without a semicolon where browsers take them so. */
import { DecodingMode, EntityDecoder, htmlDecodeTree } from "entities/lib/decode.js";

export interface Escape {
  /** UTF-16 units that it takes. */
  readonly length: number;
  readonly said: string;
}

/** An "&" that is itself written as an entity, at most twice. */
const escapedSign = /^&(?:amp;){0,2}/;

/**
 * The entity at the beginning of the text; "open" when it depends on what comes next.
 * @param text begins with "&"
 * @param goesOn whether more of it may come
 */
export function entityIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  const sign = escapedSign.exec(text)?.[0] ?? "&";
  const inner = decode(`&${text.slice(sign.length)}`, goesOn);
  if (inner === "open") return "open";
  if (inner) return { length: sign.length - 1 + inner.length, said: inner.said };
  return sign === "&" ? undefined : { length: sign.length, said: "&" };
}

function decode(text: string, goesOn: boolean): Escape | "open" | undefined {
  if (text === "&") return goesOn ? "open" : undefined;
  let said = "";
  const decoder = new EntityDecoder(htmlDecodeTree, (point) => (said += String.fromCodePoint(point)));
  decoder.startEntity(DecodingMode.Legacy);
  let length = decoder.write(text, 1);
  if (length === -1 && goesOn) return "open";
  if (length === -1) length = decoder.end();
  return length === 0 ? undefined : { length, said };
}
