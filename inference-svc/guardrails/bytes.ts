/** The bytes of pictures, videos and sounds where texts are looked for. What stands in them is unseen, and so they must be nothing else. */
import type { Pauses } from "../turn/breath.ts";

type Json = Readonly<Record<string, unknown>>;

/** Items of which the parts are told as what they are; those of others are told as JSON, which is a text. */
const inParts: ReadonlySet<string> = new Set([
  "message",
  "function_call_output",
  "custom_tool_call_output",
  "computer_call_output",
  "agent_message",
]);

const urls: Readonly<Record<string, string>> = {
  input_image: "image_url",
  computer_screenshot: "image_url",
  input_video: "video_url",
};

/** Where an item may have bytes: the field of each object. */
export function mediaIn(item: Json): ReadonlyMap<unknown, string> {
  const fields = new Map<unknown, string>();
  if (!inParts.has(item["type"] as string)) return fields;
  for (const part of [item["content"], item["output"]].flat() as readonly (Json | string | null | undefined)[]) {
    if (typeof part !== "object" || part === null) continue;
    const type = part["type"] as string;
    const url = urls[type];
    if (url !== undefined) fields.set(part, url);
    else if (type === "input_audio") fields.set(part["input_audio"], "data");
  }
  return fields;
}

/** Types that say nothing else, without more settings: what else may stand in front of the bytes, a client can write into. */
const head =
  /^data:(?:image\/(?:png|jpe?g|gif|webp|bmp|tiff|hei[cf]|avif)|video\/(?:mp4|mpeg|mov|quicktime|webm|avi|x-msvideo|x-flv|wmv|3gpp));base64,/i;

/** UTF-16 units that are looked at at once: a millisecond or two. */
const piece = 1_048_576;
const foreign = /[^\w+/=-]/;

/** Whether a text is bytes and nothing else, as a data URL of such a type or as they are. */
export function* isMedia(text: string, isUrl: boolean): Pauses<boolean> {
  const start = isUrl ? head.exec(text)?.[0].length : 0;
  if (start === undefined) return false;
  for (let at = start; at < text.length; at += piece) {
    if (foreign.test(text.slice(at, at + piece))) return false;
    yield;
  }
  return true;
}

/** Base64 of the first bytes of PNG, JPEG, GIF, WebP, AVIF and HEIC; of the last two the first byte that differs is the length of a box. */
const imageStart = /^(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|AAAA[\w+/]{2}Z0eX[A-D])/;

export const startsAsImage = (text: string): boolean => imageStart.test(text) || head.test(text);

/** Whether a text is an image and nothing else: words alone are base64, too. */
export function* isImageBytes(text: string): Pauses<boolean> {
  return startsAsImage(text) && (yield* isMedia(text, head.test(text)));
}
