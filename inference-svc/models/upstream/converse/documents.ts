/** Converts files to document blocks (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html). */
import { readDataUrl, readFileData } from "../../../content/files/data-url.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, text } from "../json.ts";
import { extractedDocument } from "../translate/blocks/cache-marks.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import { unsupportedMessage } from "../translate/unsupported-inputs.ts";

const extension = /\.(csv|docx?|html|md|pdf|txt|xlsx?)$/i;

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

export function refuseDocument(part: JsonObject): string | undefined {
  const data = text(part.file_data);
  if (data === "") return unsupportedMessage("files without file_data");
  return formatOf(part) === undefined
    ? unsupportedMessage(`files of type ${readDataUrl(data)?.type ?? "unknown"}`)
    : undefined;
}

/** Format of a document by its media type; for bare base64, by the extension of the file name. */
function formatOf(part: JsonObject): string | undefined {
  const data = text(part.file_data);
  const type = readFileData(data)?.type;
  if (type !== undefined) return formats[type] ?? (textual.test(type) ? "txt" : undefined);
  return extension.exec(text(part.filename))?.[1]?.toLowerCase();
}

/** @param part a part that `refuseConversePart` accepts */
export function documentBlock(part: JsonObject, path: string, onDropped: OnDropped): Block {
  const data = text(part.file_data);
  const format = formatOf(part);
  const bytes = readDataUrl(data)?.base64 ?? data;
  const filename = text(part.filename).replace(extension, "");
  const name = nameOf(filename);
  if (filename !== "" && filename !== name) onDropped(`${path}.filename`, `sent as ${name}`);
  return {
    type: format === "pdf" ? "document" : extractedDocument,
    path,
    document: { format, name, source: { bytes } },
  };
}

/**
 * Name of a document. Letters, digits, single spaces and -()[] are allowed, at most 200 characters. A name is required,
 * and the model reads it, so the default is neutral.
 */
function nameOf(filename: string): string {
  const name = filename.replaceAll(/[^A-Za-z0-9()[\]-]+/g, " ").trim();
  return name.slice(0, 200).trim() || "document";
}

/** Gives each document of a request a different name, as the API requires. */
export class DocumentNames {
  readonly #taken = new Set<unknown>();

  /** @param document document with its preferred name */
  makeUnique(document: JsonObject): JsonObject {
    const wanted = text(document.name);
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted.slice(0, 190)} ${count}`;
    this.#taken.add(name);
    return { ...document, name };
  }
}
