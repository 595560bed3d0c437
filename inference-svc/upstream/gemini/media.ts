/** Bytes that come along, and addresses where the provider fetches them itself. */
import type { JsonObject } from "../json.ts";

const dataUrl = /^data:([^;,]{1,100})(?:;[^;,]{1,100})*;base64,/;
/** "%PDF" in base64. */
const pdfStart = "JVBER";
/** What models read (https://ai.google.dev/gemini-api/docs/document-processing): text of any kind as plain text. */
const readable = /^(application\/pdf|(text|image|audio|video)\/[\w.+-]+)$/;
const textual = /^application\/(json|xml|yaml|x-yaml)$/;

/** Media type of a data URL, or of a PDF without one; "" where nothing says. */
export function typeOf(data: string): string {
  const type = dataUrl.exec(data)?.[1] ?? "";
  return type === "" && data.startsWith(pdfStart) ? "application/pdf" : type.toLowerCase();
}

/** @returns undefined for what is no data, or of a type that no model reads */
export function inlineData(data: string): JsonObject | undefined {
  const type = typeOf(data);
  const mimeType = textual.test(type) ? "text/plain" : type;
  if (!readable.test(mimeType)) return undefined;
  return { inlineData: { mimeType, data: data.slice(dataUrl.exec(data)?.[0].length ?? 0) } };
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
