/** Reads the text of one PDF, page by page. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { decodeText, looksLikeText } from "../charset.ts";
import { isAllowanceExceeded, resetAllowance } from "../documents/allowance.ts";
import { documentLimits } from "../documents/limits.ts";
import type { DocumentText } from "../documents/readers.ts";
import { UnreadableDocument } from "../documents/unreadable.ts";
import { layOutPage } from "./layout.ts";
import { type PdfAnnotation, type PdfDocument, type PdfPage, type TextItem, loadPdfjs } from "./pdfjs.ts";

const pdfjs = await loadPdfjs();
const cmaps = join(dirname(createRequire(import.meta.url).resolve("pdfjs-dist/package.json")), "cmaps");

/**
 * Loads the character maps for Chinese, Japanese and Korean that a PDF names but does not embed. Anything else that
 * pdfjs tries to load is refused.
 */
class NamedEncodings {
  async fetch({ name }: { readonly name: string }): Promise<object> {
    if (!/^[\w-]{1,64}$/.test(name)) throw new Error("no such encoding");
    return { cMapData: new Uint8Array(await readFile(join(cmaps, `${name}.bcmap`))), isCompressed: true };
  }
}

/**
 * @param opened called with the number of pages before the pages are read
 * @throws UnreadableDocument; Error for a damaged PDF
 */
export async function readPdf(bytes: Uint8Array, opened: (pages: number) => void): Promise<DocumentText> {
  resetAllowance();
  const loading = pdfjs.getDocument({
    data: bytes,
    verbosity: 0,
    isEvalSupported: false,
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
    cMapUrl: "cmaps/",
    cMapPacked: true,
    CMapReaderFactory: NamedEncodings,
  });
  try {
    const document = await loading.promise;
    const { numPages: pages } = document;
    if (pages > documentLimits.pages)
      throw new UnreadableDocument(`has ${pages} pages; at most ${documentLimits.pages} are read`);
    opened(pages);
    const text = await readPages(document);
    const beside = await readUnprintedTexts(document);
    if (isAllowanceExceeded()) throw tooLarge();
    return beside === "" ? text : { ...text, beside: [beside] };
  } catch (error) {
    throw isAllowanceExceeded() ? tooLarge() : toUnreadable(error);
  } finally {
    await loading.destroy().catch(() => {});
  }
}

const tooLarge = () => new UnreadableDocument("takes more memory than one file may");

async function readPages(document: PdfDocument): Promise<DocumentText> {
  const { numPages: pages } = document;
  const sections: string[] = [];
  let left: number = documentLimits.characters;
  for (let number = 1; number <= pages && left >= 0; number++) {
    const page = await document.getPage(number);
    const text = await readPage(page);
    page.cleanup();
    if (isAllowanceExceeded()) throw tooLarge();
    if (text === "") continue;
    const titled = pages === 1 ? text : `## Page ${number}\n\n${text}`;
    left -= titled.length + 2;
    sections.push(titled);
  }
  const text = sections.join("\n\n");
  const truncated = text.length > documentLimits.characters;
  return { pages, text: truncated ? text.slice(0, documentLimits.characters) : text, truncated };
}

const properties = ["Title", "Subject", "Author", "Keywords", "Creator", "Producer"] as const;
const xmpProperties = ["dc:title", "dc:description", "dc:creator", "dc:subject"];

/** Reads the texts shown on no page: properties, bookmarks and attached texts. */
async function readUnprintedTexts(document: PdfDocument): Promise<string> {
  const { info, metadata } = await document.getMetadata();
  const { Custom: custom = {}, ...known } = info as { readonly Custom?: object } & Readonly<Record<string, unknown>>;
  const texts: unknown[] = [...properties.map((name) => known[name]), ...Object.entries(custom).flat()];
  texts.push(...xmpProperties.map((name) => metadata?.get(name)).flat());
  const open = [...((await document.getOutline()) ?? [])];
  for (let mark = open.pop(); mark; mark = open.pop()) {
    texts.push(mark.title, mark.url);
    open.push(...mark.items);
  }
  for (const { filename, description, content } of Object.values((await document.getAttachments()) ?? {})) {
    const bytes = Buffer.from(content);
    texts.push(filename, description, looksLikeText(bytes.subarray(0, attachmentHead), true) && decodeText(bytes));
  }
  return texts.filter((text): text is string => typeof text === "string" && text.trim() !== "").join("\n");
}

const attachmentHead = 1_024;

async function readPage(page: PdfPage): Promise<string> {
  const { items } = await page.getTextContent();
  const texts = items.filter((item): item is TextItem => "str" in item);
  const annotations = await page.getAnnotations();
  return [layOutPage(texts), ...annotations.flatMap(findAnnotationTexts)].filter((text) => text !== "").join("\n");
}

/** Form values, notes and link targets, which are not part of the page's text. */
const findAnnotationTexts = ({ fieldValue, titleObj, contentsObj, url }: PdfAnnotation): string[] =>
  [fieldValue, titleObj?.str, contentsObj?.str, url]
    .flat()
    .filter((text): text is string => typeof text === "string" && text !== "");

function toUnreadable(error: unknown): unknown {
  const { name } = error as { name?: unknown };
  return name === "PasswordException" ? new UnreadableDocument("is encrypted") : error;
}
