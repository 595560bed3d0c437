/** The client tools of a request, their functions, and the items made from calls of these functions. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { HostedTool, Tool } from "../../turn/request.ts";
import { StateKey } from "../../turn/turn-state.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { readArguments } from "../call-arguments.ts";
import { describeAsFunction, freeName } from "../tool.ts";
import { applyPatch } from "./apply-patch.ts";
import type { ClientTool, OpenClientTool } from "./client-tool.ts";
import { computer, computerUsePreview } from "./computer.ts";
import { localShell, shell } from "./shells.ts";

const clientTools: readonly ClientTool[] = [applyPatch, shell, localShell, computer, computerUsePreview];

const byKind = new Map(clientTools.flatMap((tool) => tool.kinds.map((kind) => [kind, tool] as const)));

export const findClientTool = (kind: string): ClientTool | undefined => byKind.get(kind);

/** Whether the endpoint now in use was sent functions instead of client tools. */
export const clientFunctions = new StateKey(() => ({ areSent: false }));

export interface OfferedClientTool {
  readonly tool: ClientTool;
  readonly open: OpenClientTool;
}

export interface ClientTools {
  /** The tools of the request, each client tool with its function. */
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, OfferedClientTool>;
}

/** Cache by the request's list of tools: the steps of an agent share this list, and dialects cache its translation by it. */
const known = new WeakMap<readonly Tool[], ClientTools>();

export function findClientTools(tools: readonly Tool[]): ClientTools {
  let found = known.get(tools);
  if (found === undefined) known.set(tools, (found = nameClientTools(tools)));
  return found;
}

function nameClientTools(tools: readonly Tool[]): ClientTools {
  const taken = new Set(tools.flatMap((tool) => (tool.type === "hosted" ? [] : [tool.name])));
  const byName = new Map<string, OfferedClientTool>();
  const named = tools.map((entry): Tool => {
    const tool = entry.type === "hosted" ? byKind.get(entry.kind) : undefined;
    const open = tool?.open(JSON.parse((entry as HostedTool).json) as JsonObject);
    if (entry.type !== "hosted" || tool === undefined || open === undefined) return entry;
    const name = freeName(tool.name, taken);
    byName.set(name, { tool, open });
    return { ...entry, asFunction: describeAsFunction(name, open) };
  });
  return { tools: byName.size > 0 ? named : tools, byName };
}

/**
 * Converts a function call into the call item of its client tool.
 * @returns a sentence for the model if the call is wrong
 */
export function toClientItem({ tool, open }: OfferedClientTool, call: OutputItem): OutputItem | string {
  const args = readArguments(String(call["arguments"]), open.arguments);
  const fields = typeof args === "string" ? args : open.toFields(args);
  if (typeof fields === "string") return fields;
  const { call_id, status = "completed" } = call;
  return { type: tool.callType, id: newId(tool.idPrefix), call_id, status, ...fields };
}
