/** Decides whether the files of a request are sent to an endpoint unchanged or as text. No file is read for this decision. */
import type { Problem } from "@sluice/proto/lib/validation/problems.js";
import { isParsed, hasParsedFiles, isSentAsText } from "../../../content/files/parsing.ts";
import { parseFileData, findFiles, findFileKind, describeFileType, replaceParts } from "../../../content/files/part.ts";
import type { FilePart } from "../../../turn/file-text.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Endpoint } from "../catalog.ts";
import type { DialectSupport } from "./candidates.ts";

/** The files sent to an endpoint as text, or the reason why it cannot get the request. */
export type FilesSentAsText = { readonly files: readonly FilePart[] } | { readonly problem: Problem };

export function findFilesSentAsText(
  endpoint: Endpoint,
  request: TurnRequest,
  support: DialectSupport,
): FilesSentAsText {
  const all = findFiles(request.input);
  const parsed = all.filter((file) => isParsed(file, request));
  if (!endpoint.takesFiles) {
    const whole = all.find((file) => !parsed.includes(file));
    return whole ? { problem: { path: whole.path, message: why(whole) } } : asTexts(parsed);
  }
  const texts = parsed.filter((file) => isSentAsText(file, request));
  const native = asTexts(texts);
  return "problem" in native && texts.length < parsed.length ? asTexts(parsed) : native;

  function asTexts(files: readonly FilePart[]): FilesSentAsText {
    const problem = support.refusal(
      endpoint,
      replaceFilesWithText(request, files, () => placeholder),
    );
    return problem ? { problem } : { files };
  }
}

/** Stands for the text of a file in checks; every endpoint accepts it. */
const placeholder = ".";

function why(file: FilePart): string {
  if (parseFileData(file) === undefined)
    return "the model takes no files, and only what is sent in file_data or by an http URL in file_url is read here";
  if (findFileKind(file) === undefined)
    return `the model takes no files, and files of type ${describeFileType(file)} are not read here: send the text, a PDF or an office file, or ask a model that takes files`;
  return "the model takes no files, and pdf.engine is native: leave pdf.engine out, or ask a model that takes files";
}

/** Replaces files of a request by their texts. */
export function replaceFilesWithText(
  request: TurnRequest,
  files: readonly FilePart[],
  textOf: (file: FilePart) => string,
): TurnRequest {
  if (files.length === 0) return request;
  const texts = new Map(files.map((file) => [file.part, textPart(file.part, textOf(file))]));
  return { ...request, input: replaceParts(request.input, texts) };
}

/** The part for the text of a file. It keeps the cache marks of the file, because a cache may end there. */
function textPart(part: Readonly<Record<string, unknown>>, text: string): object {
  const { cache_control: mark, prompt_cache_breakpoint: breakpoint } = part;
  return {
    type: "input_text",
    text,
    ...(mark !== undefined && { cache_control: mark }),
    ...(breakpoint !== undefined && { prompt_cache_breakpoint: breakpoint }),
  };
}

/** Extends dialect support to requests with files that may be sent as text. */
export function supportFileTexts(support: DialectSupport): DialectSupport {
  /** The request as the endpoint would get it, with placeholders for the texts. @returns undefined when the endpoint cannot get it */
  const asOutgoing = (endpoint: Endpoint, request: TurnRequest): TurnRequest | undefined => {
    if (!hasParsedFiles(request)) return request;
    const found = findFilesSentAsText(endpoint, request, support);
    return "problem" in found ? undefined : replaceFilesWithText(request, found.files, () => placeholder);
  };
  return {
    refusal(endpoint, request) {
      if (!hasParsedFiles(request)) return support.refusal(endpoint, request);
      const found = findFilesSentAsText(endpoint, request, support);
      return "problem" in found ? found.problem : undefined;
    },
    droppedFields(endpoint, request) {
      const outgoing = asOutgoing(endpoint, request);
      return outgoing ? support.droppedFields(endpoint, outgoing) : [];
    },
    dropsSearch(endpoint, request) {
      const outgoing = asOutgoing(endpoint, request);
      return outgoing !== undefined && support.dropsSearch?.(endpoint, outgoing) === true;
    },
  };
}
