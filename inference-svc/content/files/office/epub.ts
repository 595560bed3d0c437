/** Reads a book in EPUB: its chapters in the order of the spine, as Markdown. */
import { parseHTML } from "linkedom";
import { type PageNode, pageToMarkdown } from "../markdown.ts";
import { type Archive, resolvePath } from "./archive.ts";
import type { UnhandledParts } from "./rest.ts";
import { encodingOf, parseXml } from "./xml.ts";

export function* readEpub(archive: Archive, rest: UnhandledParts): Iterable<string> {
  const book = packagePath(archive.part("META-INF/container.xml"));
  for (const chapter of chapterPaths(book, archive.part(book))) {
    const part = archive.find(chapter);
    if (part === undefined) continue;
    // linkedom takes an empty element of XHTML (`<a/>`) for an unclosed one.
    const source = new TextDecoder(encodingOf(part)).decode(part).replaceAll(/<(\w+)([^<>]*)\/>/g, "<$1$2></$1>");
    const { document } = parseHTML(source) as unknown as { readonly document: { readonly body: PageNode | null } };
    if (document.body) yield pageToMarkdown(document.body, "");
  }
  // Chapters are included: their Markdown lacks attributes and hidden texts.
  rest.addParts(archive, new Set());
}

function packagePath(container: Uint8Array): string {
  let path = "";
  parseXml(container, {
    open(name, attributes) {
      if (name === "rootfile" && path === "") path = attributes["full-path"] ?? "";
    },
  });
  return path;
}

function chapterPaths(path: string, part: Uint8Array): string[] {
  const manifest = new Map<string, string>();
  const spine: string[] = [];
  parseXml(part, {
    open(name, { id = "", href = "", idref = "" }) {
      if (name === "item") manifest.set(id, resolvePath(path, decodeURI(href)));
      else if (name === "itemref") spine.push(idref);
    },
  });
  return spine.flatMap((id) => manifest.get(id) ?? []);
}
