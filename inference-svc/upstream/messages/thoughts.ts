/** Reasoning that goes back: sealed by the family, or not at all. */
import type { InputItem } from "../../turn/request.ts";
import { objects, text } from "../json.ts";
import type { Block } from "./thread.ts";

/** The `format` of reasoning that this family signs. */
export const thoughtFormat = "anthropic-claude-v1";

/** @returns undefined for what the provider would answer 400 to */
export function thoughtBlock(item: InputItem): Block | undefined {
  if (item.format !== thoughtFormat) return undefined;
  const signature = text(item.signature);
  const thinking = objects(item.content)
    .map((part) => text(part.text))
    .join("");
  // Models that show nothing of their thought sign it all the same.
  if (signature !== "") return { type: "thinking", thinking, signature };
  const data = text(item.encrypted_content);
  return data === "" ? undefined : { type: "redacted_thinking", data };
}
