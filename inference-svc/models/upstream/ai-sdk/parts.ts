/** Converts message parts to the types of the AI SDK. */
import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { readFileData } from "../../../content/files/data-url.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";

export type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** @param part a part that `refuseSdk` accepts */
export function sdkPart(part: JsonObject, path: string, { onDropped }: TranslationContext): UserPart {
  for (const mark of ["cache_control", "prompt_cache_breakpoint"]) {
    if (isObject(part[mark])) onDropped(`${path}.${mark}`, "the interface of the AI SDK has no field for it");
  }
  const detail = text(part.detail);
  if (detail !== "" && detail !== "auto")
    onDropped(`${path}.detail`, "the interface of the AI SDK has no field for it");
  return filePart(part) ?? { type: "text", text: text(part.text ?? part.refusal) };
}

/** The file of a part. @returns undefined for a part other than a file, and for a file given by URL or id */
export function filePart(part: JsonObject): LanguageModelV4FilePart | undefined {
  if (part.type === "input_audio" && isObject(part.input_audio)) {
    const { data, format } = part.input_audio;
    return { type: "file", mediaType: `audio/${text(format)}`, data: { type: "data", data: text(data) } };
  }
  const found = readFileData(text(part.type === "input_image" ? part.image_url : part.file_data));
  if (!found || !["input_image", "input_file"].includes(text(part.type))) return undefined;
  const named = text(part.filename) === "" ? {} : { filename: text(part.filename) };
  return { type: "file", mediaType: found.type, data: { type: "data", data: found.base64 }, ...named };
}
