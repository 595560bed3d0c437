/** Converts message parts to the form of chat completions. */
import type { Target } from "../dialect.ts";
import { readFileData } from "../../../content/files/data-url.ts";
import { type JsonObject, text } from "../json.ts";
import { chatVendor } from "./vendors.ts";
import type { MarkedPart } from "./cache-marks.ts";
import { commonImages, refuseImageType } from "../translate/image-types.ts";
import { unsupportedMessage } from "../translate/unsupported-inputs.ts";
import type { TranslationContext } from "../translate/context.ts";

/** Why a part cannot be sent. It is not left out instead, because this would change the question. @returns undefined when it can be sent */
export function refuseChatPart(part: JsonObject, target: Target): string | undefined {
  switch (part.type) {
    case "input_image":
      if (typeof part.image_url !== "string") return unsupportedMessage("images by file_id");
      return target.original ? refuseImageType(part.image_url, commonImages) : undefined;
    case "input_file":
      return chatVendor(target).document ? refuseDocument(part) : refuseFile(part);
    case "input_video":
      return target.original ? unsupportedMessage("video") : undefined;
    case "encrypted_content":
      return unsupportedMessage("encrypted content");
    default:
      return undefined;
  }
}

const refuseFile = ({ file_data, file_id }: JsonObject): string | undefined =>
  typeof file_data === "string" || typeof file_id === "string" ? undefined : unsupportedMessage("files by file_url");

const refuseDocument = ({ file_data, file_url, file_id }: JsonObject): string | undefined =>
  text(file_data) !== "" || text(file_url) !== "" || typeof file_id === "string"
    ? undefined
    : unsupportedMessage("files without content");

/**
 * Builds a new part, to which a cache mark may be added.
 * @param part a part that `refuseChatPart` accepts
 */
export function chatPart(part: JsonObject, path: string, { target, onDropped }: TranslationContext): MarkedPart {
  switch (part.type) {
    case "input_image":
      return imagePart(part, path, onDropped);
    case "input_file":
      return documentPart(part, target) ?? filePart(part);
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    case "input_video":
      if (part.processing !== undefined && part.processing !== null)
        onDropped(`${path}.processing`, "the format has no field for it");
      return { type: "video_url", video_url: { url: part.video_url } };
    default:
      return { type: "text", text: part.text ?? part.refusal ?? "" };
  }
}

function imagePart(part: JsonObject, path: string, onDropped: TranslationContext["onDropped"]): MarkedPart {
  // Chat completions have no "original"; "auto" is the default, and some servers know no `detail` at all.
  const detail = part.detail === "original" ? "high" : part.detail;
  if (part.detail === "original") onDropped(`${path}.detail`, "sent as high");
  const stated = typeof detail === "string" && detail !== "auto" ? { detail } : {};
  return { type: "image_url", image_url: { url: part.image_url, ...stated } };
}

/** A document in the part type of its vendor. @returns undefined for vendors that take documents as files */
function documentPart({ file_data, file_url, filename }: JsonObject, target: Target): MarkedPart | undefined {
  const { document } = chatVendor(target);
  const source = text(file_data) || text(file_url);
  if (document === undefined || source === "") return undefined;
  const named = text(filename);
  if (document === "document_url") {
    const data = readFileData(source);
    const url = data ? `data:${data.type};base64,${data.base64}` : source;
    return { type: document, document_url: url, ...(named !== "" && { document_name: named }) };
  }
  // Perplexity takes bare base64: "no data: prefix" (https://docs.perplexity.ai/guides/file-attachments).
  const url = source.replace(dataPrefix, "");
  return { type: document, file_url: { url }, ...(named !== "" && { file_name: named }) };
}

const dataPrefix = /^data:[^,]*;base64,/i;

function filePart({ file_data, file_id, filename }: JsonObject): MarkedPart {
  const named = typeof filename === "string" && filename !== "" ? { filename } : {};
  return { type: "file", file: { ...named, ...(typeof file_data === "string" ? { file_data } : { file_id }) } };
}
