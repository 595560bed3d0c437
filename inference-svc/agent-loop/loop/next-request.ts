/** Changes of the request from one answer of the model to the next. */
import type { ToolChoice, TurnRequest } from "../../turn/request.ts";

/** Lifts a forced tool choice: a model forced to call a tool in every turn never answers. */
export function withoutForcedTool(choice: ToolChoice): ToolChoice {
  if (choice === "required") return "auto";
  if (typeof choice === "string") return choice;
  return choice.type === "tool" ? "auto" : { ...choice, mode: "auto" };
}

const noMore =
  "No more tools can be called in this conversation turn. Answer now, with what you know; if something is missing, say what.";

/** The request for the last answer. The tools stay, to keep the beginning of the request in a provider's prompt cache. */
export const toLastStepRequest = (request: TurnRequest): TurnRequest => ({
  ...request,
  toolChoice: "none",
  input: [...request.input, { type: "message", role: "user", content: noMore }],
});
