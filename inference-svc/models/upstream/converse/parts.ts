/**
 * Converts parts of messages and tool outputs for Converse: everything except text is sent as bytes
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html).
 */
import { type InlineData, imageTypeOf, readDataUrl } from "../../../content/files/data-url.ts";
import { type JsonObject, text } from "../json.ts";
import { type Block, textBlock } from "../translate/blocks/message-list.ts";
import { noteImageType } from "../translate/image-types.ts";
import { refuseMedia, unsupportedMessage } from "../translate/unsupported-inputs.ts";
import type { TranslationContext } from "../translate/context.ts";
import { documentBlock, refuseDocument } from "./documents.ts";

/** Why a part cannot be sent. It is not left out instead, because this would change the question. @returns undefined when it can be sent */
export function refuseConversePart(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_file":
      return refuseDocument(part);
    case "input_image":
      return refuseBytes("image", imageFormats, text(part.image_url));
    case "input_video":
      return refuseBytes("video", videoFormats, text(part.video_url));
    default:
      return refuseMedia(part);
  }
}

/** @param part a part that `refuseConversePart` accepts */
export function conversePart(part: JsonObject, path: string, { onDropped }: TranslationContext): Block {
  switch (part.type) {
    case "input_image":
      if (part.detail !== undefined && part.detail !== null && part.detail !== "auto") {
        onDropped(`${path}.detail`, "the format has no field for it");
      }
      noteImageType(readDataUrl(text(part.image_url)), path, onDropped);
      return bytesBlock("image", imageFormats, text(part.image_url));
    case "input_video":
      if (part.processing !== undefined && part.processing !== null) {
        onDropped(`${path}.processing`, "the format has no field for it");
      }
      return bytesBlock("video", videoFormats, text(part.video_url));
    case "input_file":
      return documentBlock(part, path, onDropped);
    default:
      return textBlock(text(part.text ?? part.refusal));
  }
}

type Formats = Readonly<Record<string, string>>;

const imageFormats: Formats = { gif: "gif", jpeg: "jpeg", jpg: "jpeg", png: "png", webp: "webp" };
const videoFormats: Formats = {
  "3gpp": "three_gp",
  mp4: "mp4",
  mpeg: "mpeg",
  quicktime: "mov",
  webm: "webm",
  "x-flv": "flv",
  "x-matroska": "mkv",
  "x-ms-wmv": "wmv",
};

function refuseBytes(medium: "image" | "video", formats: Formats, url: string): string | undefined {
  const inline = readDataUrl(url);
  if (!inline?.type.startsWith(`${medium}/`)) return unsupportedMessage(`${medium}s that are not data URLs`);
  const kind = kindOf(medium, inline);
  return formats[kind] === undefined ? unsupportedMessage(`${medium}s of type ${kind}`) : undefined;
}

function bytesBlock(medium: "image" | "video", formats: Formats, url: string): Block {
  const inline = readDataUrl(url);
  const format = inline && formats[kindOf(medium, inline)];
  return { type: medium, [medium]: { format, source: { bytes: inline?.base64 ?? "" } } };
}

/** The second half of a media type, such as `png`, which Converse uses as the format. */
const kindOf = (medium: "image" | "video", inline: InlineData): string =>
  (medium === "image" ? imageTypeOf(inline) : inline.type).slice(medium.length + 1);
