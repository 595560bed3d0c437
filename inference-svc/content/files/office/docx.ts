/** Reads a Word document (ECMA-376, WordprocessingML): headings, lists, tables, links, notes, comments, headers and footers. */
import type { Archive, Relation } from "./archive.ts";
import { type ParagraphStyle, Numbering, readStyles } from "./docx-styles.ts";
import { toPipeTable } from "../pipe-table.ts";
import type { UnhandledParts } from "./rest.ts";
import { parseXml } from "./xml.ts";

/** Parts other than the main text, in the order in which they follow it. */
const besides = ["footnotes", "endnotes", "comments", "header", "footer"];

export function* readDocx(archive: Archive, rest: UnhandledParts): Iterable<string> {
  const main = archive.mainPart();
  const relations = archive.relations(main);
  const partOf = (type: string) => {
    const target = relations.find((relation) => relation.type === type)?.target;
    return target === undefined ? undefined : archive.find(target);
  };
  const styles = readStyles(partOf("styles"));
  const numbering = new Numbering(partOf("numbering"));
  const shown = new Set<string>();
  const read = (path: string) => {
    const story = new Story(styles, numbering, archive.relations(path), rest);
    shown.add(path);
    parseXml(archive.part(path), story);
    return story.blocks;
  };
  yield* read(main);
  const seen = new Set<string>();
  for (const type of besides) {
    for (const { target } of relations.filter((relation) => relation.type === type)) {
      const text = archive.find(target) ? read(target).join("\n\n") : "";
      // Headers and footers of different sections are often equal, so equal texts are yielded once.
      if (!seen.has(text)) yield text;
      seen.add(text);
    }
  }
  rest.addParts(archive, shown);
}

interface Paragraph {
  text: string;
  style: ParagraphStyle;
  /** Offset of an open link's text, and its URL. */
  link: { readonly at: number; readonly url: string } | undefined;
}

interface Table {
  readonly rows: string[][];
  cell: string[];
}

/** Elements skipped because their text is a repetition or is not part of the document. */
const skipped: ReadonlySet<string> = new Set(["Fallback", "moveFrom", "del", "pPrChange", "rPrChange"]);

/** Reads one story in the sense of WordprocessingML: the body of a document, its notes, or a header. */
class Story {
  readonly blocks: string[] = [];
  readonly #styles: ReadonlyMap<string, ParagraphStyle>;
  readonly #numbering: Numbering;
  readonly #urls: ReadonlyMap<string, string>;
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: Table[] = [];
  #skipped = 0;
  #isText = false;
  /** Mark of the note to put before the next paragraph. */
  #note = "";

  readonly #rest: UnhandledParts;

  constructor(
    styles: ReadonlyMap<string, ParagraphStyle>,
    numbering: Numbering,
    relations: readonly Relation[],
    rest: UnhandledParts,
  ) {
    this.#rest = rest;
    this.#styles = styles;
    this.#numbering = numbering;
    this.#urls = new Map(relations.filter(({ isExternal }) => isExternal).map(({ id, target }) => [id, target]));
  }

  readonly open = (name: string, attributes: Readonly<Record<string, string>>): void => {
    this.#rest.open(name, attributes);
    if (skipped.has(name)) this.#skipped++;
    if (this.#skipped > 0) return;
    const paragraph = this.#paragraphs.at(-1);
    const value = attributes["w:val"] ?? "";
    switch (name) {
      case "p":
        this.#paragraphs.push({ text: "", style: {}, link: undefined });
        break;
      case "tbl":
        this.#tables.push({ rows: [], cell: [] });
        break;
      case "tr":
        this.#tables.at(-1)?.rows.push([]);
        break;
      case "footnote":
      case "endnote":
        this.#note = `[^${attributes["w:id"] ?? ""}]: `;
        break;
      case "comment":
        this.#note = `[comment of ${attributes["w:author"] ?? "unknown"}]: `;
        break;
      default:
        if (paragraph) this.#inParagraph(paragraph, name, value, attributes);
    }
  };

  readonly close = (name: string): void => {
    this.#rest.close(name);
    if (this.#skipped > 0) {
      if (skipped.has(name)) this.#skipped--;
      return;
    }
    const table = this.#tables.at(-1);
    if (name === "t") this.#isText = false;
    else if (name === "p") this.#endParagraph();
    else if (name === "hyperlink") this.#endLink();
    else if (name === "tc" && table) {
      table.rows.at(-1)?.push(table.cell.join(" "));
      table.cell = [];
    } else if (name === "tbl" && table) {
      this.#tables.pop();
      this.#add(toPipeTable(table.rows));
    }
  };

  readonly text = (text: string): void => {
    const paragraph = this.#paragraphs.at(-1);
    if (this.#isText && this.#skipped === 0 && paragraph) paragraph.text += text;
    else this.#rest.text(text);
  };

  readonly comment = (text: string): void => this.#rest.add(text);

  #inParagraph(paragraph: Paragraph, name: string, value: string, attributes: Readonly<Record<string, string>>): void {
    switch (name) {
      case "t":
        this.#isText = true;
        break;
      case "tab":
        // Tab stops in the properties of a paragraph are also called `tab`; the paragraph's text begins after its
        // properties.
        if (paragraph.text !== "") paragraph.text += "\t";
        break;
      case "br":
      case "cr":
        paragraph.text += "\n";
        break;
      case "noBreakHyphen":
        paragraph.text += "-";
        break;
      case "footnoteReference":
      case "endnoteReference":
        paragraph.text += `[^${attributes["w:id"] ?? ""}]`;
        break;
      case "hyperlink": {
        const url = this.#urls.get(attributes["r:id"] ?? "");
        if (url !== undefined) paragraph.link = { at: paragraph.text.length, url };
        break;
      }
      case "pStyle":
        paragraph.style = { ...paragraph.style, ...this.#styles.get(value) };
        break;
      case "outlineLvl":
        paragraph.style = { ...paragraph.style, heading: Number(value) + 1 };
        break;
      case "ilvl":
        paragraph.style = { ...paragraph.style, level: Number(value) };
        break;
      case "numId":
        paragraph.style = { ...paragraph.style, list: value };
        break;
      default:
    }
  }

  #endLink(): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph?.link === undefined) return;
    const { at, url } = paragraph.link;
    const text = paragraph.text.slice(at);
    if (text.trim() !== "") paragraph.text = `${paragraph.text.slice(0, at)}[${text}](${url})`;
    paragraph.link = undefined;
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    const text = paragraph?.text.trim() ?? "";
    if (paragraph === undefined || text === "") return;
    const { heading = 0, list, level = 0 } = paragraph.style;
    const note = this.#note;
    this.#note = "";
    if (heading >= 1 && heading <= 6) this.#add(`${note}${"#".repeat(heading)} ${text.replaceAll("\n", " ")}`);
    else if (list !== undefined && list !== "0")
      this.#addListItem(`${note}${this.#numbering.mark(list, level)} ${text}`, level);
    else this.#add(note + text);
  }

  #add(block: string): void {
    (this.#tables.at(-1)?.cell ?? this.blocks).push(block);
  }

  /** Items of one list form one block. */
  #addListItem(item: string, level: number): void {
    const indented = `${"  ".repeat(Math.min(level, 8))}${item}`;
    const before = this.#tables.length === 0 ? this.blocks.at(-1) : undefined;
    if (before !== undefined && /^ *(?:-|\d+\.) /.test(before))
      this.blocks[this.blocks.length - 1] = `${before}\n${indented}`;
    else this.#add(indented);
  }
}
