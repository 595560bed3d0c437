/**
 * Restores MCP items of earlier responses. Nothing is stored: the approval request item contains the call, and the
 * response item of the client contains the decision. A call runs only in the first request with the decision; items of
 * the model after the decision show that the call has already run.
 */
import type { InputItem } from "../../turn/request.ts";
import { type Offer, errorOutput } from "../../agent-loop/tool.ts";
import type { AllowedCall, ListedSource, RestoredCalls } from "../../agent-loop/tool-source.ts";
import { failureForModel, resultForModel } from "./tool-results.ts";
import { modelName } from "./tool-names.ts";

/** Matches types of items clients write; all others are written by the model. */
const byClient = /^(?:message|additional_tools|item_reference|configuration_update|.*_output|mcp_approval_response)$/;

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Finds a server's tool list in the history. */
export const findListedTools = (input: readonly InputItem[], label: string): readonly unknown[] | undefined => {
  const item = input.findLast(
    ({ type, server_label: of, error }) => type === "mcp_list_tools" && of === label && !error,
  );
  return Array.isArray(item?.["tools"]) ? item["tools"] : undefined;
};

export function restoreMcpItems(input: readonly InputItem[], sources: readonly ListedSource[]): RestoredCalls {
  const labels = new Map(sources.map((source) => [source.label, source]));
  const decisions = new Map(
    input.flatMap((item, at) => (isDecision(item) ? [[item["approval_request_id"], at] as const] : [])),
  );
  const done = new Set<unknown>(
    input.flatMap(({ type, approval_request_id: id }) => (type === "mcp_call" && id ? [id] : [])),
  );
  const requests = new Map(input.flatMap((item) => (isRequest(item) ? [[item["id"], item] as const] : [])));
  const lastOfModel = input.findLastIndex(isOfModel);
  const allowed: AllowedCall[] = [];
  const restored = input.flatMap((item): readonly InputItem[] => {
    const meant = isDecision(item) ? requests.get(item["approval_request_id"]) : item;
    const source = labels.get(text(meant?.["server_label"]));
    if (source === undefined) return [item];
    if (item.type === "mcp_list_tools" || isDecision(item)) return [];
    if (item.type === "mcp_call") return [callItem(item, source), outputItem(item, outputOf(item))];
    if (!isRequest(item)) return [item];
    if (done.has(item["id"])) return [];
    const at = decisions.get(item["id"]);
    const decision = at === undefined ? undefined : input[at];
    const offer = source.offers.get(text(item["name"]));
    const why = refusal(decision, (at ?? 0) < lastOfModel, offer);
    if (why === undefined && offer !== undefined) allowed.push(allowedCall(item, offer));
    return why === undefined ? [callItem(item, source)] : [callItem(item, source), outputItem(item, errorOutput(why))];
  });
  return { input: restored, allowed };
}

const isRequest = ({ type }: InputItem): boolean => type === "mcp_approval_request";
const isDecision = ({ type }: InputItem): boolean => type === "mcp_approval_response";
const isOfModel = ({ type, role }: InputItem): boolean => !byClient.test(type) || role === "assistant";

/** Why a call that needs approval does not run now. @returns undefined when it runs */
function refusal(decision: InputItem | undefined, isOld: boolean, offer: Offer | undefined): string | undefined {
  if (decision === undefined) return "the user has not said yet whether the call may be made; it was not made";
  const { approve, reason } = decision;
  if (approve !== true) return `the user does not want the call to be made${text(reason) && `: ${text(reason)}`}`;
  if (isOld) return "what the call gave is not kept";
  return offer === undefined ? "there is no such tool any more; the call was not made" : undefined;
}

const allowedCall = (item: InputItem, offer: Offer): AllowedCall => ({
  offer,
  callId: callIdOf(item),
  argumentsJson: text(item["arguments"]) || "{}",
  fields: { approval_request_id: item["id"] },
});

const callIdOf = ({ call_id: callId, id }: InputItem): string => text(callId ?? id);

const callItem = (item: InputItem, { label, offers }: ListedSource): InputItem => ({
  type: "function_call",
  call_id: callIdOf(item),
  name: offers.get(text(item["name"]))?.name ?? modelName(label, text(item["name"])),
  arguments: text(item["arguments"]) || "{}",
  status: "completed",
});

const outputItem = (item: InputItem, output: string): InputItem => ({
  type: "function_call_output",
  call_id: callIdOf(item),
  output,
});

function outputOf({ server_label: label, name, output, error }: InputItem): string {
  if (error === undefined || error === null) return resultForModel(text(label), text(name), text(output));
  return failureForModel(text(label), text(name), typeof error === "string" ? error : JSON.stringify(error));
}
