/** Shapes of tags in queries and answers. */
import { Fault } from "../../lib/faults/fault.ts";
import {
  maxTagName,
  maxTagValue,
  maxTags,
  parseTags,
  readRecordedTags,
  tagNameProblem,
  tagValueProblem,
} from "../../lib/turns/tags.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problem, Problems } from "../../lib/validation/problems.ts";
import { type Shape, array, childPath, described, map, string } from "../../lib/validation/shape.ts";

/**
 * Maximum length of a list of tags as text: every character may have four bytes, each percent-encoded with three
 * characters.
 */
const maxTagList = maxTags * (maxTagName + maxTagValue) * 12;

const text = string({ min: 1, max: maxTagList });

/** A list of tags as text, such as `team=search, env=prod`. */
export const tagList: Shape<string> = {
  schema: (components) => ({ ...text.schema(components), pattern: "=" }),
  check: (value, path, problems) => {
    const before = problems.count;
    text.check(value, path, problems);
    if (problems.count > before) return;
    const problem = problemOf(() => parseTags(value as string, path)) ?? blankProblem(value as string);
    if (problem !== undefined) problems.add(path, problem);
  },
};

/** Refuses a blank filter, with which a client may expect to find requests without tags. */
const blankProblem = (list: string): string | undefined =>
  list.trim() === "" ? "must have at least one tag, such as team=search" : undefined;

/** Filter by tags, for lists and sums. */
export const tagsQuery = described(
  tagList,
  "Requests with all of these tags, as in `x-sluice-tags`: `team=search, env=prod`.",
);

/** The text of the Fault that parsing throws; undefined when it succeeds. */
function problemOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    const issues = error instanceof Fault ? (error.metadata?.["issues"] as readonly Problem[]) : undefined;
    if (issues?.[0] === undefined) throw error;
    return issues[0].message;
  }
}

const addIf = (problem: string | undefined, path: string, problems: Problems): void => {
  if (problem !== undefined) problems.add(path, problem);
};

const nameText = string({ min: 1, max: maxTagName });
export const tagName: Shape<string> = {
  ...nameText,
  check: (given, path, problems) => {
    if (typeof given === "string") addIf(tagNameProblem(given), path, problems);
    else nameText.check(given, path, problems);
  },
};

/** A list of tag names; a repeated name counts once. */
export const tagNames = array(tagName, { max: maxTags, entry: "name" });

const valueText = string({ min: 1, max: maxTagValue });
export const tagValue: Shape<string> = {
  ...valueText,
  check: (given, path, problems) => {
    if (typeof given === "string") addIf(tagValueProblem(given), path, problems);
    else valueText.check(given, path, problems);
  },
};

/** An object with tag values by their names. */
export const tagMap = map(tagValue, {
  max: maxTags,
  key: {
    check: (name, path, problems) => addIf(tagNameProblem(name), childPath(path, name.slice(0, maxTagName)), problems),
    schema: { minLength: 1, maxLength: maxTagName, pattern: String.raw`^[^\[\]]*$`, not: { const: "__proto__" } },
  },
});

export const tagsField = described(map(string()), "Tags of the request and of its key.");

export const toTagsJson = (tags: string): JsonObject => readRecordedTags(tags) ?? {};
