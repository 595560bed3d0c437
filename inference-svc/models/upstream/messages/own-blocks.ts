/** Blocks of an answer that clients of this format get as they came: calls and results of the provider's tools, and its summaries. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Output } from "../events/output.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { SentTools } from "../translate/names/tool-names.ts";
import type { BlockReader } from "./block-reader.ts";

export const isPassedOn = (type: string): boolean =>
  type === "server_tool_use" || type === "compaction" || type.endsWith("_tool_result");

export function ownBlock(output: Output, tools: SentTools, { input, ...block }: JsonObject): BlockReader {
  const writer = output.other({ type: "anthropic_block", id: newId("ab_"), status: "in_progress" });
  const fields: Record<string, unknown> = { ...block };
  let json = "";
  return {
    delta({ type, partial_json: piece, ...more }) {
      json += text(piece);
      if (type === "compaction_delta") addTo(fields, more);
    },
    stop() {
      const isCall = input !== undefined || json !== "";
      const written = isCall ? { arguments: json === "" ? JSON.stringify(input) : json } : {};
      writer.end("completed", { anthropic_block: { ...withOwnNames(fields, tools), ...written } });
    },
  };
}

/** Adds a delta: its text follows the text so far, and other fields are those of the latest delta. */
function addTo(fields: Record<string, unknown>, { content, ...others }: JsonObject): void {
  if (typeof content === "string") fields.content = text(fields.content) + content;
  Object.assign(fields, others);
}

/** Tools found by the provider, by the names of the request. */
function withOwnNames(block: JsonObject, tools: SentTools): JsonObject {
  const { content } = block;
  if (!isObject(content) || !Array.isArray(content.tool_references)) return block;
  const references = objects(content.tool_references).map((reference) => {
    const found = tools.findBySentName(text(reference.tool_name));
    return found ? { ...reference, tool_name: found.tool.name } : reference;
  });
  return { ...block, content: { ...content, tool_references: references } };
}
