/** Makes the parts of a random chat request refer to one another, so it passes the first checks. */
import type { Random } from "../../random.ts";
import { type JsonObject, isObject, objectsIn } from "../json.ts";

export function repairChat(body: JsonObject, random: Random): void {
  delete body["max_tokens"];
  delete body["reasoning_effort"];
  if (body["top_logprobs"] !== undefined) body["logprobs"] = true;
  if (isObject(body["tool_choice"]) || ["required", "any"].includes(body["tool_choice"] as string))
    body["tool_choice"] = random.pick(["auto", "none", null]);
  if (body["functions"] !== undefined) delete body["tools"];
  for (const [index, tool] of objectsIn(body["tools"]).entries()) rename(tool, `n${index}`);
  if (Array.isArray(body["messages"])) body["messages"] = related(body["messages"], random);
}

function rename(tool: JsonObject, name: string): void {
  for (const holder of [tool, tool["function"], tool["custom"]])
    if (isObject(holder) && typeof holder["name"] === "string") holder["name"] = name;
  delete tool["defer_loading"];
}

/** Messages with valid references; those that cannot be repaired are left out. */
function related(messages: readonly unknown[], random: Random): unknown[] {
  const calls: string[] = [];
  const kept = messages.filter((message) => {
    if (!isObject(message)) return true;
    for (const call of objectsIn(message["tool_calls"])) {
      call["id"] = `call_${calls.length}`;
      calls.push(call["id"] as string);
    }
    if (message["role"] === "function") return false;
    if (message["role"] !== "tool") return true;
    message["tool_call_id"] = random.pick(calls);
    return calls.length > 0;
  });
  return kept.length > 0 ? kept : [{ role: "user", content: "Hello" }];
}
