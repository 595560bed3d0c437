/**
 * Texts of an office file or book missing from its Markdown: deleted text, descriptions of pictures, headers of pages, properties, charts. Receivers
 * of the file may read them, so guardrails scan them.
 */
import { decodeText } from "../charset.ts";
import { documentLimits } from "../documents/limits.ts";
import type { Archive } from "./archive.ts";
import { type XmlHandlers, parseXml } from "./xml.ts";

/** Attributes with texts written by people, in lower case. */
const prose: ReadonlySet<string> = new Set([
  "alt",
  "author",
  "caption",
  "codename",
  "descr",
  "description",
  "displaytext",
  "error",
  "errortitle",
  "formatcode",
  "initials",
  "instr",
  "keywords",
  "manager",
  "name",
  "oddheader",
  "prompt",
  "prompttitle",
  "string",
  "subject",
  "summary",
  "title",
  "tooltip",
]);

/** Elements with a text for people in the attribute `val`; in other elements it is a keyword of the format. */
const withValue: ReadonlySet<string> = new Set([
  "alias",
  "default",
  "docPart",
  "docVar",
  "helpText",
  "listEntry",
  "listItem",
  "lvlText",
  "statusText",
  "tag",
]);

/** Matches addresses of namespaces and schemas, which every file contains. */
const schema = /^(?:https?:\/\/(?:schemas\.|www\.w3\.org\/|purl\.o|www\.idpf\.org\/)|urn:)/;

/** Elements within a paragraph: text before and after their tags is one text. */
const inline: ReadonlySet<string> = new Set([
  "t",
  "r",
  "delText",
  "instrText",
  "a",
  "b",
  "em",
  "i",
  "s",
  "span",
  "strong",
  "u",
]);
/** Elements whose end also ends a text, whatever they contain. */
const blocks: ReadonlySet<string> = new Set(["p", "si", "comment", "tc", "tr", "row", "sp", "li", "div"]);

/** Matches parts with names of styles and fonts in their attributes. */
const styling = /(?:^|\/)(?:styles\w*|fontTable|theme\d*|webSettings|tableStyles|slideMaster\d+|slideLayout\d+)\.xml$/;

export class UnhandledParts implements XmlHandlers {
  readonly #pieces: string[] = [];
  /** Texts of attributes and comments, kept apart because they may stand between two halves of a word. */
  readonly #asides: string[] = [];
  #length = 0;
  #endsLine = true;
  /** Whether the open element had a text of its own. */
  #hasText = false;

  /** One text or none. If the document was truncated, it exceeds the limit of a text, so it is never taken for complete. */
  get texts(): readonly string[] {
    const text = [this.#pieces.join(""), ...this.#asides].join("\n");
    return text.trim() === "" ? [] : [text];
  }

  readonly open = (name: string, attributes: Readonly<Record<string, string>>): void => {
    for (const attribute in attributes) {
      const value = attributes[attribute] as string;
      if (isProse(name, attribute.slice(attribute.indexOf(":") + 1).toLowerCase(), value)) this.add(value);
    }
  };

  readonly text = (text: string): void => {
    const isBlank = text.trim() === "";
    if (!(isBlank && this.#endsLine)) this.#put(text);
    this.#hasText = !isBlank;
  };

  readonly close = (name: string): void => {
    if (blocks.has(name) || (this.#hasText && !inline.has(name))) this.#endLine();
    this.#hasText = false;
  };

  /** Adds a text that is not joined to its neighbours. */
  readonly add = (text: string): void => {
    if (text.trim() !== "" && this.#takes(text)) this.#asides.push(text);
  };

  readonly comment = this.add;

  /** Reads all parts except those already passed to `open`, `text` and `close` by a reader. */
  addParts(archive: Archive, shown: ReadonlySet<string>): void {
    for (const [path, part] of archive.parts()) {
      if (shown.has(path)) continue;
      this.#endLine();
      if (!/\.(?:xml|rels|vml|xhtml|ncx|opf|svg)$/i.test(path)) this.add(decodeText(Buffer.from(part)));
      else parseXml(part, styling.test(path) ? { text: this.text, close: this.close, comment: this.comment } : this);
    }
  }

  #endLine(): void {
    if (!this.#endsLine) this.#put("\n");
  }

  #put(text: string): void {
    if (text === "" || !this.#takes(text)) return;
    this.#endsLine = text.endsWith("\n");
    this.#pieces.push(text);
  }

  #takes(text: string): boolean {
    if (this.#length > documentLimits.characters) return false;
    this.#length += text.length;
    return true;
  }
}

function isProse(element: string, attribute: string, value: string): boolean {
  if (attribute.startsWith("xmlns") || schema.test(value)) return false;
  if (prose.has(attribute) || (attribute === "val" && withValue.has(element))) return true;
  // Takes texts with words, and addresses outside of the file. Other values are numbers, ids and keywords of the
  // format.
  return (/\s/.test(value.trim()) && /\p{L}/u.test(value)) || value.includes("://") || value.startsWith("mailto:");
}
