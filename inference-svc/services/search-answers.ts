/** Reads answers of search engines: JSON with a list of results. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { PostedAnswer } from "./detection/wire.ts";
import { removeInvalidCharacters } from "../content/page-charset.ts";
import { PageUnreadable } from "./public-web/page-unreadable.ts";

/** HTTP statuses that concern a single search, and not the engine, the key or its limits. */
const refusals: ReadonlySet<number> = new Set([400, 413, 414, 422]);

/** Parses the results. @throws SearchRefused; Error for every other answer without results */
export function parseResults(posted: PostedAnswer, listOf: (answer: JsonObject) => unknown): readonly JsonObject[] {
  const results = listOf(parseAnswerBody(posted));
  if (!Array.isArray(results)) throw new Error("no results");
  return results.filter(isObject);
}

/** Parses an answer. @throws SearchRefused; Error for every other answer that is not a JSON object */
export function parseAnswerBody({ status, body }: PostedAnswer): JsonObject {
  if (refusals.has(status)) throw new SearchRefused(`status ${status}`);
  if (status !== 200) throw new Error(`status ${status}`);
  const answer = parsed(body);
  if (!isObject(answer)) throw new Error("no results");
  return answer;
}

/** The first object of a list; an empty object for anything else. */
export const firstObjectOf = (list: unknown): JsonObject =>
  (Array.isArray(list) ? list.find(isObject) : undefined) ?? {};

/** The error for a page an engine could not read. @param status HTTP status the engine reports */
export const unreadablePage = (status: unknown): PageUnreadable =>
  typeof status === "number" && Number.isInteger(status) && status >= 300 && status <= 599
    ? new PageUnreadable(`status ${status}`, { status })
    : new PageUnreadable("the engine could not read it");

/** Parses JSON. The parser's own error would quote the answer, which must not get into a log. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error("the answer is not JSON");
  }
}

/** Maximum characters of a URL passed to clients and models as a link. */
const maxUrlLength = 2_048;

/** @param excerptsOf returns texts of a result, best first; values other than texts are ignored */
export const parseHits = (
  results: readonly JsonObject[],
  excerptsOf: (result: JsonObject) => readonly unknown[],
): readonly SearchHit[] =>
  results.flatMap((result) => {
    const { url } = result;
    if (typeof url !== "string" || url.length > maxUrlLength) return [];
    const content = excerptsOf(result)
      .map(excerptOf)
      .filter((excerpt) => excerpt !== "")
      .join("\n");
    return [{ url, title: toSingleLine(result["title"]), content }];
  });

const textOf = (value: unknown): string => (typeof value === "string" ? removeInvalidCharacters(value) : "");

/** The text without line breaks; empty for any other value. */
export const toSingleLine = (value: unknown): string => textOf(value).replaceAll(/\s+/g, " ").trim();

/** The text of an excerpt. Its line breaks stay, because tables and lists need them. */
const excerptOf = (value: unknown): string =>
  textOf(value)
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .trim();

export interface SearchHit {
  readonly url: string;
  /** Title of the page; empty when it has none. */
  readonly title: string;
  /** Excerpt of the page, as the engine returned it. */
  readonly content: string;
}

/** The search failed, which is not the same as a search without results. */
export class SearchUnavailable extends Error {}

/** The engine has rejected this single search. */
export class SearchRefused extends Error {}
