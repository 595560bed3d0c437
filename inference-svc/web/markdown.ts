/** What a page says, as Markdown: headings, paragraphs, lists, tables, code and links; no pictures, no layout. */
import { urlIn } from "../turn/url.ts";

/** What of a node is needed. */
export interface PageNode {
  /** 1: an element; 3: a text. */
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<PageNode>;
  getAttribute(name: string): string | null;
}

/** Holds no text that a reader of the page sees. */
const unread: ReadonlySet<string> = new Set(
  "SCRIPT STYLE NOSCRIPT TEMPLATE IFRAME OBJECT EMBED SVG CANVAS VIDEO AUDIO BUTTON SELECT INPUT TEXTAREA NAV TITLE DIALOG".split(
    " ",
  ),
);

/** Goes on with the text that it stands in; anything else begins a new paragraph. */
const inline: ReadonlySet<string> = new Set(
  "A ABBR ACRONYM B BDI BDO BIG BR CITE CODE DATA DEL DFN EM FONT I INS KBD LABEL MARK Q RP RT RUBY S SAMP SMALL SPAN STRIKE STRONG SUB SUP TIME TT U VAR WBR".split(
    " ",
  ),
);

const isElement = ({ nodeType }: PageNode): boolean => nodeType === 1;
const nameOf = ({ nodeName }: PageNode): string => nodeName.toUpperCase();
const childrenOf = ({ childNodes }: PageNode): readonly PageNode[] => Array.from(childNodes);

/** What nobody sees is not what a page says; some pages hide there what is meant for models. */
function isHidden(node: PageNode): boolean {
  if (unread.has(nameOf(node)) || node.getAttribute("hidden") !== null) return true;
  if (node.getAttribute("aria-hidden") === "true") return true;
  return /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![\d.])|opacity\s*:\s*0(?![\d.])/i.test(
    node.getAttribute("style") ?? "",
  );
}

/** @param base against which links are resolved */
export function markdownOf(root: PageNode, base: string): string {
  return new Writer(base).blocksOf(root).join("\n\n");
}

class Writer {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  blocksOf(node: PageNode): string[] {
    const blocks: string[] = [];
    let words = "";
    const end = () => {
      const paragraph = tidy(words);
      if (paragraph !== "") blocks.push(paragraph);
      words = "";
    };
    for (const child of childrenOf(node)) {
      if (!isElement(child)) words += wordsOf(child);
      else if (isHidden(child)) continue;
      else if (inline.has(nameOf(child))) words += this.#inline(child);
      else {
        end();
        blocks.push(...this.#block(child));
      }
    }
    end();
    return blocks;
  }

  #block(node: PageNode): string[] {
    const name = nameOf(node);
    switch (name) {
      case "H1":
      case "H2":
      case "H3":
      case "H4":
      case "H5":
      case "H6":
        return this.blocksOf(node).map((text) => `${"#".repeat(Number(name[1]))} ${text.replaceAll("\n", " ")}`);
      case "UL":
      case "OL":
        return this.#list(node, name === "OL");
      case "PRE":
        return fenced(node);
      case "BLOCKQUOTE":
        return this.blocksOf(node).map((text) => text.replaceAll(/^/gm, "> "));
      case "TABLE":
        return this.#table(node);
      default:
        return this.blocksOf(node);
    }
  }

  #list(node: PageNode, isOrdered: boolean): string[] {
    const entries = childrenOf(node)
      .filter((child) => isElement(child) && !isHidden(child))
      .map((child) => this.blocksOf(child).join("\n"))
      .filter((text) => text !== "");
    const lines = entries.map((text, index) => {
      const mark = isOrdered ? `${index + 1}. ` : "- ";
      return mark + text.replaceAll("\n", `\n${" ".repeat(mark.length)}`);
    });
    return lines.length === 0 ? [] : [lines.join("\n")];
  }

  #table(node: PageNode): string[] {
    const rows = descendants(node, "TR").map((row) =>
      childrenOf(row)
        .filter((cell) => /^T[DH]$/.test(nameOf(cell)) && !isHidden(cell))
        .map((cell) => this.blocksOf(cell).join(" ").replaceAll("\n", " ").replaceAll("|", "\\|")),
    );
    const filled = rows.filter((cells) => cells.some((cell) => cell !== ""));
    // What stands in one column was only laid out as a table.
    if (filled.every(({ length }) => length < 2)) return filled.flat();
    const [first = [], ...rest] = filled.map((cells) => `| ${cells.join(" | ")} |`);
    const columns = Math.max(...filled.map(({ length }) => length));
    return [[first, `|${" --- |".repeat(columns)}`, ...rest].join("\n")];
  }

  #inline(node: PageNode): string {
    const name = nameOf(node);
    if (name === "BR") return "\n";
    if (name === "CODE" || name === "KBD") return quoted(node.textContent ?? "");
    const words = childrenOf(node)
      .map((child) => {
        if (!isElement(child)) return wordsOf(child);
        if (isHidden(child)) return "";
        return inline.has(nameOf(child)) ? this.#inline(child) : ` ${this.#block(child).join(" ")} `;
      })
      .join("");
    return name === "A" ? this.#link(node, words) : words;
  }

  #link(node: PageNode, words: string): string {
    const target = node.getAttribute("href") ?? "";
    const url = target.startsWith("#") || tidy(words) === "" ? undefined : urlIn(target, this.#base);
    if (url === undefined) return words;
    const { protocol, href } = url;
    return protocol === "http:" || protocol === "https:" ? `[${tidy(words).replaceAll("\n", " ")}](${href})` : words;
  }
}

/** Of a text node; comments and the like say nothing. */
const wordsOf = ({ nodeType, textContent }: PageNode): string =>
  nodeType === 3 ? (textContent ?? "").replaceAll(/\s+/g, " ") : "";

const tidy = (words: string): string =>
  words
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n ?/g, "\n")
    .trim();

const quoted = (code: string): string => (code.trim() === "" ? code : `\`${code.replaceAll(/\s+/g, " ").trim()}\``);

function fenced(node: PageNode): string[] {
  const code = (node.textContent ?? "").replace(/^\n+|\s+$/g, "");
  // Longer than any fence within.
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return code === "" ? [] : [`${fence}\n${code}\n${fence}`];
}

/** Rows of a table, but not those of tables within it: what stands there is said by its cell. */
function descendants(node: PageNode, name: string): PageNode[] {
  return childrenOf(node).flatMap((child) => {
    if (!isElement(child) || isHidden(child)) return [];
    if (nameOf(child) === name) return [child];
    return nameOf(child) === "TABLE" ? [] : descendants(child, name);
  });
}
