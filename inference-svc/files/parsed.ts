/** What the plugin file-parser asks for: which files may be told as texts. */
import type { FilePart } from "../turn/file-text.ts";
import type { TurnRequest } from "../turn/request.ts";
import { filesIn, kindOf } from "./part.ts";

const engines = {
  native: "native",
  markdown: "markdown",
  "cloudflare-ai": "markdown",
  "pdf-text": "markdown",
  ocr: "ocr",
  "mistral-ocr": "ocr",
} as const;

/** How PDFs are wanted; undefined: as files where they are taken, else as text. */
export const pdfEngineOf = ({ plugins }: TurnRequest): "native" | "markdown" | "ocr" | undefined =>
  engines[plugins?.fileParser?.pdfEngine as keyof typeof engines];

/** Whether the text of a file may be told in its place. */
export function isParsed(file: FilePart, request: TurnRequest): boolean {
  if (request.plugins?.fileParser === undefined) return false;
  const kind = kindOf(file);
  return kind === "text" || (kind === "pdf" && pdfEngineOf(request) !== "native");
}

/**
 * Whether the plugin decides about any file: its text may be told, or it is of a kind that cannot be read, which an endpoint without files is
 * refused for with the path of the file.
 */
export function isParsing(request: TurnRequest): boolean {
  if (request.plugins?.fileParser === undefined) return false;
  for (const file of filesIn(request.input)) if (isParsed(file, request) || kindOf(file) === undefined) return true;
  return false;
}

/** Whether no endpoint may get the file itself: text is wanted, or of a PDF only that is left. */
export function isTold(file: FilePart, request: TurnRequest): boolean {
  if (kindOf(file) === "pdf") return pdfEngineOf(request) === "markdown";
  const known = request.files?.get(file.part);
  return known?.isRedacted === true && known.reading.kind === "pdf";
}
