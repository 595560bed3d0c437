/** What cannot be said in chat at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal } from "../dialect.ts";

export function chatRefusal(request: TurnRequest): Refusal | undefined {
  const index = request.tools.findIndex((tool) => tool.type === "hosted");
  const tool = request.tools[index];
  if (tool?.type !== "hosted") return undefined;
  return { path: `tools.${index}`, message: `no provider of this model runs tools of type ${tool.spelling}` };
}
