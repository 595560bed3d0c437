/** Maps the fields of a turn to their names in chat completions. */
import type { FieldNames } from "../../edge/turns/field-names.ts";
import { parametersAt } from "../../edge/turns/parameters.ts";
import type { ChatFields } from "./fields.ts";

type GivenFields = Pick<
  ChatFields,
  "max_completion_tokens" | "max_tokens" | "reasoning" | "functions" | "tools" | "tool_choice"
>;

const itemFields = {
  role: "role",
  content: "content",
  output: "content",
  name: "name",
  cache_control: "cache_control",
};

const toolFields = {
  type: "type",
  name: "function.name",
  description: "function.description",
  parameters: "function.parameters",
  strict: "function.strict",
  format: "custom.format",
  cache_control: "cache_control",
};

/** Fields of a function in the deprecated `functions`; the turn has the same names. */
const functionFields = { name: "name", description: "description", parameters: "parameters" };

const fields = {
  input: "messages",
  ...parametersAt.chat.renamed,
  "text.format": "response_format",
  "text.format.name": "response_format.json_schema.name",
  "text.format.description": "response_format.json_schema.description",
  "text.format.schema": "response_format.json_schema.schema",
  "text.format.strict": "response_format.json_schema.strict",
  "text.verbosity": "verbosity",
};

/**
 * Names of fields in the client's format, for error messages and receipts. They are built on demand, since they depend on the fields of the request.
 */
export class ChatFieldNames implements FieldNames {
  readonly itemFields = itemFields;
  readonly #messages: readonly number[];
  readonly #list: "tools" | "functions";
  readonly #declared: number;
  readonly #olderMaximum: boolean;
  readonly #bareEffort: boolean;
  readonly #oldChoice: boolean;

  /** @param messages for each input item, the number of its message */
  constructor(messages: readonly number[], given: GivenFields) {
    const { max_completion_tokens: newer, max_tokens: older, reasoning, functions, tools, tool_choice: choice } = given;
    this.#messages = messages;
    this.#list = tools ? "tools" : "functions";
    this.#declared = (tools ?? functions)?.length ?? 0;
    this.#olderMaximum = typeof newer !== "number" && typeof older === "number";
    this.#bareEffort = !reasoning;
    this.#oldChoice = !choice;
  }

  item(index: number): string | undefined {
    return messageAt(this.#messages[index]);
  }

  part(item: number, part: number): string | undefined {
    return partAt(this.#messages[item], part);
  }

  tool(index: number): string {
    return index < this.#declared ? `${this.#list}.${index}` : "web_search_options";
  }

  get toolFields(): Readonly<Record<string, string>> {
    return this.#list === "tools" ? toolFields : functionFields;
  }

  get fields(): Readonly<Record<string, string>> {
    return {
      ...fields,
      ...(this.#olderMaximum && { max_output_tokens: "max_tokens" }),
      ...(this.#oldChoice && { tool_choice: "function_call" }),
      ...(this.#bareEffort && { "reasoning.effort": "reasoning_effort" }),
    };
  }
}

const messageAt = (message: number | undefined): string | undefined =>
  message === undefined ? undefined : `messages.${message}`;

const partAt = (message: number | undefined, part: number): string | undefined =>
  message === undefined ? undefined : `messages.${message}.content.${part}`;
