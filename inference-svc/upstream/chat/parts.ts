/** One part of a message in the form of chat. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "../json.ts";

/** @throws Fault when chat has no form for it; another endpoint of the model may speak a dialect that has */
export function chatPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "input_image":
      return imagePart(part);
    case "input_file":
      return filePart(part);
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    case "input_video":
      return { type: "video_url", video_url: { url: part.video_url } };
    default:
      throw cannotSend(`parts of type ${String(part.type)}`);
  }
}

const cannotSend = (what: string): Fault =>
  new Fault(FaultReason.NO_ENDPOINTS, `No endpoint of this model takes ${what}`);

function imagePart(part: JsonObject): JsonObject {
  if (typeof part.image_url !== "string") throw cannotSend("images by file_id");
  // "original" is newer than chat; "auto" is its default, and some servers know no detail at all.
  const detail = part.detail === "original" ? "high" : part.detail;
  const stated = typeof detail === "string" && detail !== "auto" ? { detail } : {};
  return { type: "image_url", image_url: { url: part.image_url, ...stated } };
}

function filePart(part: JsonObject): JsonObject {
  const { file_data, file_id, filename } = part;
  if (typeof file_data === "string") return { type: "file", file: { ...(filename ? { filename } : {}), file_data } };
  if (typeof file_id === "string") return { type: "file", file: { file_id } };
  throw cannotSend("files by file_url");
}
