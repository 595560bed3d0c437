/** The fields of a turn by their names in chat completions. */
import type { FieldNames } from "../turns/field-names.ts";
import type { ChatFields } from "./fields.ts";

type GivenFields = Pick<ChatFields, "max_completion_tokens" | "max_tokens" | "reasoning" | "functions" | "tools">;

const itemFields = { role: "role", content: "content", output: "content", name: "name" };

const toolFields = {
  type: "type",
  name: "function.name",
  description: "function.description",
  parameters: "function.parameters",
  strict: "function.strict",
  format: "custom.format",
};

/** Fields of the deprecated `functions`, by the same names in both formats. */
const functionFields = { name: "name", description: "description", parameters: "parameters" };

const fields = {
  input: "messages",
  max_output_tokens: "max_completion_tokens",
  "text.format": "response_format",
  "text.verbosity": "verbosity",
};

/** @param messages numbers of the messages that the items of the input were made of */
export function chatFieldNames(messages: readonly number[], given: GivenFields): FieldNames {
  const { max_completion_tokens: newer, max_tokens: older, reasoning, functions, tools } = given;
  const list = tools ? "tools" : "functions";
  const declared = (tools ?? functions)?.length ?? 0;
  return {
    item: (index) => messageAt(messages[index]),
    part: (item, part) => partAt(messages[item], part),
    tool: (index) => (index < declared ? `${list}.${index}` : "web_search_options"),
    itemFields,
    toolFields: tools ? toolFields : functionFields,
    fields: {
      ...fields,
      ...(typeof newer !== "number" && typeof older === "number" && { max_output_tokens: "max_tokens" }),
      ...(!reasoning && { "reasoning.effort": "reasoning_effort" }),
    },
  };
}

const messageAt = (message: number | undefined): string | undefined =>
  message === undefined ? undefined : `messages.${message}`;

const partAt = (message: number | undefined, part: number): string | undefined =>
  message === undefined ? undefined : `messages.${message}.content.${part}`;
