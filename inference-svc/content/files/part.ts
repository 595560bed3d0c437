/** Finds the files of a request and determines their kind by media type, name and first bytes. */
import type { DocumentKind, FileKind, FilePart } from "../../turn/file-text.ts";
import { knownTexts } from "../../turn/parse/beginnings.ts";
import type { InputItem } from "../../turn/request.ts";
import { decodePercent } from "./bytes.ts";
import { looksLikeText } from "./charset.ts";
import { type EncodedFile, parseDataUrl } from "./data-url.ts";

const none: readonly FilePart[] = [];
const fields = ["content", "output"] as const;

/** The files of an input, in order. Called several times per candidate endpoint. */
export function findFiles(input: readonly InputItem[]): readonly FilePart[] {
  let files: FilePart[] | undefined;
  for (let index = knownTexts(input); index < input.length; index++) {
    for (const field of fields) {
      const parts = input[index]?.[field];
      if (!Array.isArray(parts)) continue;
      for (let place = 0; place < parts.length; place++) {
        const part: unknown = parts[place];
        if (isFile(part)) (files ??= []).push({ path: `input.${index}.${field}.${place}`, part });
      }
    }
  }
  return files ?? none;
}

/** Replaces parts of an input by others. */
export function replaceParts(input: readonly InputItem[], parts: ReadonlyMap<unknown, object>): InputItem[] {
  const holdsAny = (value: unknown): value is readonly unknown[] =>
    Array.isArray(value) && value.some((part) => parts.has(part));
  return input.map((item) => {
    const fields = ["content", "output"].filter((field) => holdsAny(item[field]));
    if (fields.length === 0) return item;
    const replaced = fields.map((field) => [
      field,
      (item[field] as readonly unknown[]).map((part) => parts.get(part) ?? part),
    ]);
    return { ...item, ...(Object.fromEntries(replaced) as object) };
  });
}

const isFile = (part: unknown): part is Record<string, unknown> =>
  typeof part === "object" && part !== null && (part as { type?: unknown }).type === "input_file";

/** @returns undefined for a file given by URL or id, without its bytes */
export function parseFileData({ part }: FilePart): EncodedFile | undefined {
  const data = part["file_data"];
  if (typeof data !== "string" || data === "") return undefined;
  return parseDataUrl(data) ?? { data, start: 0, isBase64: true, type: "" };
}

const nameOf = ({ part }: FilePart): string => (typeof part["filename"] === "string" ? part["filename"] : "");

/** Bytes searched for the mark of a PDF, as by other readers (ISO 32000-1, annex H, note 13). */
const headBytes = 1_024;

const notRead = /^(audio|video|font)\/|^image\/(?!svg)/;
const textual =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-javascript|typescript|csv|x-ndjson|jsonl|x-sh|graphql)$|[+](?:json|xml|yaml)$/;
/** Media types and names of documents in ZIP archives. */
const documents: readonly (readonly [DocumentKind, type: RegExp, name: RegExp, mark: string])[] = [
  ["docx", /wordprocessingml\.document/, /\.docx$/i, "word/document.xml"],
  ["xlsx", /spreadsheetml\.sheet/, /\.xlsx$/i, "xl/workbook.xml"],
  ["pptx", /presentationml\.presentation/, /\.pptx$/i, "ppt/presentation.xml"],
  ["epub", /^application\/epub/, /\.epub$/i, "META-INF/container.xml"],
];
/** Standard media types of documents. */
export const mediaTypes: Readonly<Record<DocumentKind, string>> = {
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  epub: "application/epub+zip",
};
const packed = /^application\/(?:zip|gzip|x-.*compressed|msword|vnd\.|epub|x-tar|x-7z)/;
const textualName =
  /\.(?:txt|md|markdown|csv|tsv|json|jsonl|ndjson|xml|ya?ml|toml|ini|cfg|conf|env|log|html?|svg|css|sql|rst|tex|srt|vtt|eml|ics|diff|patch|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|ps1|swift|scala|r|lua|pl|proto|graphql)$/i;

/** @returns undefined for a file without readable text */
export function findFileKind(file: FilePart): FileKind | undefined {
  const enclosed = parseFileData(file);
  if (enclosed === undefined) return undefined;
  const { type } = enclosed;
  const head = decodeHead(enclosed);
  // Providers detect a PDF by its first bytes, whatever its declared type.
  if (type === "application/pdf" || head.includes("%PDF-")) return "pdf";
  const document = findArchivedKind({ type, name: nameOf(file), head, tail: () => decodeTail(enclosed) });
  if (document !== undefined) return document;
  // Real sounds, videos and pictures never look like text, so a file that does has a wrong media type.
  if (notRead.test(type)) return looksLikeText(head, true) ? "text" : undefined;
  // Invalid base64 counts as text here; decoding it then reports the error.
  if (!isWellFormed(enclosed)) return "text";
  if (textual.test(type) || textualName.test(nameOf(file))) return "text";
  return !packed.test(type) && looksLikeText(head, false) ? "text" : undefined;
}

/** Whether the first bytes of a file are valid base64. */
const isWellFormed = ({ data, start, isBase64 }: EncodedFile): boolean =>
  !isBase64 || !/[^\w+/=\s-]/.test(data.slice(start, start + headBytes));

/** First bytes of a ZIP archive. */
const zipMark = Buffer.from("PK\x03\x04");
/** Bytes read at the end of an archive, where the list of its parts stands with about a hundred bytes for each. */
const tailBytes = 65_536;

interface Unopened {
  readonly type: string;
  readonly name: string;
  readonly head: Buffer;
  readonly tail: () => Buffer;
}

/**
 * The kind of an archive by its parts, whatever its declared type. Their list may be longer than the tail examined
 * here, so type and name count as well.
 */
function findArchivedKind({ type, name, head, tail }: Unopened): DocumentKind | undefined {
  const declared = documents.find(([, media, extension]) => media.test(type) || extension.test(name));
  if (!head.subarray(0, zipMark.length).equals(zipMark)) return declared?.[0];
  const end = tail();
  return (documents.find(([, , , mark]) => end.includes(mark)) ?? declared)?.[0];
}

/** @param type media type in lower case @returns the kind of a fetched document; undefined for anything else */
export function findDocumentKind(bytes: Buffer, type: string): DocumentKind | undefined {
  const head = bytes.subarray(0, headBytes);
  if (type === "application/pdf" || head.includes("%PDF-")) return "pdf";
  return findArchivedKind({ type, name: "", head, tail: () => bytes.subarray(-tailBytes) });
}

/** Decodes the last bytes of a file. Empty for data in percent escapes, since no client sends archives in them. */
function decodeTail({ data, start, isBase64 }: EncodedFile): Buffer {
  if (!isBase64) return Buffer.alloc(0);
  const length = data.length - start;
  const skipped = Math.max(0, length - Math.ceil(tailBytes / 3) * 4);
  return Buffer.from(data.slice(start + skipped - (skipped % 4)), "base64");
}

function decodeHead({ data, start, isBase64 }: EncodedFile): Buffer {
  const encoded = data.slice(start, start + Math.ceil(headBytes / 3) * (isBase64 ? 4 : 9));
  return isBase64 ? Buffer.from(encoded, "base64") : decodePercent(Buffer.from(encoded));
}

/** The file's media type for an error message. */
export const describeFileType = (file: FilePart): string => parseFileData(file)?.type || "unknown";

export const fileUrlOf = ({ part }: FilePart): string => (typeof part["file_url"] === "string" ? part["file_url"] : "");

export const isNamedByUrl = (file: FilePart): boolean =>
  /^https?:/i.test(fileUrlOf(file)) && (typeof file.part["file_data"] !== "string" || file.part["file_data"] === "");
