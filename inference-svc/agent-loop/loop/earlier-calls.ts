/** Converts server tool items of earlier responses back to the function calls and outputs the model read at that time. */
import type { CallableTool, HostedTool, InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Offer, ServerTool, ToolDeps } from "../tool.ts";
import type { CalledTool } from "./model-answer.ts";
import { findSuspendedCalls } from "./suspended-calls.ts";
import { resumeCall } from "./resumed-call.ts";
import { isServerItem } from "../../turn/item-kinds.ts";

interface RecallParts extends Pick<ToolDeps, "isNative"> {
  /** Server tools by the types of their entries in requests. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Tools offered in this request. */
  readonly offers: readonly Offer[];
}

export interface EarlierCalls {
  readonly input: readonly InputItem[];
  /** Tools found by a search. */
  readonly loaded: readonly CallableTool[];
  /** Suspended calls to continue, in input order. */
  readonly waiting: readonly CalledTool[];
}

/** @returns undefined when the input has no items of server tools @throws Fault INVALID_REQUEST for a suspended call that cannot be continued */
export function restoreEarlierCalls(
  request: TurnRequest,
  scope: Scope,
  { tools, offers, isNative }: RecallParts,
): EarlierCalls | undefined {
  const known = new Map<string, Opened | undefined>();
  const opened = (type: string, instance: unknown): Opened | undefined => {
    const tool = tools.get(type);
    if (tool === undefined) return undefined;
    const alike = offers.filter((each) => each.tool === tool);
    const offer = alike.find(({ open }) => open.instance === instance) ?? alike[0];
    if (offer) return offer;
    // Items of a tool run by the provider stay: the provider reads them itself.
    const listed = request.tools.find((each) => each.type === "hosted" && each.kind === type) as HostedTool | undefined;
    const unlisted: HostedTool = { type: "hosted", kind: type, spelling: type, json: `{"type":"${type}"}` };
    if (isNative(request, listed ?? unlisted)) return undefined;
    const open = tool.open({ parameters: {}, entry: {}, path: "input", request, scope });
    return open && { open, name: tool.kinds[0].replace(":", "_") };
  };
  const loaded: CallableTool[] = [];
  const waiting: CalledTool[] = [];
  const suspended = findSuspendedCalls(request.input);
  let isAny = false;
  const ofOffers = new Map(
    offers.flatMap((offer) => {
      const { type, output } = offer.items;
      return [type, ...(output ? [output.type] : [])].map((each) => [each, offer] as const);
    }),
  );
  const input = request.input.flatMap((item, index): readonly InputItem[] => {
    const paused = suspended.waiting.get(index);
    if (paused) {
      const call = resumeCall(paused, offers);
      waiting.push(call);
      isAny = true;
      return [callItem(call.callId, call.offer.name, call.argumentsJson)];
    }
    if (suspended.hidden.has(index)) {
      isAny = true;
      return [];
    }
    if (!isServerItem(item) && !ofOffers.has(item.type)) return [item];
    const instance: unknown = item["instance_name"];
    const key = `${item.type} ${String(instance)}`;
    if (!known.has(key)) known.set(key, opened(item.type, instance) ?? ofOffers.get(item.type));
    const tool = known.get(key);
    if (tool === undefined) return [item];
    isAny = true;
    const { args, output, loads = [] } = tool.open.recall(item);
    loaded.push(...loads);
    const callId = item["call_id"] ?? item["id"] ?? `st_${index}`;
    return [
      ...(args ? [callItem(callId, tool.name, JSON.stringify(args))] : []),
      ...(output === undefined ? [] : [{ type: "function_call_output", call_id: callId, output }]),
    ];
  });
  return isAny ? { input, loaded, waiting } : undefined;
}

const callItem = (callId: unknown, name: string, json: string): InputItem => ({
  type: "function_call",
  call_id: callId,
  name,
  arguments: json,
  status: "completed",
});

type Opened = Pick<Offer, "open" | "name">;
