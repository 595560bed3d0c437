/** Converts parts of messages and tool outputs to the form of Gemini (https://ai.google.dev/gemini-api/docs/file-input-methods). */
import { imageTypeOf, readFileData } from "../../../content/files/data-url.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { googleImages, noteImageType, refuseImageType } from "../translate/image-types.ts";
import { unsupportedMessage } from "../translate/unsupported-inputs.ts";

/** Why a part cannot be sent. It is not left out instead, because this would change the question. @returns undefined when it can be sent */
export function refuseGeminiPart(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_image":
      if (!mediaPart(part.image_url)) return unsupportedMessage("images by file_id");
      return refuseImageType(part.image_url, googleImages);
    case "input_video":
      return mediaPart(part.video_url)
        ? undefined
        : unsupportedMessage("videos that are neither data URLs nor http URLs");
    case "input_file":
      return fileRefusal(part);
    case "encrypted_content":
      return unsupportedMessage("encrypted content");
    default:
      return undefined;
  }
}

function fileRefusal(part: JsonObject): string | undefined {
  if (filePart(part)) return undefined;
  if (text(part.file_data) === "") return unsupportedMessage("files by file_id");
  return unsupportedMessage(`files of type ${readFileData(text(part.file_data))?.type ?? "unknown"}`);
}

/** @param part a part that `refuseGeminiPart` accepts */
export function geminiPart(part: JsonObject, path: string, { onDropped }: TranslationContext): JsonObject {
  for (const mark of ["cache_control", "prompt_cache_breakpoint"]) {
    if (isObject(part[mark])) onDropped(`${path}.${mark}`, "the provider caches by itself");
  }
  for (const field of ["detail", "filename", "processing"]) {
    const value = text(part[field]);
    if (value !== "" && value !== "auto") onDropped(`${path}.${field}`, "the format has no field for it");
  }
  switch (part.type) {
    case "input_image":
      noteImageType(readFileData(text(part.image_url)), path, onDropped);
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

/** @param url a data URL, or a URL Google fetches */
function mediaPart(url: unknown): JsonObject | undefined {
  return toInlineData(text(url)) ?? toFileData(text(url));
}

function filePart(part: JsonObject): JsonObject | undefined {
  const data = text(part.file_data);
  return data === "" ? toFileData(text(part.file_url)) : toInlineData(data);
}

function audioPart(audio: unknown): JsonObject {
  const { data, format }: JsonObject = isObject(audio) ? audio : {};
  return { inlineData: { mimeType: `audio/${text(format)}`, data } };
}

/**
 * Matches media types models can read (https://ai.google.dev/gemini-api/docs/document-processing); other text formats
 * are sent as plain text.
 */
const readable = /^(application\/pdf|(text|image|audio|video)\/[\w.+-]+)$/;
const textual = /^application\/(json|xml|yaml|x-yaml)$/;

/** The data in a data URL. @returns undefined for any other text, and for media types that no model reads */
export function toInlineData(text: string): JsonObject | undefined {
  const found = readFileData(text);
  if (found === undefined) return undefined;
  const { type, base64: data } = found;
  const mimeType = textual.test(type) ? "text/plain" : type.startsWith("image/") ? imageTypeOf(found) : type;
  return readable.test(mimeType) ? { inlineData: { mimeType, data } } : undefined;
}

/** Media types by file extension; Google detects the type when none is sent. */
const types: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  html: "text/html",
  csv: "text/csv",
  md: "text/markdown",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  heic: "image/heic",
  mp3: "audio/mp3",
  wav: "audio/wav",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
};

/** @returns undefined for a URL Google does not fetch */
export function toFileData(url: string): JsonObject | undefined {
  if (!/^(https?|gs):\/\//.test(url)) return undefined;
  const ending = /\.(\w{1,5})(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? "";
  const mimeType = types[ending];
  return { fileData: { ...(mimeType !== undefined && { mimeType }), fileUri: url } };
}
