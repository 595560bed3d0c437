/** Files as documents (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html). */
import type { Lose } from "../dialect.ts";
import { type JsonObject, text } from "../json.ts";
import { extracted } from "../messages/cache-marks.ts";
import type { Block } from "../messages/thread.ts";
import { cannot } from "../refused.ts";

const inline = /^data:([^;,]{1,100})(?:;[^;,]{1,100})*;base64,/;
const extension = /\.(csv|docx?|html|md|pdf|txt|xlsx?)$/i;
/** "%PDF" in base64. */
const pdfStart = "JVBER";

const formats: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
};
const textual = /^(text\/|application\/(json|xml|yaml|x-yaml)$)/;

export function documentRefusal(part: JsonObject): string | undefined {
  const data = text(part.file_data);
  if (data === "") return cannot("files that are not sent along in file_data");
  return formatOf(part) === undefined ? cannot(`files of type ${inline.exec(data)?.[1] ?? "unknown"}`) : undefined;
}

/** By its type; where the data has none, by the name of the file. */
function formatOf(part: JsonObject): string | undefined {
  const data = text(part.file_data);
  const type = inline.exec(data)?.[1];
  if (type !== undefined) return formats[type] ?? (textual.test(type) ? "txt" : undefined);
  return data.startsWith(pdfStart) ? "pdf" : extension.exec(text(part.filename))?.[1]?.toLowerCase();
}

/** @param part one that is not refused */
export function documentBlock(part: JsonObject, path: string, lose: Lose): Block {
  const data = text(part.file_data);
  const format = formatOf(part);
  const bytes = data.slice(inline.exec(data)?.[0].length ?? 0);
  const filename = text(part.filename).replace(extension, "");
  const name = nameOf(filename);
  if (filename !== "" && filename !== name) lose(`${path}.filename`, `sent as ${name}`);
  return { type: format === "pdf" ? "document" : extracted, path, document: { format, name, source: { bytes } } };
}

/** Letters, digits, single spaces, - ( ) [ ], at most 200 of them; a name has to be there, and should not be read as an instruction. */
function nameOf(filename: string): string {
  const name = filename.replaceAll(/[^A-Za-z0-9()[\]-]+/g, " ").trim();
  return name.slice(0, 200).trim() || "document";
}

/** No two documents of a request may have the same name. */
export class Names {
  readonly #taken = new Set<unknown>();

  /** @param document with the name that it should have */
  apart(document: JsonObject): JsonObject {
    const wanted = text(document.name);
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted.slice(0, 190)} ${count}`;
    this.#taken.add(name);
    return { ...document, name };
  }
}
