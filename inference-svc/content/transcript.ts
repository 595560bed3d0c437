/** Writes a conversation as one text, for a model that gets none of the conversation's tools. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem, TurnRequest } from "../turn/request.ts";

export function writeTranscript({ instructions }: TurnRequest, input: readonly InputItem[]): string {
  const lines = input.flatMap((item) => lineOf(item) ?? []);
  return [...(instructions === undefined ? [] : [`Instructions: ${instructions}`]), ...lines].join("\n\n");
}

/** The text for an item. @returns undefined for items without words, such as sealed reasoning */
function lineOf(item: InputItem): string | undefined {
  switch (item.type) {
    case "message":
      return `${String(item["role"])}: ${textIn(item["content"])}`;
    case "function_call":
      return `call of ${String(item["name"])}: ${String(item["arguments"])}`;
    case "custom_tool_call":
      return `call of ${String(item["name"])}: ${String(item["input"])}`;
    case "function_call_output":
    case "custom_tool_call_output":
      return `result: ${textIn(item["output"])}`;
    default:
      return otherLine(item);
  }
}

/** Item fields without meaning to a reader of the transcript. */
const hiddenFields: ReadonlySet<string> = new Set(["type", "id", "call_id", "status"]);

/** The text for a call of a tool other than a function, such as a shell, or for its result. */
function otherLine(item: InputItem): string | undefined {
  const toText = () => JSON.stringify(item, (key, value: unknown) => (hiddenFields.has(key) ? undefined : value));
  if (item.type.endsWith("_call_output")) return `result: ${toText()}`;
  return item.type.endsWith("_call") ? `call of ${item.type.slice(0, -"_call".length)}: ${toText()}` : undefined;
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) ? partText(part) : "")).join("\n");
}

const partText = ({ type, text, refusal }: Readonly<Record<string, unknown>>): string => {
  if (typeof text === "string") return text;
  return typeof refusal === "string" ? refusal : `[${String(type)}]`;
};
