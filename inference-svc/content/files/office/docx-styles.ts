/** Paragraph styles and list numbers of a Word document. */
import { parseXml } from "./xml.ts";

export interface ParagraphStyle {
  /** Level of a heading, 1 for the highest. */
  readonly heading?: number;
  /** Id of the paragraph's list. */
  readonly list?: string;
  /** Level of the paragraph in its list, from 0. */
  readonly level?: number;
}

interface NamedStyle extends ParagraphStyle {
  readonly basedOn?: string;
}

/** Maximum length of an inheritance chain of styles. */
const maxChain = 10;

/** @param part the archive's part `styles`, which a document may lack */
export function readStyles(part: Uint8Array | undefined): ReadonlyMap<string, ParagraphStyle> {
  const own = part ? readOwnStyles(part) : new Map<string, NamedStyle>();
  const resolve = (style: NamedStyle, left: number): ParagraphStyle => {
    const base = style.basedOn !== undefined && left > 0 ? own.get(style.basedOn) : undefined;
    return { ...(base && resolve(base, left - 1)), ...style };
  };
  return new Map([...own].map(([id, style]) => [id, resolve(style, maxChain)]));
}

function readOwnStyles(part: Uint8Array): Map<string, NamedStyle> {
  const styles = new Map<string, NamedStyle>();
  let id = "";
  const note = (fields: NamedStyle) => styles.set(id, { ...styles.get(id), ...fields });
  parseXml(part, {
    open(name, attributes) {
      const value = attributes["w:val"] ?? "";
      if (name === "style") id = attributes["w:styleId"] ?? "";
      else if (name === "name") {
        const heading = /^heading (\d)$/i.exec(value)?.[1] ?? (/^title$/i.test(value) ? "1" : undefined);
        note(heading === undefined ? {} : { heading: Number(heading) });
      } else if (name === "basedOn") note({ basedOn: value });
      else if (name === "outlineLvl") note({ heading: Number(value) + 1 });
      else if (name === "numId") note({ list: value });
      else if (name === "ilvl") note({ level: Number(value) });
    },
  });
  return styles;
}

export class Numbering {
  /** Whether the items of a list are numbered, by the abstract list and the level. */
  readonly #numbered = new Map<string, boolean>();
  /** Ids of abstract lists (`abstractNumId`), which define the numbering, by the list ids in paragraphs (`numId`). */
  readonly #lists = new Map<string, string>();
  /** Last number at each level of a list. */
  readonly #counts = new Map<string, number[]>();

  /** @param part the archive's part `numbering`, which a document may lack */
  constructor(part: Uint8Array | undefined) {
    let abstract = "";
    let list = "";
    let level = "";
    if (part === undefined) return;
    parseXml(part, {
      open: (name, attributes) => {
        const value = attributes["w:val"] ?? "";
        if (name === "abstractNum") abstract = attributes["w:abstractNumId"] ?? "";
        else if (name === "lvl") level = attributes["w:ilvl"] ?? "";
        else if (name === "numFmt") this.#numbered.set(`${abstract} ${level}`, value !== "bullet" && value !== "none");
        else if (name === "num") list = attributes["w:numId"] ?? "";
        else if (name === "abstractNumId") this.#lists.set(list, value);
      },
    });
  }

  /** The mark of a list's next item: its number or a dash. */
  mark(list: string, level: number): string {
    if (this.#numbered.get(`${this.#lists.get(list)} ${level}`) !== true) return "-";
    const counts = (this.#counts.get(list) ?? []).slice(0, level + 1);
    counts[level] = (counts[level] ?? 0) + 1;
    this.#counts.set(list, counts);
    return `${counts[level]}.`;
  }
}
