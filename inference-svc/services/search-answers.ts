/** Reads search engine answers: JSON with a list of results. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { PostedAnswer } from "./detection/wire.ts";
import { removeInvalidCharacters } from "../content/page-charset.ts";
import { PageUnreadable } from "./public-web/page-unreadable.ts";

/** Statuses caused by the single search, not by the engine, the key or its limits. */
const refusals: ReadonlySet<number> = new Set([400, 413, 414, 422]);

/** @throws SearchRefused; Error for every other answer without results */
export function parseResults(posted: PostedAnswer, listOf: (answer: JsonObject) => unknown): readonly JsonObject[] {
  const results = listOf(parseAnswerBody(posted));
  if (!Array.isArray(results)) throw new Error("no results");
  return results.filter(isObject);
}

/** @throws SearchRefused; Error for every other answer that is not a JSON object */
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

/** @param status reported by the engine for an unreadable page */
export const unreadablePage = (status: unknown): PageUnreadable =>
  typeof status === "number" && Number.isInteger(status) && status >= 300 && status <= 599
    ? new PageUnreadable(`status ${status}`, { status })
    : new PageUnreadable("the engine could not read it");

/** The parser's error would quote the answer, which must not get into a log. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error("the answer is not JSON");
  }
}

/** Longest URL passed to clients and models as a link. */
const maxUrlLength = 2_048;

/** @param excerptsOf texts of a result, best first; other values are ignored */
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

/** Line breaks stay, since tables and lists need them. */
const excerptOf = (value: unknown): string =>
  textOf(value)
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .trim();

export interface SearchHit {
  readonly url: string;
  /** Empty when the page has none. */
  readonly title: string;
  /** The engine's excerpt. */
  readonly content: string;
}

/** The search failed, which differs from a search without results. */
export class SearchUnavailable extends Error {}

/** The engine rejects this particular search. */
export class SearchRefused extends Error {}
