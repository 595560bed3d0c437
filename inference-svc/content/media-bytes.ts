/**
 * Recognizes the bytes of images, videos and sounds, which guardrails do not scan. A field is exempt only if it holds
 * such bytes and nothing else.
 */
import type { Yielding } from "../turn/time-slice.ts";

type Json = Readonly<Record<string, unknown>>;

/** Types of items with parts that reach the model as images or audio. Parts of other items reach it as JSON text and are scanned as text. */
const itemTypesWithParts: ReadonlySet<string> = new Set([
  "message",
  "function_call_output",
  "custom_tool_call_output",
  "computer_call_output",
  "agent_message",
]);

const urlFields: Readonly<Record<string, string>> = {
  input_image: "image_url",
  computer_screenshot: "image_url",
  input_video: "video_url",
};

/** The objects within an item that may hold media bytes, each with the name of its field for them. */
export function findMediaFields(item: Json): ReadonlyMap<unknown, string> {
  const fields = new Map<unknown, string>();
  if (!itemTypesWithParts.has(item["type"] as string)) return fields;
  for (const part of [item["content"], item["output"]].flat() as readonly (Json | string | null | undefined)[]) {
    if (typeof part !== "object" || part === null) continue;
    const type = part["type"] as string;
    const url = urlFields[type];
    if (url !== undefined) fields.set(part, url);
    else if (type === "input_audio") fields.set(part["input_audio"], "data");
  }
  return fields;
}

/** Matches data URLs of media types without parameters. A parameter in front of the bytes could carry a client's text past the scan. */
const mediaUrlPrefix =
  /^data:(?:image\/(?:png|jpe?g|gif|webp|bmp|tiff|hei[cf]|avif)|video\/(?:mp4|mpeg|mov|quicktime|webm|avi|x-msvideo|x-flv|wmv|3gpp));base64,/i;

/** UTF-16 units checked between two pauses, in 1 to 2 ms. */
const unitsPerPause = 1_048_576;
const notBase64 = /[^\w+/=-]/;

/** Whether a text is nothing but base64. @param isUrl the text must be a data URL of a known media type */
export function* isMedia(text: string, isUrl: boolean): Yielding<boolean> {
  const start = isUrl ? mediaUrlPrefix.exec(text)?.[0].length : 0;
  if (start === undefined) return false;
  for (let at = start; at < text.length; at += unitsPerPause) {
    if (notBase64.test(text.slice(at, at + unitsPerPause))) return false;
    yield;
  }
  return true;
}

/**
 * Base64 of the first bytes of PNG, JPEG, GIF, WebP, AVIF and HEIC. In AVIF and HEIC the varying digits are the length
 * of the first box.
 */
const imageStart = /^(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|AAAA[\w+/]{2}Z0eX[A-D])/;

export const startsLikeImage = (text: string): boolean => imageStart.test(text) || mediaUrlPrefix.test(text);

/**
 * Whether a text is an image and nothing else. The check of the first bytes matters: a plain word is valid base64, too.
 */
export function* isImageBytes(text: string): Yielding<boolean> {
  return startsLikeImage(text) && (yield* isMedia(text, mediaUrlPrefix.test(text)));
}
