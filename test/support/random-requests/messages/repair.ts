/** Makes the parts of a random request in Anthropic's format refer to one another, so it passes the first checks. */
import type { Random } from "../../random.ts";
import { type JsonObject, isObject, objectsIn } from "../json.ts";

const resultTypes = /_result$/;

export function repairMessages(body: JsonObject, random: Random): void {
  for (const [index, tool] of objectsIn(body["tools"]).entries()) {
    if (typeof tool["name"] === "string" && !("type" in tool)) tool["name"] = `n${index}`;
    delete tool["defer_loading"];
  }
  if (isObject(body["tool_choice"])) body["tool_choice"] = { type: random.pick(["auto", "none"]) };
  const calls: string[] = [];
  for (const message of objectsIn(body["messages"])) {
    if (Array.isArray(message["content"])) message["content"] = related(message["content"], calls, random);
  }
}

/** Blocks with valid references; those that cannot be repaired are left out. */
function related(blocks: readonly unknown[], calls: string[], random: Random): unknown[] {
  const kept = blocks.filter((block) => {
    if (!isObject(block)) return true;
    const type = String(block["type"]);
    if (type === "tool_use" || type === "server_tool_use") {
      block["id"] = `toolu_${calls.length}`;
      calls.push(block["id"] as string);
    }
    if (!resultTypes.test(type) || !("tool_use_id" in block)) return true;
    block["tool_use_id"] = random.pick(calls);
    return calls.length > 0;
  });
  return kept.length > 0 ? kept : [{ type: "text", text: "Hello" }];
}
