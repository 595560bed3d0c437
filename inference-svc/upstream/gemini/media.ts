/** Bytes that come along, and addresses where the provider fetches them itself. */
import { dataIn } from "../data-url.ts";
import type { JsonObject } from "../json.ts";

/** What models read (https://ai.google.dev/gemini-api/docs/document-processing): text of any kind as plain text. */
const readable = /^(application\/pdf|(text|image|audio|video)\/[\w.+-]+)$/;
const textual = /^application\/(json|xml|yaml|x-yaml)$/;

/** @returns undefined for what is no data, or of a type that no model reads */
export function inlineData(text: string): JsonObject | undefined {
  const { type = "", base64 } = dataIn(text) ?? {};
  const mimeType = textual.test(type) ? "text/plain" : type;
  return readable.test(mimeType) ? { inlineData: { mimeType, data: base64 } } : undefined;
}

/** By the end of the path; the provider looks for itself where nothing is said. */
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

/** @returns undefined for what is no address that the provider follows */
export function fileData(url: string): JsonObject | undefined {
  if (!/^(https?|gs):\/\//.test(url)) return undefined;
  const ending = /\.(\w{1,5})(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? "";
  const mimeType = types[ending];
  return { fileData: { ...(mimeType !== undefined && { mimeType }), fileUri: url } };
}
