/** Continues a suspended call of an earlier response with the tool that made it. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Offer } from "../tool.ts";
import type { CalledTool } from "./model-answer.ts";
import type { SuspendedCall } from "./suspended-calls.ts";

/**
 * Makes a call that continues a suspended one. @throws Fault INVALID_REQUEST when no tool of the request made the call,
 * or the tool does not recognize the state sent back by the client
 */
export function resumeCall({ callId, path, state, outputs }: SuspendedCall, offers: readonly Offer[]): CalledTool {
  const instance = state["instance_name"];
  const offer = offers.find(({ open }) => open.resume !== undefined && open.instance === instance);
  if (offer === undefined) {
    const name = typeof instance === "string" ? ` with the name ${instance}` : "";
    throw invalid(path, `the request lists no subagent${name} that could go on; send its tool again`);
  }
  const resumed = offer.open.resume?.(state, outputs);
  if (resumed === undefined) {
    const problemText =
      "is not what this service gave for this tool, its settings and this workspace; send it back unchanged";
    throw invalid(path, problemText);
  }
  const { args, run } = resumed;
  return { offer, callId, argumentsJson: JSON.stringify(args), resume: run };
}

/** The request with each output directly after its resumed call, where providers require it. */
export function withOutputs(request: TurnRequest, outputs: readonly InputItem[]): TurnRequest {
  if (outputs.length === 0) return request;
  const byCall = new Map(outputs.map((output) => [output["call_id"], output]));
  const input = request.input.flatMap((item) => {
    const output = item.type === "function_call" ? byCall.get(item["call_id"]) : undefined;
    return output ? [item, output] : [item];
  });
  return { ...request, input };
}
