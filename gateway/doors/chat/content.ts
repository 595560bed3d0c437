/** Converts message parts to parts of input items. */
import { toJsonString } from "../../edge/turns/json.ts";
import type { Content, ContentPart } from "./message.ts";

/** Content of a user message or of a tool's result, as the parts of an input item. */
export function contentJson(content: Content): string {
  if (typeof content === "string") return toJsonString(content);
  let json = "[";
  for (let index = 0; index < content.length; index++) json += (index > 0 ? "," : "") + partJson(content[index]!);
  return `${json}]`;
}

/** Content of an assistant message in the history. @param refusal the message's refusal, written after its text */
export function answerContentJson(content: Content, refusal: string): string {
  if (typeof content === "string") {
    if (refusal === "") return toJsonString(content);
    const text = content === "" ? "" : `${answerPartJson(content, "")},`;
    return `[${text}${refusalJson(refusal, "")}]`;
  }
  let json = "";
  for (const part of content) {
    if (part.type === "thinking") continue;
    const written =
      part.type === "refusal"
        ? refusalJson(part["refusal"] as string, marks(part))
        : answerPartJson(part["text"] as string, marks(part));
    json += (json === "" ? "" : ",") + written;
  }
  if (refusal !== "") json += (json === "" ? "" : ",") + refusalJson(refusal, "");
  return `[${json}]`;
}

const answerPartJson = (text: string, marked: string): string =>
  `{"type":"output_text","text":${toJsonString(text)}${marked}}`;

const refusalJson = (refusal: string, marked: string): string =>
  `{"type":"refusal","refusal":${toJsonString(refusal)}${marked}}`;

interface Image {
  readonly url: string;
  readonly detail?: string | null;
}

interface File {
  readonly file_data?: string | null;
  readonly file_id?: string | null;
  readonly filename?: string | null | undefined;
}

function partJson(part: ContentPart): string {
  switch (part.type) {
    case "image_url": {
      const image = part["image_url"] as Image | string;
      const { url, detail }: Image = typeof image === "string" ? { url: image } : image;
      return `{"type":"input_image","image_url":${JSON.stringify(url)}${jsonMember("detail", detail)}${marks(part)}}`;
    }
    case "file":
      return `{"type":"input_file"${fileMembers(part["file"] as File)}${marks(part)}}`;
    case "document_url": {
      const file = {
        file_data: part["document_url"] as string,
        filename: part["document_name"] as string | null | undefined,
      };
      return `{"type":"input_file"${fileMembers(file)}${marks(part)}}`;
    }
    case "file_url": {
      const { url } = part["file_url"] as Image;
      const file = { file_data: url, filename: part["file_name"] as string | null | undefined };
      return `{"type":"input_file"${fileMembers(file)}${marks(part)}}`;
    }
    case "input_audio":
      return `{"type":"input_audio","input_audio":${JSON.stringify(soundOf(part["input_audio"]))}${marks(part)}}`;
    case "video_url": {
      const { url } = part["video_url"] as Image;
      return `{"type":"input_video","video_url":${JSON.stringify(url)}${marks(part)}}`;
    }
    default:
      return `{"type":"input_text","text":${toJsonString(part["text"] as string)}${marks(part)}}`;
  }
}

/** An input sound as an object. Mistral's clients write a sound as base64 or as a data URL; an object stays unchanged. */
function soundOf(sound: unknown): unknown {
  if (typeof sound !== "string") return sound;
  const data = sound.startsWith("data:") ? sound.slice(sound.indexOf(",") + 1) : sound;
  return { data, format: data.startsWith(riff) ? "wav" : "mp3" };
}

/** First characters of a wav file in base64, whose bytes begin with RIFF. */
const riff = "UklGR";

/** Matches the URL of a file, which clients of chat completions put into the field for the file's bytes. */
const address = /^https?:\/\//i;

function fileMembers({ file_data: data, file_id: id, filename }: File): string {
  const field = typeof data === "string" && address.test(data.slice(0, 8)) ? "file_url" : "file_data";
  return jsonMember(field, data) + jsonMember("file_id", id) + jsonMember("filename", filename);
}

/** A JSON member with a leading comma; empty for an absent value. */
export const jsonMember = (name: string, value: string | null | undefined): string =>
  value === null || value === undefined ? "" : `,"${name}":${toJsonString(value)}`;

/** The prompt cache marks of a part, with leading commas. */
function marks({ cache_control: control, prompt_cache_breakpoint: breakpoint }: ContentPart): string {
  if (control === undefined && breakpoint === undefined) return "";
  return (
    (control === undefined ? "" : `,"cache_control":${JSON.stringify(control)}`) +
    (breakpoint === undefined ? "" : `,"prompt_cache_breakpoint":${JSON.stringify(breakpoint)}`)
  );
}
