/** Paragraph styles and list numbers of a Word document. */
import { parseXml } from "./xml.ts";

export interface ParagraphStyle {
  /** 1 for the highest heading. */
  readonly heading?: number;
  /** Id of the paragraph's list. */
  readonly list?: string;
  /** Level in the list, from 0. */
  readonly level?: number;
}

interface NamedStyle extends ParagraphStyle {
  readonly basedOn?: string;
}

/** Longest inheritance chain of styles. */
const maxChain = 10;

/** @param part the part `styles`; a document may lack it */
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
  /** Whether the items of a list have numbers, by the abstract list and its level. */
  readonly #numbered = new Map<string, boolean>();
  /** Ids of abstract lists, which have the form of numbers, by the ids of lists that paragraphs name (`abstractNumId` by `numId`). */
  readonly #lists = new Map<string, string>();
  /** Last number at each level of a list. */
  readonly #counts = new Map<string, number[]>();

  /** @param part the part `numbering`; a document may lack it */
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

  /** The mark of the next item. */
  mark(list: string, level: number): string {
    if (this.#numbered.get(`${this.#lists.get(list)} ${level}`) !== true) return "-";
    const counts = (this.#counts.get(list) ?? []).slice(0, level + 1);
    counts[level] = (counts[level] ?? 0) + 1;
    this.#counts.set(list, counts);
    return `${counts[level]}.`;
  }
}
