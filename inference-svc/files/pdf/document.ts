/** The text of one PDF, page by page. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isAllowanceExceeded, resetAllowance } from "./allowance.ts";
import { markdownOf } from "./layout.ts";
import { pdfLimits } from "./limits.ts";
import { type PdfAnnotation, type PdfDocument, type PdfPage, type TextItem, loadPdfjs } from "./pdfjs.ts";
import type { PdfText } from "./readers.ts";

/** The message completes "the file": it is fit to show. */
export class Unreadable extends Error {}

const pdfjs = await loadPdfjs();
const cmaps = join(dirname(createRequire(import.meta.url).resolve("pdfjs-dist/package.json")), "cmaps");

/** Encodings of Chinese, Japanese and Korean that a PDF names and does not bring along. Nothing else is loaded, from nowhere. */
class NamedEncodings {
  async fetch({ name }: { readonly name: string }): Promise<object> {
    if (!/^[\w-]{1,64}$/.test(name)) throw new Error("no such encoding");
    return { cMapData: new Uint8Array(await readFile(join(cmaps, `${name}.bcmap`))), isCompressed: true };
  }
}

/**
 * @param opened told how many pages there are, before they are read
 * @throws Unreadable
 */
export async function textOfPdf(bytes: Uint8Array, opened: (pages: number) => void): Promise<PdfText> {
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
    if (pages > pdfLimits.pages) throw new Unreadable(`has ${pages} pages; at most ${pdfLimits.pages} are read`);
    opened(pages);
    return await read(document);
  } catch (error) {
    throw isAllowanceExceeded() ? tooLarge() : refusalOf(error);
  } finally {
    await loading.destroy().catch(() => {});
  }
}

const tooLarge = () => new Unreadable("takes more memory than one file may");

async function read(document: PdfDocument): Promise<PdfText> {
  const { numPages: pages } = document;
  const said: string[] = [];
  let left: number = pdfLimits.characters;
  for (let number = 1; number <= pages && left >= 0; number++) {
    const page = await document.getPage(number);
    const text = await textOfPage(page);
    page.cleanup();
    if (isAllowanceExceeded()) throw tooLarge();
    if (text === "") continue;
    const titled = pages === 1 ? text : `## Page ${number}\n\n${text}`;
    left -= titled.length + 2;
    said.push(titled);
  }
  const text = said.join("\n\n");
  const truncated = text.length > pdfLimits.characters;
  return { pages, text: truncated ? text.slice(0, pdfLimits.characters) : text, truncated };
}

async function textOfPage(page: PdfPage): Promise<string> {
  const { items } = await page.getTextContent();
  const texts = items.filter((item): item is TextItem => "str" in item);
  const annotations = await page.getAnnotations();
  return [markdownOf(texts), ...annotations.flatMap(textsOf)].filter((text) => text !== "").join("\n");
}

/** What was filled in, noted or linked to stands in no text of the page. */
const textsOf = ({ fieldValue, contentsObj, url }: PdfAnnotation): string[] =>
  [fieldValue, contentsObj?.str, url].flat().filter((text): text is string => typeof text === "string" && text !== "");

function refusalOf(error: unknown): Unreadable {
  if (error instanceof Unreadable) return error;
  const { name } = error as { name?: unknown };
  if (name === "PasswordException") return new Unreadable("is encrypted");
  return new Unreadable("is damaged, or no PDF");
}
