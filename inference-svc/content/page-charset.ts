/** Decodes a page in the charset named by the server, the page or its first bytes. */

import { TextDecoder } from "node:util";

/** Bytes searched for a page's declaration of its charset (https://html.spec.whatwg.org/#charset). */
const headBytes = 1_024;

/** @param type the response's content-type header */
export function decodePage(bytes: Uint8Array, type: string): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, headBytes)).toString("latin1");
  const inHead =
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(head) ?? /^<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/.exec(head);
  const label = markedOf(bytes) ?? /;\s*charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? inHead?.[1] ?? "utf-8";
  return decoderOf(label).decode(bytes);
}

/** The charset of the page's byte order mark, which takes precedence over declared charsets. */
function markedOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

/** Removes lone surrogates and NUL, which some JSON parsers and providers reject. */
export const removeInvalidCharacters = (text: string): string =>
  text.replaceAll(/\p{Surrogate}/gu, "\ufffd").replaceAll("\0", "");
