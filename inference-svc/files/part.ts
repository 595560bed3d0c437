/** Files that a request brings along: where they stand, and what they are by what they say of themselves and by how they begin. */
import type { FileKind, FilePart } from "../turn/file-text.ts";
import type { InputItem } from "../turn/request.ts";
import { unescaped } from "./bytes.ts";

export function* filesIn(input: readonly InputItem[]): Iterable<FilePart> {
  for (const [index, item] of input.entries()) {
    for (const field of ["content", "output"]) {
      const parts = item[field];
      if (!Array.isArray(parts)) continue;
      for (const [place, part] of (parts as readonly unknown[]).entries()) {
        if (isFile(part)) yield { path: `input.${index}.${field}.${place}`, part };
      }
    }
  }
}

const isFile = (part: unknown): part is Record<string, unknown> =>
  typeof part === "object" && part !== null && (part as { type?: unknown }).type === "input_file";

/** How the bytes of a file come along. */
export interface Enclosed {
  readonly data: string;
  /** Where the bytes begin in it. */
  readonly start: number;
  /** In base64; else in percent escapes. */
  readonly isBase64: boolean;
  /** In small letters; empty where nothing says. */
  readonly type: string;
  /** Absent where nothing says. */
  readonly charset?: string;
}

const dataUrl = /^data:([^,]{0,1000}),/i;

/** Undefined for a file that somebody else has. */
export function enclosedIn({ part }: FilePart): Enclosed | undefined {
  const data = part["file_data"];
  if (typeof data !== "string" || data === "") return undefined;
  const [head, settings] = dataUrl.exec(data) ?? [];
  if (head === undefined || settings === undefined) return { data, start: 0, isBase64: true, type: "" };
  const [type = "", ...more] = settings.split(";").map((setting) => setting.trim().toLowerCase());
  const charset = more.find((setting) => setting.startsWith("charset="))?.slice("charset=".length);
  return {
    data,
    start: head.length,
    isBase64: more.includes("base64"),
    type,
    ...(charset !== undefined && { charset: charset.replaceAll('"', "") }),
  };
}

const nameOf = ({ part }: FilePart): string => (typeof part["filename"] === "string" ? part["filename"] : "");

/** Readers look for the mark of a PDF in so many bytes (ISO 32000-1, annex H, note 13). */
const headBytes = 1_024;

const notRead = /^(audio|video|font)\/|^image\/(?!svg)/;
const textual =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-javascript|typescript|csv|x-ndjson|jsonl|x-sh|graphql)$|[+](?:json|xml|yaml)$/;
const packed = /^application\/(?:zip|gzip|x-.*compressed|msword|vnd\.|epub|x-tar|x-7z)/;
const textualName =
  /\.(?:txt|md|markdown|csv|tsv|json|jsonl|ndjson|xml|ya?ml|toml|ini|cfg|conf|env|log|html?|svg|css|sql|rst|tex|srt|vtt|eml|ics|diff|patch|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|ps1|swift|scala|r|lua|pl|proto|graphql)$/i;

/** What can be read of a file; undefined: nothing that is text. */
export function kindOf(file: FilePart): FileKind | undefined {
  const enclosed = enclosedIn(file);
  if (enclosed === undefined) return undefined;
  const { type } = enclosed;
  const head = headOf(enclosed);
  // Providers go by how it begins, whatever it is said to be.
  if (type === "application/pdf" || head.includes("%PDF-")) return "pdf";
  // Of these none looks like a text that is what it is said to be.
  if (notRead.test(type)) return looksLikeText(head) ? "text" : undefined;
  // What is not even base64 is said to be none where it is read.
  if (!isWellFormed(enclosed)) return "text";
  if (textual.test(type) || textualName.test(nameOf(file))) return "text";
  return !packed.test(type) && looksLikeText(head) ? "text" : undefined;
}

/** As far as its first bytes show. */
const isWellFormed = ({ data, start, isBase64 }: Enclosed): boolean =>
  !isBase64 || !/[^\w+/=\s-]/.test(data.slice(start, start + headBytes));

/** The first bytes. */
function headOf({ data, start, isBase64 }: Enclosed): Buffer {
  const said = data.slice(start, start + Math.ceil(headBytes / 3) * (isBase64 ? 4 : 9));
  return isBase64 ? Buffer.from(said, "base64") : unescaped(Buffer.from(said));
}

/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex
const binary = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f]/;

function looksLikeText(head: Buffer): boolean {
  if (head.length > 1 && (head.readUInt16BE(0) === 0xfeff || head.readUInt16BE(0) === 0xfffe)) return true;
  try {
    // What is cut at the end is no fault of the text.
    return !binary.test(new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true }));
  } catch {
    return false;
  }
}

/** For people: its type, as far as anybody says. */
export const typeOf = (file: FilePart): string => enclosedIn(file)?.type || "unknown";
