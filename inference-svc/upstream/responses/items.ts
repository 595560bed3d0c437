/** The input items, as the client sent them: what only this house reads of them stays here, what the provider cannot read is declared lost. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { runs } from "./refusal.ts";
import { spelled } from "./spelling.ts";
import { isVendor } from "./vendor.ts";

export function inputItems(request: TurnRequest, target: Target, lose: Lose): readonly JsonObject[] {
  const vendor = isVendor(target);
  return request.input.flatMap((item, index): readonly JsonObject[] => {
    // What it names stands before it, and two items of one id are refused.
    if (item.type === "item_reference") return [];
    if (item.type === "reasoning") return reasoning(item, `input.${index}`, target, lose);
    if (item.type.includes(":")) return ofServerTool(item, `input.${index}`, request, target, lose);
    const sent = withoutOwn(item);
    return [vendor ? forVendor(sent, `input.${index}`, lose) : sent];
  });
}

/** Kinds that have no status in the providers' format; clients send back the one that they were given here. */
const noStatus: ReadonlySet<string> = new Set(["mcp_list_tools", "mcp_approval_request", "compaction"]);

/** The item without the fields that only Sluice gives and reads. */
function withoutOwn(item: InputItem): JsonObject {
  if (item.type === "message" && item.model !== undefined) {
    const { model: _, ...message } = item;
    return message;
  }
  if (!noStatus.has(item.type) || item.status === undefined) return item;
  const { status: _, ...sent } = item;
  return sent;
}

/** Sealed reasoning is read by who sealed it, and a 400 for everybody else. */
function reasoning(item: InputItem, path: string, target: Target, lose: Lose): readonly JsonObject[] {
  const { reasoningFormat } = target;
  const { type, id, summary, content, encrypted_content } = item;
  const format = item.format ?? undefined;
  if (format !== undefined && format !== (reasoningFormat ?? "unknown")) {
    lose(path, `the provider reads reasoning of format ${reasoningFormat ?? "unknown"} only`);
    return [];
  }
  const sealed = text(encrypted_content) === "" ? {} : { encrypted_content };
  // Servers with open models read the text itself; vendors who seal take it as an output only.
  const open = reasoningFormat === undefined && !target.original && Array.isArray(content) && content.length > 0;
  if (open || "encrypted_content" in sealed) {
    return [{ type, id, summary: summary ?? [], ...(open && { content }), ...sealed }];
  }
  lose(path, "the provider reads reasoning only with its encrypted_content");
  return [];
}

/** In the spelling of the tool that made it, which is how the provider is told of the tool. */
function ofServerTool(
  item: InputItem,
  path: string,
  request: TurnRequest,
  target: Target,
  lose: Lose,
): readonly JsonObject[] {
  const type = spelled(item.type, request);
  if (runs(target, item.type) || runs(target, type)) return [{ ...item, type }];
  lose(path, "the provider runs no such tool");
  return [];
}

/** Fields of calls that the vendor's format does not have. */
const ofCalls = ["async", "subagent_id", "subagent_items"];

function forVendor(item: JsonObject, path: string, lose: Lose): JsonObject {
  if (item.type === "function_call" || item.type === "custom_tool_call") {
    return without(item, ofCalls, path, lose);
  }
  const field = Array.isArray(item.content) ? "content" : "output";
  const parts = item[field];
  if (!Array.isArray(parts) || !parts.some((part) => isObject(part) && part.cache_control !== undefined)) return item;
  return {
    ...item,
    [field]: parts.map((part: unknown, index) =>
      isObject(part) ? without(part, ["cache_control"], `${path}.${field}.${index}`, lose) : part,
    ),
  };
}

function without(object: JsonObject, names: readonly string[], path: string, lose: Lose): JsonObject {
  const present = names.filter((name) => object[name] !== undefined);
  if (present.length === 0) return object;
  for (const name of present) lose(`${path}.${name}`, "the provider does not know it");
  return Object.fromEntries(Object.entries(object).filter(([name]) => !present.includes(name)));
}
