/** Parts of messages and of tool outputs in the words of the format (https://ai.google.dev/gemini-api/docs/file-input-methods). */
import { dataIn } from "../data-url.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { cannot } from "../refused.ts";
import type { Words } from "../words.ts";
import { fileData, inlineData } from "./media.ts";

/** Why a part cannot be said: to leave it out would change what was asked. */
export function partRefusal(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_image":
      return mediaPart(part.image_url) ? undefined : cannot("images by file_id");
    case "input_video":
      return mediaPart(part.video_url) ? undefined : cannot("such videos");
    case "input_file":
      return fileRefusal(part);
    case "encrypted_content":
      return cannot("encrypted content");
    default:
      return undefined;
  }
}

function fileRefusal(part: JsonObject): string | undefined {
  if (filePart(part)) return undefined;
  if (text(part.file_data) === "") return cannot("files by file_id");
  return cannot(`files of type ${dataIn(text(part.file_data))?.type ?? "unknown"}`);
}

/** @param part one that is not refused */
export function geminiPart(part: JsonObject, path: string, { lose }: Words): JsonObject {
  for (const mark of ["cache_control", "prompt_cache_breakpoint"]) {
    if (isObject(part[mark])) lose(`${path}.${mark}`, "the provider caches as it sees fit");
  }
  for (const field of ["detail", "filename", "processing"]) {
    const said = text(part[field]);
    if (said !== "" && said !== "auto") lose(`${path}.${field}`, "the format has no words for it");
  }
  switch (part.type) {
    case "input_image":
      return mediaPart(part.image_url) ?? {};
    case "input_video":
      return mediaPart(part.video_url) ?? {};
    case "input_file":
      return filePart(part) ?? {};
    case "input_audio":
      return audioPart(part.input_audio);
    default:
      return { text: text(part.text ?? part.refusal) };
  }
}

export const isText = (part: JsonObject): boolean => typeof part.text === "string";

/** @param url a data URL, or where the provider finds it */
function mediaPart(url: unknown): JsonObject | undefined {
  return inlineData(text(url)) ?? fileData(text(url));
}

function filePart(part: JsonObject): JsonObject | undefined {
  const data = text(part.file_data);
  return data === "" ? fileData(text(part.file_url)) : inlineData(data);
}

function audioPart(audio: unknown): JsonObject {
  const { data, format }: JsonObject = isObject(audio) ? audio : {};
  return { inlineData: { mimeType: `audio/${text(format)}`, data } };
}
