/** Decides which files may be sent as text: the plugin file-parser puts the text into the request, and the tool service:files offers it to models. */
import type { FilePart } from "../../turn/file-text.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { findFiles, findFileKind } from "./part.ts";

const engines = {
  native: "native",
  markdown: "markdown",
  "cloudflare-ai": "markdown",
  "pdf-text": "markdown",
  ocr: "ocr",
  "mistral-ocr": "ocr",
} as const;

/**
 * The PDF engine named in the request. Undefined when it names none: a PDF is then sent as a file where the endpoint
 * takes files, otherwise as text.
 */
export const findPdfEngine = ({ plugins }: TurnRequest): "native" | "markdown" | "ocr" | undefined =>
  engines[plugins?.fileParser?.pdfEngine as keyof typeof engines];

/** Whether files are parsed, as they are unless the request turns the plugin off. */
export const parsesFiles = ({ plugins }: TurnRequest): boolean => plugins?.fileParser?.enabled !== false;

/** Whether every endpoint gets PDFs as text. */
export const wantsPdfText = (request: TurnRequest): boolean =>
  ["markdown", "ocr"].includes(findPdfEngine(request) ?? "");

const readsFiles = (request: TurnRequest): boolean =>
  parsesFiles(request) || request.tools.some((tool) => tool.type === "hosted" && tool.kind === "service:files");

/** Whether a file may be replaced by its text. */
export function isParsed(file: FilePart, request: TurnRequest): boolean {
  if (!readsFiles(request)) return false;
  const kind = findFileKind(file);
  return kind !== undefined && (kind !== "pdf" || findPdfEngine(request) !== "native");
}

/**
 * Whether the plugin or the tool decides about any file of the request, including unreadable files: an endpoint without
 * support for files is then refused, and the error names the file's path.
 */
export function hasParsedFiles(request: TurnRequest): boolean {
  if (!readsFiles(request)) return false;
  for (const file of findFiles(request.input))
    if (isParsed(file, request) || findFileKind(file) === undefined) return true;
  return false;
}

/**
 * Whether every endpoint gets the file as text: the engine asks for text, or guardrails have redacted the document, so
 * its bytes must not be sent any more.
 */
export function isSentAsText(file: FilePart, request: TurnRequest): boolean {
  if (findFileKind(file) === "pdf") return wantsPdfText(request);
  const known = request.files?.get(file.part);
  return known?.isRedacted === true && known.reading.kind !== "text";
}
