/** Parses the requested text format and the reasoning settings. */
import { reasoning, textFormat } from "@sluice/proto/contract/request/settings.js";
import { memberOf } from "@sluice/proto/lib/json/span.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { checkShape } from "@sluice/proto/lib/validation/shape.js";
import { ByteMemory } from "@sluice/proto/lib/json/byte-memory.js";
import type { IgnoredFields } from "./ignored-fields.ts";
import type { Reasoning, SchemaFormat, TextFormat } from "../request.ts";

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

interface KnownFormat {
  readonly format: TextFormat;
  /** Paths of unknown fields. */
  readonly ignored: readonly string[];
}

const memory = new ByteMemory<KnownFormat>();

/**
 * Parses the text format. Equal bytes give the same object, by which dialects can cache its translation.
 * @param json undefined when unset
 * @param ignored gets the paths of unknown fields
 */
export function parseTextFormat(
  json: Buffer | undefined,
  problems: Problems,
  ignored?: IgnoredFields,
): TextFormat | undefined {
  if (json === undefined) return undefined;
  let known = memory.find(json);
  if (!known) {
    known = readTextFormat(json, problems);
    if (known) memory.keep(json, known);
  }
  if (known) ignored?.addFormat(known.ignored);
  return known?.format;
}

function readTextFormat(json: Buffer, problems: Problems): KnownFormat | undefined {
  const value: unknown = JSON.parse(json.toString("utf8"));
  if (value === null) return undefined;
  const before = problems.count;
  checkShape(textFormat, value, "text.format", problems);
  if (problems.count > before) return undefined;
  const ignored: string[] = [];
  checkShape(textFormat, value, "text.format", new Problems((path) => void ignored.push(path)));
  const { type, name = "", description, strict } = value as FormatFields;
  if (type !== "json_schema") return { format: { type }, ignored };
  const format: AllFields<SchemaFormat> = {
    type,
    name,
    schemaJson: memberJson(json, 0, "schema") ?? "{}",
    description: description ?? undefined,
    strict: strict ?? undefined,
  };
  return { format: format as SchemaFormat, ignored };
}

/** A type with all of its fields present, unset ones as undefined, so all values share one hidden class in V8. */
export type AllFields<Fields> = { -readonly [Field in keyof Required<Fields>]: Fields[Field] };

/**
 * JSON of a member of the object at `start`, as the client wrote it: parsing and writing it would round its numbers.
 * @returns undefined when the object lacks it
 */
export function memberJson(json: Buffer, start: number, key: string): string | undefined {
  const member = memberOf(json, start, key);
  return member && json.toString("utf8", member.start, member.end);
}

/** Whether a setting has a value; null counts as unset. */
export const isSet = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/**
 * Parses `reasoning`, without members that equal the default.
 * @param door door of the request; with a budget in Anthropic's format, reasoning is shown unless the client says
 * otherwise
 */
export function parseReasoning(value: unknown, problems: Problems, door = ""): Reasoning | undefined {
  if (!isSet(value)) return undefined;
  const before = problems.count;
  checkShape(reasoning, value, "reasoning", problems, " or null");
  if (problems.count > before) return undefined;
  const fields = value as ReasoningFields;
  const { summary, max_tokens: maxTokens, context, mode } = fields;
  const effort = effortOf(fields);
  const isSummaryImplied = door === "messages" && isSet(maxTokens) && !isSet(summary);
  const settings: AllFields<Reasoning> = {
    effort,
    enabled: fields.enabled === true || undefined,
    summary: summary ?? (isSummaryImplied ? "auto" : undefined),
    isSummaryImplied: isSummaryImplied || undefined,
    maxTokens: effort === "none" ? undefined : (maxTokens ?? undefined),
    context: context === "auto" ? undefined : (context ?? undefined),
    mode: mode === "standard" ? undefined : (mode ?? undefined),
  };
  return settings as Reasoning;
}

/** The effort. `enabled` is its short form: false means none, and true means medium unless effort or max_tokens is set. */
function effortOf({ effort, enabled, max_tokens: maxTokens }: ReasoningFields): string | undefined {
  if (enabled === false) return "none";
  if (enabled === true && !isSet(effort) && !isSet(maxTokens)) return "medium";
  return effort ?? undefined;
}
