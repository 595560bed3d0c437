/** Makes the parts of a random body refer to one another as in a real one, so it passes the first checks. */
import { type JsonObject, isObject, objectsIn } from "./json.ts";
import type { Random } from "../random.ts";

/** Types of outputs, each with the type of its call and the field that contains the call's name. */
const pairs: Readonly<Record<string, readonly [call: string, field: string]>> = {
  function_call_output: ["function_call", "call_id"],
  custom_tool_call_output: ["custom_tool_call", "call_id"],
  apply_patch_call_output: ["apply_patch_call", "call_id"],
  local_shell_call_output: ["local_shell_call", "id"],
  shell_call_output: ["shell_call", "call_id"],
  computer_call_output: ["computer_call", "call_id"],
  tool_search_output: ["tool_search_call", "call_id"],
  mcp_approval_response: ["mcp_approval_request", "approval_request_id"],
};

export function repairBody(body: JsonObject, random: Random): void {
  let names = 0;
  for (const tool of toolsIn(body)) {
    if (typeof tool["name"] === "string") tool["name"] = `n${names++}`;
    delete tool["defer_loading"];
    if (isObject(tool["parameters"]) && tool["type"] !== "function") {
      delete tool["parameters"]["inherited_function_names"];
      if (typeof tool["parameters"]["name"] === "string") tool["parameters"]["name"] = `n${names++}`;
    }
  }
  if (isObject(body["tool_choice"]) || body["tool_choice"] === "required") {
    body["tool_choice"] = random.pick(["auto", "none", null]);
  }
  if (Array.isArray(body["input"])) body["input"] = related(body["input"], random);
}

function* toolsIn(body: JsonObject): Generator<JsonObject> {
  const lists = [body["tools"], ...objectsIn(body["input"]).map((item) => item["tools"])];
  for (const tool of lists.flatMap(objectsIn)) {
    yield tool;
    yield* objectsIn(tool["tools"]);
  }
}

/** Items with valid references; those that cannot be repaired are left out. */
function related(items: readonly unknown[], random: Random): unknown[] {
  const kept: unknown[] = [];
  for (const item of items) {
    if (isObject(item) && !relate(item, objectsIn(kept), random)) continue;
    kept.push(item);
  }
  return kept.length > 0 ? kept : [{ role: "user", content: "Hello" }];
}

function relate(item: JsonObject, before: readonly JsonObject[], random: Random): boolean {
  const type = String(item["type"]);
  if (type === "configuration_update") return before.at(-1)?.["type"] !== type;
  const pair = pairs[type];
  const [kind, field] = pair ?? [undefined, "id"];
  if (pair === undefined && type !== "item_reference") return true;
  const named = before.filter(
    (each) => each["type"] !== "item_reference" && (kind === undefined || each["type"] === kind),
  );
  const targets = named
    .map((each) => each[field === "call_id" ? "call_id" : "id"])
    .filter((id) => typeof id === "string");
  if (targets.length > 0) item[field] = random.pick(targets);
  return targets.length > 0 || item[field] === null || item[field] === undefined;
}
