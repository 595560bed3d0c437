/**
 * Messages of the system for servers of open models. Templates such as those of Qwen since 3.5 refuse every one but the first ("System message must
 * be at the beginning", vllm-project/vllm issue 41114, ollama/ollama issue 17774), and agents send several. Servers of the Responses format put the
 * instructions before the input and run the same templates (`construct_input_messages` of vLLM, `FromResponsesRequest` of Ollama,
 * `convert_responses_to_chatcmpl` of llama.cpp; BerriAI/litellm pull request 39852).
 */
import type { InputItem } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";

/** Vendors with servers of their own take messages of the system anywhere. */
export const takesPromptsAnywhere = ({ original, vendor }: Target): boolean => original || vendor !== undefined;

export const isPrompt = ({ type, role }: InputItem): boolean =>
  type === "message" && (role === "system" || role === "developer");

export function countFirstPrompts(input: readonly InputItem[]): number {
  let count = 0;
  while (count < input.length && isPrompt(input[count]!)) count++;
  return count;
}

export const joinedPrompt = "repaired: joined with the system message before it, because many servers take only one";
export const latePrompt = "sent as the user's: many servers take a system message only at the beginning";
