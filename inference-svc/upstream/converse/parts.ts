/**
 * Parts of messages and of tool outputs: everything but text is bytes
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html).
 */
import { type JsonObject, text } from "../json.ts";
import { type Block, textBlock } from "../messages/thread.ts";
import { cannot } from "../refused.ts";
import type { Words } from "../words.ts";
import { documentBlock, documentRefusal } from "./documents.ts";

/** Why a part cannot be said: to leave it out would change what was asked. */
export function partRefusal(part: JsonObject): string | undefined {
  switch (part.type) {
    case "input_file":
      return documentRefusal(part);
    case "input_audio":
      return cannot("audio");
    case "input_video":
      return cannot("video");
    case "encrypted_content":
      return cannot("encrypted content");
    case "input_image":
      return imageRefusal(text(part.image_url));
    default:
      return undefined;
  }
}

/** @param part one that is not refused */
export function conversePart(part: JsonObject, path: string, { lose }: Words): Block {
  switch (part.type) {
    case "input_image":
      if (part.detail !== undefined && part.detail !== null && part.detail !== "auto") {
        lose(`${path}.detail`, "the format has no words for it");
      }
      return imageBlock(text(part.image_url));
    case "input_file":
      return documentBlock(part, path, lose);
    default:
      return textBlock(text(part.text ?? part.refusal));
  }
}

const inline = /^data:image\/([\w.+-]{1,50});base64,/;
const formats: Readonly<Record<string, string>> = { gif: "gif", jpeg: "jpeg", jpg: "jpeg", png: "png", webp: "webp" };

function imageRefusal(url: string): string | undefined {
  const type = inline.exec(url)?.[1];
  if (type === undefined) return cannot("images that are not sent along as a data URL");
  return formats[type] === undefined ? cannot(`images of type ${type}`) : undefined;
}

function imageBlock(url: string): Block {
  const [head = "", type = ""] = inline.exec(url) ?? [];
  return { type: "image", image: { format: formats[type], source: { bytes: url.slice(head.length) } } };
}
