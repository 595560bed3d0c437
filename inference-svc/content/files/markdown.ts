/** Converts a page of HTML to Markdown: headings, paragraphs, lists, tables, code and links, without images and layout. */
import { parseUrl } from "../../turn/url.ts";
import { toPipeTable } from "./pipe-table.ts";

/** The members of a DOM node used here. */
export interface PageNode {
  /** Type of the node: 1 for an element, 3 for a text. */
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<PageNode>;
  getAttribute(name: string): string | null;
}

/** Elements without visible text. */
const unread: ReadonlySet<string> = new Set(
  "SCRIPT STYLE NOSCRIPT TEMPLATE IFRAME OBJECT EMBED SVG CANVAS VIDEO AUDIO BUTTON SELECT INPUT TEXTAREA NAV TITLE DIALOG".split(
    " ",
  ),
);

/** Elements that continue a paragraph; any other element begins a new one. */
const inline: ReadonlySet<string> = new Set(
  "A ABBR ACRONYM B BDI BDO BIG BR CITE CODE DATA DEL DFN EM FONT I INS KBD LABEL MARK Q RP RT RUBY S SAMP SMALL SPAN STRIKE STRONG SUB SUP TIME TT U VAR WBR".split(
    " ",
  ),
);

const isElement = ({ nodeType }: PageNode): boolean => nodeType === 1;
const nameOf = ({ nodeName }: PageNode): string => nodeName.toUpperCase();
const childrenOf = ({ childNodes }: PageNode): readonly PageNode[] => Array.from(childNodes);

/** Hidden text is left out: some pages hide instructions for models there. */
function isHidden(node: PageNode): boolean {
  if (unread.has(nameOf(node)) || node.getAttribute("hidden") !== null) return true;
  if (node.getAttribute("aria-hidden") === "true") return true;
  return /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![\d.])|opacity\s*:\s*0(?![\d.])/i.test(
    node.getAttribute("style") ?? "",
  );
}

/** @param base the page's URL, against which links are resolved */
export function pageToMarkdown(root: PageNode, base: string): string {
  return new Writer(base).blocksOf(root).join("\n\n");
}

class Writer {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  blocksOf(node: PageNode): string[] {
    const blocks: string[] = [];
    let text = "";
    const end = () => {
      const paragraph = tidy(text);
      if (paragraph !== "") blocks.push(paragraph);
      text = "";
    };
    for (const child of childrenOf(node)) {
      if (!isElement(child)) text += readTextNode(child);
      else if (isHidden(child)) continue;
      else if (inline.has(nameOf(child))) text += this.#inline(child);
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
        .map((cell) => this.blocksOf(cell).join(" ")),
    );
    const filled = rows.filter((cells) => cells.some((cell) => cell !== ""));
    // A table with only one column serves for layout, and becomes plain text.
    if (filled.every(({ length }) => length < 2)) return filled.flat();
    return [toPipeTable(filled)];
  }

  #inline(node: PageNode): string {
    const name = nameOf(node);
    if (name === "BR") return "\n";
    if (name === "CODE" || name === "KBD") return quoted(node.textContent ?? "");
    const text = childrenOf(node)
      .map((child) => {
        if (!isElement(child)) return readTextNode(child);
        if (isHidden(child)) return "";
        return inline.has(nameOf(child)) ? this.#inline(child) : ` ${this.#block(child).join(" ")} `;
      })
      .join("");
    return name === "A" ? this.#link(node, text) : text;
  }

  #link(node: PageNode, text: string): string {
    const target = node.getAttribute("href") ?? "";
    const url = target.startsWith("#") || tidy(text) === "" ? undefined : parseUrl(target, this.#base);
    if (url === undefined) return text;
    const { protocol, href } = url;
    return protocol === "http:" || protocol === "https:" ? `[${tidy(text).replaceAll("\n", " ")}](${href})` : text;
  }
}

/** Comments and other nodes have no text. */
const readTextNode = ({ nodeType, textContent }: PageNode): string =>
  nodeType === 3 ? (textContent ?? "").replaceAll(/\s+/g, " ") : "";

const tidy = (text: string): string =>
  text
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n ?/g, "\n")
    .trim();

const quoted = (code: string): string => (code.trim() === "" ? code : `\`${code.replaceAll(/\s+/g, " ").trim()}\``);

function fenced(node: PageNode): string[] {
  const code = (node.textContent ?? "").replace(/^\n+|\s+$/g, "");
  // The fence must be longer than any run of backticks in the code.
  const longestRun = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longestRun + 1);
  return code === "" ? [] : [`${fence}\n${code}\n${fence}`];
}

/** Rows of a table without the rows of nested tables, which belong to a cell. */
function descendants(node: PageNode, name: string): PageNode[] {
  return childrenOf(node).flatMap((child) => {
    if (!isElement(child) || isHidden(child)) return [];
    if (nameOf(child) === name) return [child];
    return nameOf(child) === "TABLE" ? [] : descendants(child, name);
  });
}
