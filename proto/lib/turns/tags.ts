/**
 * Tags of turns: names with values by which usage is summed. As text they are a list such as `team=search, env=prod`,
 * in the header `x-sluice-tags`, in messages, on the command line and in filters.
 */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { Fault } from "../faults/fault.ts";
import { invalid } from "../validation/problems.ts";
import { isLongerThan, isWellFormed } from "../validation/text.ts";

export type Tag = readonly [name: string, value: string];

export const tagsHeader = "x-sluice-tags";
export const maxTags = 16;
/** Maximum length of a tag's name in code points; all lengths of texts are in code points. */
export const maxTagName = 64;
export const maxTagValue = 256;

/**
 * Control characters, including line breaks and NUL, which are refused: they would break lines of logs and CSV, and
 * Postgres cannot store NUL.
 */
const control = /[^ -~\u00a0-\uffff]/;
/** Matches names and values that need no encoding, which are most. */
const plain = /^[\w.-]+$/;

/** @returns the problem of a name; undefined for a valid one */
export function tagNameProblem(name: string): string | undefined {
  if (name === "") return "a name must have at least 1 character";
  if (isLongerThan(name, maxTagName)) return `names have at most ${maxTagName} characters`;
  if (/[[\]]/.test(name)) return "names must not contain brackets";
  // A plain object cannot have this name as a key.
  if (name === "__proto__") return "the name __proto__ is reserved";
  return textProblem(name, "names");
}

/** @returns the problem of a value; undefined for a valid one */
export function tagValueProblem(value: string): string | undefined {
  if (value === "") return "a value must have at least 1 character";
  if (isLongerThan(value, maxTagValue)) return `values have at most ${maxTagValue} characters`;
  return textProblem(value, "values");
}

function textProblem(text: string, what: string): string | undefined {
  if (plain.test(text)) return undefined;
  if (!isWellFormed(text)) return `${what} must be well-formed Unicode`;
  return control.test(text) ? `${what} must not contain control characters` : undefined;
}

/**
 * Parses a list of tags; an empty text has none. @param path names the text in errors @throws Fault INVALID_REQUEST for
 * a malformed list
 */
export function parseTags(text: string, path: string): readonly Tag[] {
  if (text.trim() === "") return [];
  const pairs = text.split(",");
  if (pairs.length > maxTags) throw invalid(path, `at most ${maxTags} tags`);
  const tags = pairs.map((pair): Tag => {
    const end = pair.indexOf("=");
    if (end === -1) throw invalid(path, "must be a list of pairs such as team=search, env=prod");
    const [name, value] = [decode(pair.slice(0, end), path), decode(pair.slice(end + 1), path)];
    const problem = tagNameProblem(name) ?? tagValueProblem(value);
    if (problem !== undefined) throw invalid(path, problem);
    return [name, value];
  });
  const names = new Set(tags.map(([name]) => name));
  if (names.size < tags.length) throw invalid(path, "each name at most once");
  return tags;
}

/**
 * Parses a list of tag names, such as `team, env`; a repeated name counts once. @throws Fault INVALID_REQUEST for a
 * malformed list
 */
export function parseTagNames(text: string, path: string): readonly string[] {
  if (text.trim() === "") return [];
  const names = text.split(",").map((part) => decode(part, path));
  if (names.length > maxTags) throw invalid(path, `at most ${maxTags} names`);
  for (const name of names) {
    const problem = tagNameProblem(name);
    if (problem !== undefined) throw invalid(path, problem);
  }
  return [...new Set(names)];
}

/** Decodes percent-encoded text. @throws Fault INVALID_REQUEST for a malformed encoding */
function decode(part: string, path: string): string {
  const text = part.trim();
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(path, "a percent sign begins a percent-encoded character such as %2C");
  }
}

/** White space at the ends is encoded too, because it would be taken for that between pairs. */
const encoded = (text: string, reserved: RegExp): string =>
  plain.test(text)
    ? text
    : text.replace(reserved, (character) => encodeURIComponent(character)).replace(/^\s|\s$/g, encodeURIComponent);

export const tagNameText = (name: string): string => encoded(name, /[%,=]/g);
const tagText = ([name, value]: Tag): string => `${tagNameText(name)}=${encoded(value, /[%,]/g)}`;

/** Formats tag names as the text that `parseTagNames` reads. */
export const tagNamesText = (names: readonly string[]): string => Array.from(new Set(names), tagNameText).join(",");

/** Formats tags as the text that `parseTags` reads. */
export const tagsText = (tags: Iterable<Tag>): string => Array.from(tags, tagText).join(",");

/** The tags of a request as its door has read them; requests for embeddings have no metadata. */
export interface TaggedRequest {
  readonly tags: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

type KeyTags = Pick<Caller, "tags">;

/**
 * Merges the tags of the request and of its key; undefined when there are too many. The key takes precedence over the
 * header, and the header over metadata.
 */
function mergedTags({ tags, metadata }: TaggedRequest, key: KeyTags): ReadonlyMap<string, string> {
  const merged = new Map(parseTags(key.tags, "tags"));
  const add = (name: string, value: string): void => {
    if (!merged.has(name)) merged.set(name, value);
  };
  for (const [name, value] of parseTags(tags, tagsHeader)) add(name, value);
  for (const [name, value] of Object.entries(metadata ?? {})) if (isTag(name, value)) add(name, value);
  return merged;
}

/** Whether a metadata pair is a valid tag; metadata may have longer values. */
const isTag = (name: string, value: string): boolean =>
  tagNameProblem(name) === undefined && tagValueProblem(value) === undefined;

function hasMetadata({ metadata }: TaggedRequest): boolean {
  // Checks for any own key; Object.keys would create an array for each request.
  for (const name in metadata) if (Object.hasOwn(metadata, name)) return true;
  return false;
}

/**
 * The tags to record for a turn, as text; empty for none. If there are too many, the first ones are recorded; if those
 * of the request are malformed, only those of the key.
 */
export function recordedTags(request: TaggedRequest, key: KeyTags): string {
  if (request.tags === "" && !hasMetadata(request)) return key.tags;
  try {
    return tagsText([...mergedTags(request, key)].slice(0, maxTags));
  } catch (error) {
    if (error instanceof Fault) return key.tags;
    throw error;
  }
}

/** Parses the tags of a record; null for none, or for a text in the form of a later build. */
export function readRecordedTags(text: string): Readonly<Record<string, string>> | null {
  if (text === "") return null;
  try {
    return Object.fromEntries(parseTags(text, "tags"));
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/**
 * The tags of a turn to be admitted, as `recordedTags` returns them.
 * @throws Fault INVALID_REQUEST for malformed tags, for too many together with those of the key, and when a tag
 * required by the workspace is missing
 */
export function admittedTags(request: TaggedRequest, key: Pick<Caller, "tags" | "requiredTags">): string {
  const isOfKey = request.tags === "" && !hasMetadata(request);
  if (isOfKey && key.requiredTags.length === 0) return key.tags;
  const tags = mergedTags(request, key);
  if (tags.size > maxTags) {
    const isMetadata = request.tags === "";
    const others = isMetadata ? "the key" : "metadata and of the key";
    throw invalid(isMetadata ? "metadata" : tagsHeader, `at most ${maxTags} tags, together with those of ${others}`);
  }
  for (const name of key.requiredTags) {
    if (!tags.has(name)) {
      throw invalid(tagsHeader, `the workspace requires the tag ${tagNameText(name)}, in this header or in metadata`);
    }
  }
  return isOfKey ? key.tags : tagsText(tags);
}
