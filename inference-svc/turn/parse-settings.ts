/** The form in which an answer is wanted, and how much thought it is worth. */
import { reasoning, textFormat } from "@sluice/proto/contract/settings.js";
import { memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Reasoning, TextFormat } from "./request.ts";

interface FormatFields {
  readonly type: TextFormat["type"];
  readonly name?: string;
  readonly description?: string | null;
  readonly strict?: boolean | null;
}

interface ReasoningFields {
  readonly effort?: string | null;
  readonly enabled?: boolean | null;
  readonly max_tokens?: number | null;
  readonly summary?: string | null;
  readonly context?: string | null;
  readonly mode?: string | null;
}

/** @param json undefined when unset */
export function parseTextFormat(json: Buffer | undefined, problems: Problems): TextFormat | undefined {
  if (json === undefined) return undefined;
  const value: unknown = JSON.parse(json.toString("utf8"));
  if (value === null) return undefined;
  const before = problems.count;
  textFormat.check(value, "text.format", problems);
  if (problems.count > before) return undefined;
  const { type, name = "", description, strict } = value as FormatFields;
  if (type !== "json_schema") return { type };
  return {
    type,
    name,
    schemaJson: memberJson(json, 0, "schema") ?? "{}",
    ...(isSet(description) && { description }),
    ...(isSet(strict) && { strict }),
  };
}

/** A member of the object that begins at `start`, as the client wrote it: to parse and write it again would round its numbers. */
export function memberJson(json: Buffer, start: number, key: string): string | undefined {
  const member = memberOf(json, start, key);
  return member && json.toString("utf8", member.start, member.end);
}

/** Null is unset. */
export const isSet = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/** What equals the default is left out. */
export function parseReasoning(value: unknown, problems: Problems): Reasoning | undefined {
  if (!isSet(value)) return undefined;
  const before = problems.count;
  reasoning.check(value, "reasoning", problems, " or null");
  if (problems.count > before) return undefined;
  const fields = value as ReasoningFields;
  const { summary, max_tokens: maxTokens, context, mode } = fields;
  const effort = effortOf(fields);
  return {
    ...(effort !== undefined && { effort }),
    ...(isSet(summary) && { summary }),
    ...(isSet(maxTokens) && effort !== "none" && { maxTokens }),
    ...(isSet(context) && context !== "auto" && { context }),
    ...(isSet(mode) && mode !== "standard" && { mode }),
  };
}

/** `enabled` is the short form: false is no effort, true is a medium one unless something else says how much. */
function effortOf({ effort, enabled, max_tokens: maxTokens }: ReasoningFields): string | undefined {
  if (enabled === false) return "none";
  if (enabled === true && !isSet(effort) && !isSet(maxTokens)) return "medium";
  return effort ?? undefined;
}
