/** The single document or picture of a request, in the form of Mistral's OCR API. */
import { readFileData } from "../../../content/files/data-url.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { Refusal } from "../dialect.ts";
import { type JsonObject, text } from "../json.ts";
import { findSpecialInputs } from "../translate/special-inputs.ts";
import {
  noHostedTools,
  refuseInput,
  refuseMedia,
  refuseTools,
  unsupportedMessage,
} from "../translate/unsupported-inputs.ts";

/** Maximum bytes of a document, as documented for the API. */
const maxBytes = 50_000_000;

const media: ReadonlySet<unknown> = new Set(["input_file", "input_image"]);
const isFetchable = (url: string): boolean => /^https?:\/\//i.test(url);

/** The parts of an input that can be read, in order. */
const findDocuments = (input: readonly InputItem[]): readonly JsonObject[] =>
  findSpecialInputs(input).flatMap(({ part }) => (part !== undefined && media.has(part.type) ? [part] : []));

export function refuseOcrRequest(request: TurnRequest): Refusal | undefined {
  const refusal = refuseTools(request, noHostedTools) ?? refuseInput(request.input, refusePart);
  if (refusal) return refusal;
  if (request.tools.length > 0) return { path: "tools", message: unsupportedMessage("tools") };
  if (request.textFormat !== undefined && request.textFormat.type !== "text")
    return { path: "text.format", message: unsupportedMessage("a JSON format") };
  return findDocuments(request.input).length === 1
    ? undefined
    : { path: "input", message: "the model reads exactly one file or picture of a request" };
}

function refusePart(part: JsonObject): string | undefined {
  if (!media.has(part.type)) return refuseMedia(part);
  const url = urlOf(part);
  if (url === undefined)
    return unsupportedMessage(part.type === "input_image" ? "images by file_id" : "files by file_id");
  // Four characters of base64 hold three bytes.
  return url.length > (maxBytes * 4) / 3 ? unsupportedMessage("files of more than 50 MB") : undefined;
}

/** A data URL, or a URL Mistral fetches. @returns undefined for a part with neither */
function urlOf({ type, image_url, file_data, file_url }: JsonObject): string | undefined {
  if (type === "input_image") {
    const url = text(image_url);
    return isFetchable(url) || /^data:image\//i.test(url) ? url : undefined;
  }
  const data = readFileData(text(file_data));
  if (data) return `data:${data.type};base64,${data.base64}`;
  return isFetchable(text(file_url)) ? text(file_url) : undefined;
}

/** @param input input of a request that `refuseOcrRequest` accepts */
export function findDocument(input: readonly InputItem[]): JsonObject {
  const [part = {}] = findDocuments(input);
  return part.type === "input_image"
    ? { type: "image_url", image_url: urlOf(part) }
    : { type: "document_url", document_url: urlOf(part) };
}
