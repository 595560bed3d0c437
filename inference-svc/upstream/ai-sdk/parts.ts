/** Parts of messages in the words of the interface. */
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { dataIn } from "../data-url.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { Words } from "../words.ts";

export type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** @param part one that is not refused */
export function sdkPart(part: JsonObject, path: string, { lose }: Words): UserPart {
  for (const mark of ["cache_control", "prompt_cache_breakpoint"]) {
    if (isObject(part[mark])) lose(`${path}.${mark}`, "the interface has no words for it");
  }
  const detail = text(part.detail);
  if (detail !== "" && detail !== "auto") lose(`${path}.detail`, "the interface has no words for it");
  return filePart(part) ?? { type: "text", text: text(part.text ?? part.refusal) };
}

/** @returns undefined for what is no file, or does not come along */
export function filePart(part: JsonObject): LanguageModelV4FilePart | undefined {
  if (part.type === "input_audio" && isObject(part.input_audio)) {
    const { data, format } = part.input_audio;
    return { type: "file", mediaType: `audio/${text(format)}`, data: { type: "data", data: text(data) } };
  }
  const found = dataIn(text(part.type === "input_image" ? part.image_url : part.file_data));
  if (!found || !["input_image", "input_file"].includes(text(part.type))) return undefined;
  const named = text(part.filename) === "" ? {} : { filename: text(part.filename) };
  return { type: "file", mediaType: found.type, data: { type: "data", data: found.base64 }, ...named };
}
