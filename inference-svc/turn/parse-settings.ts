/** The form in which an answer is wanted, and how much thought it is worth. */
import { Fields, isObject } from "@sluice/proto/runtime/validation/fields.js";
import { membersOf } from "@sluice/proto/runtime/validation/json-span.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Reasoning, TextFormat } from "./request.ts";

const nameForm = /^[A-Za-z0-9_-]{1,64}$/;
const efforts = new Set(["max", "xhigh", "high", "medium", "low", "minimal", "none"]);
const summaries = new Set(["auto", "concise", "detailed"]);
const contexts = new Set(["auto", "all_turns", "current_turn"]);
const modes = new Set(["standard", "pro"]);

/** @param json undefined when unset */
export function parseTextFormat(json: Buffer | undefined, problems: Problems): TextFormat | undefined {
  if (json === undefined) return undefined;
  const value: unknown = JSON.parse(json.toString("utf8"));
  if (value === null) return undefined;
  if (!isObject(value)) return problems.add("text.format", "must be an object");
  const fields = new Fields(value, "text.format", problems);
  const type = fields.requiredString("type");
  if (type === "text" || type === "json_object") return { type };
  if (type === "json_schema") return jsonSchema(json, fields);
  if (type !== undefined) fields.problem("type", "must be one of text, json_object, json_schema");
  return undefined;
}

function jsonSchema(json: Buffer, fields: Fields): TextFormat | undefined {
  const name = fields.requiredString("name");
  if (name !== undefined && !nameForm.test(name)) fields.problem("name", "1 to 64 letters, digits, _ and -");
  const description = fields.string("description", "nullable");
  const strict = fields.boolean("strict", "nullable");
  const schema = fields.object("schema");
  if (schema === undefined && fields.raw("schema") === undefined) fields.problem("schema", "required");
  if (name === undefined || schema === undefined) return undefined;
  return {
    type: "json_schema",
    name,
    schemaJson: schemaOf(json),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  };
}

/** As the client wrote it: to parse and write it again would round its numbers. */
function schemaOf(json: Buffer): string {
  const schema = membersOf(json).find((member) => member.key === "schema");
  return schema ? json.toString("utf8", schema.start, schema.end) : "{}";
}

export function parseReasoning(value: unknown, problems: Problems): Reasoning | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return problems.add("reasoning", "must be an object or null");
  const fields = new Fields(value, "reasoning", problems);
  const effort = effortOf(fields);
  const summary = fields.word("summary", summaries, "nullable");
  checkBudget(fields, effort);
  const context = fields.word("context", contexts, "nullable");
  if (context !== undefined && context !== "auto") fields.problem("context", `${context} is not available yet`);
  if (fields.word("mode", modes, "nullable") === "pro") fields.problem("mode", "pro is not available yet");
  return {
    ...(effort !== undefined && { effort }),
    ...(summary !== undefined && { summary }),
  };
}

/** The alternative to an effort; where both are given, the dialects there are go by the effort. */
function checkBudget(fields: Fields, effort: string | undefined): void {
  const maxTokens = fields.integer("max_tokens", "nullable");
  if (maxTokens === undefined) return;
  if (maxTokens < 1) fields.problem("max_tokens", "must be at least 1");
  else if (effort === undefined) fields.problem("max_tokens", "is not available yet without effort");
}

/** `enabled` is the short form: false is no effort, true is a medium one unless something else says how much. */
function effortOf(fields: Fields): string | undefined {
  const effort = fields.word("effort", efforts, "nullable");
  const enabled = fields.boolean("enabled", "nullable");
  if (enabled === false) return "none";
  const measured = effort !== undefined || fields.raw("max_tokens", "nullable") !== undefined;
  return enabled === true && !measured ? "medium" : effort;
}
