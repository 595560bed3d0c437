/** One part of a message in the form of chat. */
import type { Target } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { cannot } from "../refused.ts";
import type { Words } from "../words.ts";

/** Why a part cannot be said: to leave it out would change what was asked. */
export function partRefusal(part: JsonObject, target: Target): string | undefined {
  switch (part.type) {
    case "input_image":
      return typeof part.image_url === "string" ? undefined : cannot("images by file_id");
    case "input_file":
      return typeof part.file_data === "string" || typeof part.file_id === "string"
        ? undefined
        : cannot("files by file_url");
    case "input_video":
      return target.original ? cannot("video") : undefined;
    case "encrypted_content":
      return cannot("encrypted content");
    default:
      return undefined;
  }
}

/** @param part one that is not refused */
export function chatPart(part: JsonObject, path: string, { lose }: Words): JsonObject {
  switch (part.type) {
    case "input_image":
      return imagePart(part, path, lose);
    case "input_file":
      return filePart(part);
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    case "input_video":
      if (part.processing !== undefined && part.processing !== null)
        lose(`${path}.processing`, "the format has no words for it");
      return { type: "video_url", video_url: { url: part.video_url } };
    default:
      return { type: "text", text: part.text ?? part.refusal ?? "" };
  }
}

function imagePart(part: JsonObject, path: string, lose: Words["lose"]): JsonObject {
  // "original" is newer than chat; "auto" is its default, and some servers know no detail at all.
  const detail = part.detail === "original" ? "high" : part.detail;
  if (part.detail === "original") lose(`${path}.detail`, "sent as high");
  const stated = typeof detail === "string" && detail !== "auto" ? { detail } : {};
  return { type: "image_url", image_url: { url: part.image_url, ...stated } };
}

function filePart({ file_data, file_id, filename }: JsonObject): JsonObject {
  const named = typeof filename === "string" && filename !== "" ? { filename } : {};
  return { type: "file", file: { ...named, ...(typeof file_data === "string" ? { file_data } : { file_id }) } };
}
