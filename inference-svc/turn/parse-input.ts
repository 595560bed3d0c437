/** The input items: which kinds there are, what each must hold, and which order makes sense. */
import { Fields, type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { checkContent, checkText, checkTexts, inputParts, partsOfRole } from "./parse-content.ts";
import { itemKinds } from "./parse-kinds.ts";
import type { InputItem } from "./request.ts";

const roles = new Set(["user", "system", "developer", "assistant"]);
const statuses = new Set(["completed", "incomplete", "in_progress"]);
const phases = new Set(["commentary", "final_answer"]);

/** A string is one message of the user. */
export function parseInput(value: unknown, problems: Problems): readonly InputItem[] {
  if (typeof value === "string") {
    checkText("input", value, problems);
    return [{ type: "message", role: "user", content: value }];
  }
  if (!Array.isArray(value)) {
    problems.add("input", value === undefined || value === null ? "required" : "must be a string or an array of items");
    return [];
  }
  if (value.length === 0) problems.add("input", "at least 1 item");
  const calls = new Set<string>();
  return value.map((item: unknown, index) => parseItem(item, `input.${index}`, calls, problems));
}

/** @param calls the function calls that came before */
function parseItem(value: unknown, path: string, calls: Set<string>, problems: Problems): InputItem {
  if (!isObject(value)) {
    problems.add(path, "must be an object");
    return { type: "" };
  }
  const fields = new Fields(value, path, problems);
  // Only a message has a role, so its type may be left out.
  const item = value["type"] === undefined && value["role"] !== undefined ? { ...value, type: "message" } : value;
  switch (item["type"]) {
    case "message":
      return message(item, fields, problems);
    case "reasoning":
      return reasoning(item, fields, problems);
    case "function_call":
      functionCall(fields, calls);
      break;
    case "function_call_output":
      functionCallOutput(item, fields, calls, problems);
      break;
    default:
      refuse(item["type"], fields, path, problems);
  }
  return item as InputItem;
}

function message(item: JsonObject, fields: Fields, problems: Problems): InputItem {
  const role = fields.requiredString("role") === undefined ? undefined : fields.word("role", roles);
  fields.string("id", "nullable");
  fields.word("status", statuses, "nullable");
  fields.word("phase", phases, "nullable");
  const content = fields.raw("content", "nullable") ?? [];
  checkContent(fields.path("content"), content, partsOfRole(role), problems);
  return { ...item, type: "message", content };
}

function reasoning(item: JsonObject, fields: Fields, problems: Problems): InputItem {
  for (const name of ["id", "format", "signature", "encrypted_content"]) fields.string(name, "nullable");
  fields.word("status", statuses, "nullable");
  const summary = fields.array("summary", "nullable") ?? [];
  checkTexts(fields.path("summary"), summary, "summary_text", problems);
  checkTexts(fields.path("content"), fields.array("content", "nullable") ?? [], "reasoning_text", problems);
  return { ...item, type: "reasoning", summary };
}

function functionCall(fields: Fields, calls: Set<string>): void {
  const callId = fields.requiredString("call_id");
  if (callId !== undefined) calls.add(callId);
  if (callId === "") fields.problem("call_id", "at least 1 character");
  if (fields.requiredString("name") === "") fields.problem("name", "at least 1 character");
  fields.requiredString("arguments");
  fields.string("id", "nullable");
  fields.word("status", statuses, "nullable");
}

function functionCallOutput(item: JsonObject, fields: Fields, calls: ReadonlySet<string>, problems: Problems): void {
  const callId = fields.requiredString("call_id");
  if (callId !== undefined && !calls.has(callId)) fields.problem("call_id", "matches no function_call before it");
  if (item["output"] === undefined || item["output"] === null) fields.problem("output", "required");
  else checkContent(fields.path("output"), item["output"], inputParts, problems);
  fields.string("id", "nullable");
  fields.word("status", statuses, "nullable");
}

function refuse(type: unknown, fields: Fields, path: string, problems: Problems): void {
  if (typeof type !== "string") return fields.problem("type", type === undefined ? "required" : "must be a string");
  if (type === "item_reference") problems.add(path, "item_reference is not supported: nothing is stored");
  else if (itemKinds.has(type)) problems.add(path, `items of type ${type} are not available yet`);
  else fields.problem("type", `unknown type ${type.slice(0, 64)}`);
}
