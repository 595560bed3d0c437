/** Converts parts of messages and tool outputs to the form of the Messages API. */
import { decodeText } from "../../../content/files/charset.ts";
import { imageTypeOf, readDataUrl, readFileData } from "../../../content/files/data-url.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, text } from "../json.ts";
import { type Block, textBlock } from "../translate/blocks/message-list.ts";
import type { TranslationContext } from "../translate/context.ts";
import { commonImages, noteImageType, refuseImageType } from "../translate/image-types.ts";
import { refuseMedia, unsupportedMessage } from "../translate/unsupported-inputs.ts";

/** Why a part cannot be sent. It is not left out instead, because this would change the question. @returns undefined when it can be sent */
export function refuseMessagesPart(part: JsonObject, target: Target): string | undefined {
  switch (part.type) {
    case "input_file":
      return refuseDocument(part);
    case "input_image":
      if (!imageSource(part)) return unsupportedMessage("images that are neither data URLs nor http URLs");
      return target.original ? refuseImageType(part.image_url, commonImages) : undefined;
    default:
      return refuseMedia(part);
  }
}

/** @param part a part that `refuseMessagesPart` accepts */
export function messagesPart(part: JsonObject, path: string, { onDropped }: TranslationContext): Block {
  switch (part.type) {
    case "input_image":
      if (part.detail !== undefined && part.detail !== null && part.detail !== "auto") {
        onDropped(`${path}.detail`, "the format has no field for it");
      }
      noteImageType(readDataUrl(text(part.image_url)), path, onDropped);
      return { type: "image", source: imageSource(part) };
    case "input_file":
      return {
        type: "document",
        source: documentSource(part),
        ...(text(part.filename) !== "" && { title: part.filename }),
      };
    default:
      return textBlock(text(part.text ?? part.refusal));
  }
}

function imageSource(part: JsonObject): JsonObject | undefined {
  const url = text(part.image_url);
  const inline = readDataUrl(url);
  if (inline) return { type: "base64", media_type: imageTypeOf(inline), data: inline.base64 };
  if (/^https?:/.test(url)) return { type: "url", url };
  return text(part.file_id) === "" ? undefined : { type: "file", file_id: part.file_id };
}

const textual = /^(text\/|application\/(json|xml|yaml|x-yaml)$)/;

/**
 * Why a document cannot be sent. The API takes PDF in base64 or by URL, and text
 * (https://platform.claude.com/docs/en/build-with-claude/pdf-support).
 */
function refuseDocument(part: JsonObject): string | undefined {
  if (text(part.file_data) === "" && text(part.file_id) !== "") return undefined;
  const type = readFileData(text(part.file_data))?.type ?? "";
  const isTaken = type === "application/pdf" || textual.test(type) || /^https?:/.test(text(part.file_url));
  return isTaken ? undefined : unsupportedMessage(`files of type ${type || "unknown"}`);
}

/** @param part a part that `refuseMessagesPart` accepts */
function documentSource(part: JsonObject): JsonObject {
  const inline = readFileData(text(part.file_data));
  if (inline === undefined) {
    const url = text(part.file_url);
    return url === "" ? { type: "file", file_id: part.file_id } : { type: "url", url };
  }
  const { type, base64, charset } = inline;
  return type === "application/pdf"
    ? { type: "base64", media_type: type, data: base64 }
    : { type: "text", media_type: "text/plain", data: decodeText(Buffer.from(base64, "base64"), charset) };
}
