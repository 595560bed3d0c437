/** Parts of messages and of tool outputs in the words of the format. */
import type { JsonObject } from "../json.ts";
import { text } from "../json.ts";
import { cannot } from "../refused.ts";
import type { Words } from "../words.ts";
import { documentRefusal, documentSource } from "./documents.ts";
import { type Block, textBlock } from "./thread.ts";

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
      return imageSource(part) ? undefined : cannot("such images");
    default:
      return undefined;
  }
}

/** @param part one that is not refused */
export function messagesPart(part: JsonObject, path: string, { lose }: Words): Block {
  switch (part.type) {
    case "input_image":
      if (part.detail !== undefined && part.detail !== null && part.detail !== "auto") {
        lose(`${path}.detail`, "the format has no words for it");
      }
      return { type: "image", source: imageSource(part) };
    case "input_file":
      return {
        type: "document",
        source: documentSource(part),
        ...(text(part.filename) !== "" && { title: part.filename }),
      };
    default:
      return textBlock(text(part.text ?? part.refusal));
  }
}

const inline = /^data:([^;,]{1,100});base64,/;

function imageSource(part: JsonObject): JsonObject | undefined {
  const url = text(part.image_url);
  const [head = "", type] = inline.exec(url) ?? [];
  if (type !== undefined) return { type: "base64", media_type: type, data: url.slice(head.length) };
  if (/^https?:/.test(url)) return { type: "url", url };
  return text(part.file_id) === "" ? undefined : { type: "file", file_id: part.file_id };
}
