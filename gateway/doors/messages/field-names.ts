/** Maps the fields of a turn to their names in the Messages format. */
import type { FieldNames } from "../../edge/turns/field-names.ts";
import { parametersAt } from "../../edge/turns/parameters.ts";

/** Path of an item in the request, and the paths of its parts. */
export interface ItemPaths {
  readonly path: string;
  readonly parts?: readonly string[];
}

const itemFields = {
  role: "role",
  content: "content",
  output: "content",
  arguments: "input",
  name: "name",
  status: "is_error",
  cache_control: "cache_control",
};

const toolFields = {
  type: "type",
  name: "name",
  description: "description",
  parameters: "input_schema",
  strict: "strict",
  cache_control: "cache_control",
  defer_loading: "defer_loading",
  anthropic_tool: "type",
  anthropic_type: "type",
  max_uses: "max_uses",
  user_location: "user_location",
  server_url: "url",
  server_label: "name",
  authorization: "authorization_token",
  allowed_tools: "tool_configuration.allowed_tools",
};

const fields = {
  input: "messages",
  ...parametersAt.messages.renamed,
  reasoning: "thinking",
  "reasoning.max_tokens": "thinking.budget_tokens",
  "reasoning.effort": "output_config.effort",
  "reasoning.summary": "thinking.display",
  "text.format": "output_config.format",
  parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
  user: "metadata.user_id",
  safety_identifier: "metadata.user_id",
  anthropic_betas: "anthropic-beta",
};

/** @param items for each input item, its path @param tools for each tool of the turn, its path */
export const messageFieldNames = (items: readonly ItemPaths[], tools: readonly string[]): FieldNames => ({
  item: (index) => items[index]?.path,
  part: (item, part) => items[item]?.parts?.[part],
  tool: (index) => tools[index],
  itemFields,
  toolFields,
  fields,
  added: "include.",
});
