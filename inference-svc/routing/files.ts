/** Whether the files of a request go to an endpoint as they are, or their text goes in their place. Nothing is read to decide that. */
import type { Problem } from "@sluice/proto/runtime/validation/problems.js";
import { isParsed, isParsing, isTold } from "../files/parsed.ts";
import { enclosedIn, filesIn, kindOf, typeOf } from "../files/part.ts";
import type { FilePart } from "../turn/file-text.ts";
import type { InputItem, TurnRequest } from "../turn/request.ts";
import type { Endpoint } from "./catalog.ts";
import type { Telling } from "./candidates.ts";

/** The files whose text an endpoint is told, or why it cannot be told the request. */
export type Told = { readonly files: readonly FilePart[] } | { readonly problem: Problem };

export function toldFiles(endpoint: Endpoint, request: TurnRequest, telling: Telling): Told {
  const all = [...filesIn(request.input)];
  const parsed = all.filter((file) => isParsed(file, request));
  if (!endpoint.takesFiles) {
    const whole = all.find((file) => !parsed.includes(file));
    return whole ? { problem: { path: whole.path, message: why(whole) } } : asTexts(parsed);
  }
  const told = parsed.filter((file) => isTold(file, request));
  const native = asTexts(told);
  return "problem" in native && told.length < parsed.length ? asTexts(parsed) : native;

  function asTexts(files: readonly FilePart[]): Told {
    const problem = telling.refusal(
      endpoint,
      withTexts(request, files, () => placeholder),
    );
    return problem ? { problem } : { files };
  }
}

/** Says nothing that an endpoint could not be told. */
const placeholder = ".";

function why(file: FilePart): string {
  if (enclosedIn(file) === undefined)
    return "the model takes no files, and only what is sent in file_data is read here: send the file in file_data, or ask a model that takes files";
  if (kindOf(file) === undefined)
    return `the model takes no files, and files of type ${typeOf(file)} are not read here: send the text or a PDF, or ask a model that takes files`;
  return "the model takes no files, and pdf.engine is native: leave pdf.engine out, or ask a model that takes files";
}

/** The request with texts in the place of files. */
export function withTexts(
  request: TurnRequest,
  files: readonly FilePart[],
  textOf: (file: FilePart) => string,
): TurnRequest {
  if (files.length === 0) return request;
  const texts = new Map(files.map((file) => [file.part, textPart(file.part, textOf(file))]));
  const replaced = (value: unknown): unknown =>
    Array.isArray(value) ? value.map((part: unknown) => texts.get(part as Record<string, unknown>) ?? part) : value;
  const told = (item: InputItem): InputItem => {
    if (!holdsAny(item, texts)) return item;
    return {
      ...item,
      ...("content" in item && { content: replaced(item["content"]) }),
      ...("output" in item && { output: replaced(item["output"]) }),
    };
  };
  return { ...request, input: request.input.map(told) };
}

const holdsAny = (item: InputItem, texts: ReadonlyMap<unknown, object>): boolean =>
  [item["content"], item["output"]].some((value) => Array.isArray(value) && value.some((part) => texts.has(part)));

/** A cache may end where the file did. */
function textPart(part: Readonly<Record<string, unknown>>, text: string): object {
  const { cache_control: mark, prompt_cache_breakpoint: breakpoint } = part;
  return {
    type: "input_text",
    text,
    ...(mark !== undefined && { cache_control: mark }),
    ...(breakpoint !== undefined && { prompt_cache_breakpoint: breakpoint }),
  };
}

/** What endpoints can be told where files may be told as texts. */
export function tellingTexts(telling: Telling): Telling {
  /** The request as the endpoint would get it, but for the texts themselves; undefined when it cannot be told. */
  const asTold = (endpoint: Endpoint, request: TurnRequest): TurnRequest | undefined => {
    if (!isParsing(request)) return request;
    const told = toldFiles(endpoint, request, telling);
    return "problem" in told ? undefined : withTexts(request, told.files, () => placeholder);
  };
  return {
    refusal(endpoint, request) {
      if (!isParsing(request)) return telling.refusal(endpoint, request);
      const told = toldFiles(endpoint, request, telling);
      return "problem" in told ? told.problem : undefined;
    },
    losses(endpoint, request) {
      const told = asTold(endpoint, request);
      return told ? telling.losses(endpoint, told) : [];
    },
    dropsSearch(endpoint, request) {
      const told = asTold(endpoint, request);
      return told !== undefined && telling.dropsSearch?.(endpoint, told) === true;
    },
  };
}
