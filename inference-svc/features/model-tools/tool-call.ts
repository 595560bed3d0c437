/** Calls a model on behalf of a tool. A failed call gives an error result, and the response continues. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type PartAnswer, PartCall, type PartSettings, type TextListener, partRequest } from "./part-call.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { RequestPart } from "../../turn/trace.ts";
import type { CalledModels } from "../../agent-loop/called-models.ts";
import type { ToolCall } from "../../agent-loop/tool.ts";

/** Time limit in milliseconds of one model call, equal to that of a model in a fusion panel. */
export const partMs = 120_000;
/** Time limit in milliseconds of a tool that makes such a call, with a reserve for a busy process. */
export const partToolMs = partMs + 5_000;

export interface PartCallRequest {
  readonly part: RequestPart;
  /** The client's request; its data policy and price limit apply to the call. */
  readonly request: TurnRequest;
  readonly own: PartSettings;
  /** Time limit of the call in milliseconds; the default limit when absent. */
  readonly limitMs?: number;
}

export type PartResult = { readonly reply: PartAnswer } | { readonly error: string };

/** Calls the model. @throws Fault when the turn is over */
export async function callModelForPart(
  { callModel }: Pick<CalledModels, "callModel">,
  { part, request, own, limitMs = partMs }: PartCallRequest,
  { scope, signal }: ToolCall,
  onText?: TextListener,
): Promise<PartResult> {
  const startedAt = performance.now();
  const outer = scope.with({ signal });
  const call = new PartCall({ request, scope: outer }, part, Math.min(limitMs, (scope.deadline - startedAt) / 2));
  const ended = (outcome: "answered" | "failed") =>
    scope.trace.stages.push({
      type: "server_tools",
      name: part,
      summary: `${own.models[0]} ${outcome === "answered" ? "answered" : "gave no answer"}`,
      data: { model: own.models[0], outcome, ms: Math.round(performance.now() - startedAt) },
    });
  try {
    const reply = await call.collect(callModel, partRequest(request, own), onText);
    ended("answered");
    return { reply };
  } catch (error) {
    ended("failed");
    throwIfAborted(scope.signal);
    return { error: Fault.from(error).message };
  }
}

/** Why a tool cannot call this model. @returns undefined when it can */
export function unknownModel(slug: string, { hasModel }: Pick<CalledModels, "hasModel">): string | undefined {
  if (hasModel(slug)) return undefined;
  return slug.startsWith("service/") ? `${slug} stands for models itself` : `no model is called ${slug}`;
}
