/** Parses one result of a vector store, limited to the fields of an item and to what a model can read. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { truncate } from "../../turn/truncate.ts";
import { removeInvalidCharacters } from "../../content/page-charset.ts";
import { toSingleLine } from "../../services/search-answers.ts";

/** A found passage of a stored file. */
export interface FileHit {
  readonly fileId: string;
  readonly filename: string;
  readonly score: number;
  readonly attributes: JsonObject;
  readonly text: string;
}

/** Maximum UTF-16 units of a passage; services divide files into pieces of some thousand tokens at most. */
const maxTextLength = 20_000;
const maxNameLength = 300;
/** Maximum number of attributes of a file, by OpenAI's limits. */
const maxAttributes = 16;
const maxAttributeLength = 512;

/** @returns undefined for a result without a file name or text */
export function parseFileHit({ file_id, filename, score, attributes, content }: JsonObject): FileHit | undefined {
  const fileId = truncate(toSingleLine(file_id), maxNameLength);
  const text = truncate(textsIn(content), maxTextLength);
  if (fileId === "" || text === "") return undefined;
  return {
    fileId,
    filename: truncate(toSingleLine(filename), maxNameLength) || fileId,
    score: typeof score === "number" && Number.isFinite(score) ? score : 0,
    attributes: attributesIn(attributes),
    text,
  };
}

const textsIn = (content: unknown): string =>
  (Array.isArray(content) ? content : [])
    .flatMap((part: unknown) =>
      isObject(part) && typeof part["text"] === "string" ? [removeInvalidCharacters(part["text"])] : [],
    )
    .join("\n")
    .trim();

const attributesIn = (value: unknown): JsonObject => {
  const entries = isObject(value) ? Object.entries(value).slice(0, maxAttributes) : [];
  return Object.fromEntries(
    entries.flatMap(([name, each]): [string, unknown][] => {
      if (typeof each === "string") return [[truncate(name, maxAttributeLength), truncate(each, maxAttributeLength)]];
      return typeof each === "number" || typeof each === "boolean" ? [[truncate(name, maxAttributeLength), each]] : [];
    }),
  );
};
