/**
 * The plugin `file-parser`: sends files as text to models without file input. It runs for each endpoint, since accepted
 * inputs differ; texts are cached, so no file is read twice.
 */
import { Fault, FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { EndpointFeature } from "../../models/ask.ts";
import { hasParsedFiles, findPdfEngine } from "../../content/files/parsing.ts";
import { FileProblem, fileFault } from "../../content/files/problem.ts";
import type { FileReader } from "../../content/files/texts.ts";
import type { Endpoint } from "../../models/routing/catalog.ts";
import type { DialectSupport } from "../../models/routing/choose/candidates.ts";
import { findFilesSentAsText, replaceFilesWithText } from "../../models/routing/choose/files.ts";
import { type FilePart, FileText } from "../../turn/file-text.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { Answer, Turn } from "../../turn/turn.ts";
import { toDeferredAnswer, withExplainedFailure } from "../../turn/answer-kinds.ts";
import type { Feature } from "../kit.ts";
import { applies, endpointApplies } from "../applies.ts";

/** Feature that rejects a PDF engine that is not installed. */
export const parserEngines: Feature = {
  id: "file-parser",
  applies: applies.parserEngines,
  layer: ({ roles }) =>
    requestLayer((request) => {
      if (roles.ocr || findPdfEngine(request) !== "ocr") return request;
      throw invalid(
        "plugins",
        "file-parser: pdf.engine ocr needs a model that this service lacks; its operator sets internal_models.ocr",
      );
    }),
};

export const fileParser: EndpointFeature = {
  id: "file-parser",
  applies: endpointApplies.fileParser,
  layer:
    (endpoint, { files: reader, dialects }) =>
    (next) =>
    (request, scope) =>
      hasParsedFiles(request)
        ? toDeferredAnswer(answerWithTexts(request, endpoint, { reader, dialects, scope }, next))
        : next(request, scope),
};

async function answerWithTexts(
  request: TurnRequest,
  endpoint: Endpoint,
  parsing: Parsing,
  next: Turn,
): Promise<Answer> {
  const { request: parsedRequest, stages, texts } = await parsed(request, endpoint, parsing);
  const { trace } = parsing.scope;
  // A repeated attempt must not add the same stage again.
  const isNew = (stage: Stage) =>
    !trace.stages.some(
      ({ name, data }) =>
        name === stage.name && data?.["path"] === stage.data?.["path"] && data?.["engine"] === stage.data?.["engine"],
    );
  trace.stages.push(...stages.filter(isNew));
  return withExplainedFailure(
    () => next(parsedRequest, parsing.scope),
    (error) => annotated(error, texts),
  );
}

/** Maximum UTF-16 units of file text added to an error. */
const maxAnnotated = 32_768;

/** Adds the texts of files to a provider's error, so the client can send them instead of the files in its next request. */
function annotated(error: unknown, texts: readonly FileText[]): unknown {
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  const isProviders = error instanceof Fault && error.origin === FaultOrigin.UPSTREAM;
  if (!isProviders || texts.length === 0 || characters > maxAnnotated) return error;
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

interface Parsing {
  readonly reader: FileReader;
  /** The dialects, which decide whether an endpoint accepts a file. */
  readonly dialects: DialectSupport;
  readonly scope: Scope;
}

interface Parsed {
  readonly request: TurnRequest;
  /** Texts sent instead of files. */
  readonly texts: readonly FileText[];
  /** Stages for the receipt, one for each text. */
  readonly stages: readonly Stage[];
}

/** Makes the request for the endpoint. @throws Fault INVALID_REQUEST for an unreadable file */
async function parsed(request: TurnRequest, endpoint: Endpoint, parsing: Parsing): Promise<Parsed> {
  if (!hasParsedFiles(request)) return { request, texts: [], stages: [] };
  const selection = findFilesSentAsText(endpoint, request, parsing.dialects);
  if ("problem" in selection) throw invalid(selection.problem.path, selection.problem.message);
  const texts = new Map<FilePart, FileText>();
  for (const file of selection.files) {
    const known = request.files?.get(file.part);
    texts.set(file, known ?? new FileText(file, await read(file, parsing)));
  }
  return {
    request: replaceFilesWithText(request, selection.files, (file) => toFileText(texts.get(file) as FileText)),
    texts: [...texts.values()],
    stages: [...texts.values()].map(stageOf),
  };
}

async function read(file: FilePart, { reader, scope }: Parsing): ReturnType<FileReader["read"]> {
  try {
    const reading = await reader.read(file, scope);
    if (reading.kind === "text" || reading.text.trim() !== "") return reading;
    if (reading.kind !== "pdf") throw new FileProblem(`the ${reading.kind.toUpperCase()} file has no text`);
  } catch (error) {
    throw fileFault(error, file.path);
  }
  throw invalid(file.path, "the PDF has no text; scanned pages are read where the operator sets internal_models.ocr");
}

/** The text of a file between markers that contain the client's file name. */
function toFileText({ file: { part }, reading, text }: FileText): string {
  const name = nameOf(part) === "" ? "" : ` ${nameOf(part)}`;
  const pages = reading.pages === undefined ? "" : `, ${reading.pages} ${reading.pages === 1 ? "page" : "pages"}`;
  const end = reading.truncated ? "\n[the rest is left out]" : "";
  return `[file${name}${pages}]\n${text}${end}\n[end of file${name}]`;
}

function stageOf({ file, reading: { kind, pages, isOcr, truncated, cached }, text }: FileText): Stage {
  const engine = isOcr ? "ocr" : "markdown";
  return {
    type: "plugin",
    name: "file-parser",
    summary: `Read: ${text.length} characters${pages === undefined ? "" : ` of ${pages} ${pages === 1 ? "page" : "pages"}`}`,
    data: {
      engine: kind === "text" ? "text" : engine,
      path: file.path,
      ...(pages !== undefined && { pages }),
      chars: text.length,
      truncated,
      cached,
    },
  };
}
