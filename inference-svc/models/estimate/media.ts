/** Finds pictures, sounds and files in an input, and estimates their tokens. */
import { parseFileData, findFileKind } from "../../content/files/part.ts";
import { type Pixels, maxImageTokens, readPixels, typicalImageTokens } from "./images.ts";
import { maxSoundTokens, readSoundLength, typicalSoundTokens } from "./sounds.ts";

/** Numbers of pictures, sounds and other media of an input, which some endpoints charge individually. */
export interface Media {
  images: number;
  audios: number;
  others: number;
  /** Maximum number of pages; a picture counts as one page. */
  pages: number;
}

/** Maximum number of pages of a document, the limit Mistral documents for its OCR. */
export const maxDocumentPages = 1_000;

export interface Medium {
  /** Name of the counter for this kind of medium. */
  readonly count: Exclude<keyof Media, "pages">;
  /** Bytes read as text; 0 for other media. */
  readonly textBytes: number;
  /** Estimated tokens of the medium itself, without its text. */
  readonly typicalTokens: number;
  /** Maximum tokens of the medium, without its text; undefined when only the model's context window limits them. */
  maxTokens(model: string): number | undefined;
}

type Part = Readonly<Record<string, unknown>>;

const readers: Readonly<Record<string, (part: Part) => Medium>> = {
  input_image: (part) => image(part["image_url"]),
  computer_screenshot: (part) => image(part["image_url"]),
  // A generated image sent again as input contains the picture in base64.
  image_generation_call: (part) => image(`data:image/png;base64,${textOf(part["result"])}`),
  input_audio: (part) => sound(part["input_audio"]),
  input_video: () => unknown,
  input_file: (part) => file(part),
};

/** Media by part of the input, cached because filters, the budget and the bill measure the same request. */
const known = new WeakMap<object, Medium>();

/** @returns undefined for a part without media */
export function readMedium(part: Part): Medium | undefined {
  const read = Object.hasOwn(readers, String(part["type"])) ? readers[String(part["type"])] : undefined;
  if (read === undefined) return undefined;
  let medium = known.get(part);
  if (medium === undefined) known.set(part, (medium = read(part)));
  return medium;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Estimate for a video, and for a file that only the provider can read. */
const unknown: Medium = { count: "others", textBytes: 0, typicalTokens: 1_000, maxTokens: () => undefined };

const dataUrl = /^data:[^,]{0,1000};base64,/i;

function image(url: unknown): Medium {
  const [head] = dataUrl.exec(textOf(url)) ?? [];
  const pixels: Pixels | undefined = head === undefined ? undefined : readPixels(textOf(url).slice(head.length));
  return {
    count: "images",
    textBytes: 0,
    typicalTokens: typicalImageTokens(pixels),
    maxTokens: (model) => maxImageTokens(pixels, model),
  };
}

function sound(value: unknown): Medium {
  const { data, format } = (value ?? {}) as { readonly data?: unknown; readonly format?: unknown };
  const length = readSoundLength(textOf(data), textOf(format));
  return {
    count: "audios",
    textBytes: 0,
    typicalTokens: typicalSoundTokens(length),
    maxTokens: () => maxSoundTokens(length),
  };
}

/** Bytes of a PDF per token. A page has some 50 kB and 1,500 tokens; pictures make it larger, and compressed text smaller. */
const documentBytesPerToken = 32;

function file(part: Part): Medium {
  const filePart = { path: "", part: part as Record<string, unknown> };
  const enclosed = parseFileData(filePart);
  if (enclosed === undefined) return unknown;
  const characters = enclosed.data.length - enclosed.start;
  const bytes = enclosed.isBase64 ? Math.ceil((characters * 3) / 4) : characters;
  if (findFileKind(filePart) === "text")
    return { count: "others", textBytes: bytes, typicalTokens: 0, maxTokens: () => 0 };
  return { ...unknown, typicalTokens: Math.max(unknown.typicalTokens, Math.ceil(bytes / documentBytesPerToken)) };
}
