/**
 * The plugin `file-parser`: tells the text of files to models that take none. Done for each endpoint that is asked, since only the endpoint says
 * what it takes; whoever has read a file before remembers it.
 */
import { Fault, FaultOrigin } from "@sluice/proto/runtime/fault.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { isParsing, pdfEngineOf } from "../../files/parsed.ts";
import { fileFault } from "../../files/problem.ts";
import type { FileReader } from "../../files/texts.ts";
import type { Endpoint } from "../../routing/catalog.ts";
import type { Telling } from "../../routing/candidates.ts";
import { toldFiles, withTexts } from "../../routing/files.ts";
import { type FilePart, FileText } from "../../turn/file-text.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Layer, type Turn, onRequest } from "../../turn/turn.ts";

export interface FileParserParts {
  readonly reader: FileReader;
  /** What endpoints can be told of requests whose files are files. */
  readonly telling: Telling;
}

/** @throws Fault INVALID_REQUEST for an engine that the house does not have */
export const parserEngines: Layer = onRequest((request) => {
  if (pdfEngineOf(request) !== "ocr") return request;
  throw invalid("plugins", "file-parser: pdf.engine ocr is not available, scanned pages are not read; use markdown");
});

export const fileParser =
  (endpoint: Endpoint, parts: FileParserParts, next: Turn): Turn =>
  (request, scope) =>
    isParsing(request) ? asked(request, endpoint, { ...parts, scope }, next) : next(request, scope);

async function asked(request: TurnRequest, endpoint: Endpoint, parsing: Parsing, next: Turn): ReturnType<Turn> {
  const { request: told, stages, texts } = await parsed(request, endpoint, parsing);
  const { trace } = parsing.scope;
  // Whoever is asked twice is told the same twice.
  const isNew = (stage: Stage) =>
    !trace.stages.some(({ name, data }) => name === stage.name && data?.["path"] === stage.data?.["path"]);
  trace.stages.push(...stages.filter(isNew));
  try {
    return await next(told, parsing.scope);
  } catch (error) {
    throw annotated(error, texts);
  }
}

/** UTF-16 units of what was read that an error may bring along. */
const mostAnnotated = 32_768;

/** What a provider failed with, and what was read for it: whoever asks again can send that. */
function annotated(error: unknown, texts: readonly FileText[]): unknown {
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  const isProviders = error instanceof Fault && error.origin === FaultOrigin.UPSTREAM;
  if (!isProviders || texts.length === 0 || characters > mostAnnotated) return error;
  return error.with({
    metadata: { error_type: error.errorType, ...error.metadata, file_annotations: texts.map(annotationOf) },
  });
}

const annotationOf = ({ file: { part }, text }: FileText): object => ({
  type: "file",
  file: { ...(nameOf(part) !== "" && { name: nameOf(part) }), content: [{ type: "text", text }] },
});

const nameOf = ({ filename }: Readonly<Record<string, unknown>>): string =>
  typeof filename === "string" ? filename : "";

export interface Parsing extends FileParserParts {
  readonly scope: Scope;
}

export interface Parsed {
  readonly request: TurnRequest;
  /** Of the files whose texts it is told. */
  readonly texts: readonly FileText[];
  /** One for each of those. */
  readonly stages: readonly Stage[];
}

/** The request as the endpoint is told it. @throws Fault INVALID_REQUEST for a file that cannot be read */
export async function parsed(request: TurnRequest, endpoint: Endpoint, parsing: Parsing): Promise<Parsed> {
  if (!isParsing(request)) return { request, texts: [], stages: [] };
  const told = toldFiles(endpoint, request, parsing.telling);
  if ("problem" in told) throw invalid(told.problem.path, told.problem.message);
  const texts = new Map<FilePart, FileText>();
  for (const file of told.files) {
    const known = request.files?.get(file.part);
    texts.set(file, known ?? new FileText(file, await read(file, parsing)));
  }
  return {
    request: withTexts(request, told.files, (file) => saidOf(texts.get(file) as FileText)),
    texts: [...texts.values()],
    stages: [...texts.values()].map(stageOf),
  };
}

async function read(file: FilePart, { reader, scope }: Parsing): ReturnType<FileReader["read"]> {
  try {
    const reading = await reader.read(file, scope);
    if (reading.kind !== "pdf" || reading.text.trim() !== "") return reading;
  } catch (error) {
    throw fileFault(error, file.path);
  }
  throw invalid(file.path, "the PDF has no text; scanned pages are not read here");
}

/** With what it is called, as the client says. */
function saidOf({ file: { part }, reading, text }: FileText): string {
  const name = nameOf(part) === "" ? "" : ` ${nameOf(part)}`;
  const pages = reading.pages === undefined ? "" : `, ${reading.pages} ${reading.pages === 1 ? "page" : "pages"}`;
  const end = reading.truncated ? "\n[the rest is left out]" : "";
  return `[file${name}${pages}]\n${text}${end}\n[end of file${name}]`;
}

function stageOf({ file, reading: { kind, pages, truncated, cached }, text }: FileText): Stage {
  return {
    type: "plugin",
    name: "file-parser",
    summary: `Read: ${text.length} characters${pages === undefined ? "" : ` of ${pages} ${pages === 1 ? "page" : "pages"}`}`,
    data: {
      engine: kind === "pdf" ? "markdown" : "text",
      path: file.path,
      ...(pages !== undefined && { pages }),
      chars: text.length,
      truncated,
      cached,
    },
  };
}
