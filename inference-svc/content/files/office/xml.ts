/** Reads XML as a stream of events. Entities declared in a document are not expanded, and nothing external is loaded. */
import { Parser } from "htmlparser2";
import { UnreadableDocument } from "../documents/unreadable.ts";

export interface XmlHandlers {
  /** @param name the element's name without its namespace prefix; attribute names keep theirs */
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close?: (name: string) => void;
  readonly text?: (text: string) => void;
  readonly comment?: (text: string) => void;
}

/** Bytes decoded at a time: a part is never in memory as one string. */
const pieceBytes = 1_048_576;

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

/** Maximum depth of elements, more than any real file has: the parser takes quadratic time for elements within elements. */
const maxDepth = 1_000;

/** Parses XML. @throws Error for too deeply nested elements */
export function parseXml(bytes: Uint8Array, { open, close, text, comment }: XmlHandlers): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > maxDepth) throw new Error("nested too deeply");
        open?.(localName(name), attributes);
      },
      onclosetag(name) {
        depth--;
        close?.(localName(name));
      },
      ontext: (data) => text?.(data),
      oncomment: (data) => comment?.(data),
    },
    { xmlMode: true },
  );
  const decoder = new TextDecoder(encodingOf(bytes));
  for (let at = 0; at < bytes.length; at += pieceBytes)
    parser.write(decoder.decode(bytes.subarray(at, at + pieceBytes), { stream: true }));
  parser.end(decoder.decode());
}

/**
 * The encoding of an XML part: UTF-8, or UTF-16 if the byte order mark or first character says so (XML 1.0, appendix
 * F).
 * @throws UnreadableDocument if another encoding is declared, because other readers would follow the declaration
 */
export function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return "utf-16be";
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, headBytes)).toString("latin1");
  const [, declared = "utf-8"] = /^[^<]{0,3}<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)/.exec(head) ?? [];
  if (!/^(?:utf-?8|us-ascii)$/i.test(declared))
    throw new UnreadableDocument("has a part that is not in UTF-8 or UTF-16");
  return "utf-8";
}

/** Bytes searched for the XML declaration. It stands at the start; space within it may make it longer than the usual 60 bytes. */
const headBytes = 1_024;
