/**
 * System messages at the beginning of a request. They keep the order of the request, with the instructions in front of
 * them. If there is no other message, the last one becomes a user message, because formats and templates require a
 * message to answer ("No user query found in messages" of Qwen, "messages: at least one message is required" of
 * Anthropic).
 *
 * Servers of open models take only one system message, and only at the beginning. Templates such as those of Qwen since
 * 3.5 refuse every one but the first ("System message must be at the beginning", vllm-project/vllm issue 41114,
 * ollama/ollama issue 17774), and agents send several. Servers of the Responses format put the instructions before the
 * input and run the same templates (`construct_input_messages` of vLLM, `FromResponsesRequest` of Ollama,
 * `convert_responses_to_chatcmpl` of llama.cpp; BerriAI/litellm pull request 39852).
 */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { objects } from "../json.ts";

/** Vendors whose servers run open models with such templates. */
const servesTemplates: ReadonlySet<string> = new Set([
  "cerebras",
  "deepinfra",
  "fireworks",
  "moonshotai",
  "nvidia",
  "perplexity",
  "sambanova",
  "together",
]);

/** Whether the server takes system messages anywhere, as other vendors' servers do. */
export const takesPromptsAnywhere = ({ original, vendor }: Target): boolean =>
  original || (vendor !== undefined && !servesTemplates.has(vendor));

export const isPrompt = ({ type, role }: InputItem): boolean =>
  type === "message" && (role === "system" || role === "developer");

export const latePrompt = "sent as the user's: many servers take a system message only at the beginning";
const joinedPrompt = "repaired: joined with the system message before it, because many servers take only one";
const question = "repaired: sent as the user's, because a request needs a message besides the system's";

/** How the system messages at the beginning are sent, in the formats chat completions and Responses. */
export interface Opening {
  /** Number of first items that stay system messages; later system messages become user messages. */
  readonly prompts: number;
  /** Whether the instructions and these items are sent as one message. */
  readonly joins: boolean;
  /** Whether the instructions are sent as a user message. */
  readonly asksInstructions: boolean;
  /** Reason in the receipt for a system message sent as a user message. */
  readonly reason: string;
}

const anywhere: Opening = { prompts: Number.POSITIVE_INFINITY, joins: false, asksInstructions: false, reason: "" };

/** @param isStrict whether the server takes only one system message, at the beginning */
export function openingOf({ instructions, input }: TurnRequest, isStrict: boolean): Opening {
  if (!isStrict) return anywhere;
  let first = 0;
  while (first < input.length && isTextPrompt(input[first]!)) first++;
  let end = first;
  while (end < input.length && silent.has(input[end]!.type)) end++;
  const isAlone = end === input.length;
  const asksInstructions = isAlone && first === 0 && instructions !== undefined;
  const prompts = isAlone ? Math.max(0, first - 1) : first;
  const joins = prompts > (instructions === undefined ? 1 : 0);
  return { prompts, joins, asksInstructions, reason: isAlone ? question : latePrompt };
}

/** Whether a system message consists only of text; with other parts, it cannot stay one. */
const isTextPrompt = (item: InputItem): boolean =>
  isPrompt(item) &&
  (typeof item.content === "string" || objects(item.content).every(({ text }) => typeof text === "string"));

/** Types of items that do not become messages. */
const silent: ReadonlySet<string> = new Set([
  "additional_tools",
  "configuration_update",
  "item_reference",
  "reasoning",
  "tool_search_output",
]);

export const reportJoined = (path: string, onDropped: OnDropped): void => onDropped(path, joinedPrompt);

export function reportQuestion(path: string, onDropped: OnDropped): void {
  onDropped(path, question);
}

/** Joins the texts of several messages into one text. */
export const joinPromptTexts = (texts: readonly string[]): string => texts.join("\n\n");

interface Prompt<Part> {
  /** Path of the field that becomes a user message. */
  readonly path: string;
  readonly parts: readonly Part[];
}

/** The system messages for a format that has one place for all of them. */
export class FirstPrompts<Part> {
  readonly #prompts: Prompt<Part>[] = [];

  constructor(instructions: readonly Part[]) {
    if (instructions.length > 0) this.#prompts.push({ path: "instructions", parts: instructions });
  }

  /** Adds a message. @param path path of its item */
  add(parts: readonly Part[], path: string): void {
    if (parts.length > 0) this.#prompts.push({ path: `${path}.role`, parts });
  }

  /** Removes the last message, which is sent as a user message. @returns undefined when there is none */
  takeQuestion(onDropped: OnDropped): readonly Part[] | undefined {
    const last = this.#prompts.pop();
    if (last) reportQuestion(last.path, onDropped);
    return last?.parts;
  }

  /** The parts of each system message. */
  get messages(): readonly (readonly Part[])[] {
    return this.#prompts.map(({ parts }) => parts);
  }
}
