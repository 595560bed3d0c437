/** Converts parts of messages and tool outputs for Cohere: text, and images of users (https://docs.cohere.com/docs/image-inputs). */
import { type JsonObject, isObject, text } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { refuseMedia, unsupportedMessage } from "../translate/unsupported-inputs.ts";

const sendable = /^(https?:\/\/|data:image\/)/i;

/** Why a part cannot be sent. It is not left out instead, because this would change the question. @returns undefined when it can be sent */
export function refuseCoherePart(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_image":
      return sendable.test(text(part.image_url))
        ? undefined
        : unsupportedMessage("images that are neither data URLs nor http URLs");
    case "input_file":
      return unsupportedMessage("files");
    default:
      return refuseMedia(part);
  }
}

/** @param part a part that `refuseCoherePart` accepts */
export function coherePart(part: JsonObject, path: string, { onDropped }: TranslationContext): JsonObject {
  for (const mark of ["cache_control", "prompt_cache_breakpoint"]) {
    if (isObject(part[mark])) onDropped(`${path}.${mark}`, "the provider caches by itself");
  }
  if (part.type !== "input_image") return { type: "text", text: text(part.text ?? part.refusal) };
  const detail = text(part.detail) === "original" ? "high" : text(part.detail) || undefined;
  if (part.detail === "original") onDropped(`${path}.detail`, "sent as high");
  return { type: "image_url", image_url: { url: part.image_url, detail } };
}

export const isTextPart = ({ type }: JsonObject): boolean => type === "text";
