/**
 * Finds suspended server tool calls of earlier responses: they wait for functions of the client, and the client sends them back with the functions'
 * outputs.
 */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem } from "../../turn/request.ts";

/** A suspended call with everything it waited for. */
export interface SuspendedCall {
  /** Call id assigned by the model. */
  readonly callId: string;
  /** Path of the state in the client's request, for error messages. */
  readonly path: string;
  /** The tool's state, which the client got with the first function call. */
  readonly state: JsonObject;
  /** Outputs of the function calls, in the order of the calls. */
  readonly outputs: readonly InputItem[];
}

export interface SuspendedCalls {
  /** Suspended calls by the index of the input item at which the model reads the call. */
  readonly waiting: ReadonlyMap<number, SuspendedCall>;
  /** Indices of input items that only tools read and models do not get. */
  readonly hidden: ReadonlySet<number>;
}

interface Group {
  /** Index of the input item of the function call with the state. */
  readonly at: number;
  /** The tool's state; undefined when the client did not send it back. */
  readonly state: JsonObject | undefined;
  readonly calls: { readonly index: number; readonly id: unknown }[];
}

const none: SuspendedCalls = { waiting: new Map(), hidden: new Set() };

const subagent = "service:subagent";

/**
 * Finds the suspended calls. The last suspension of a call counts; an item with the call's result settles it.
 * @throws Fault INVALID_REQUEST when the state or an output of a suspended call is missing
 */
export function findSuspendedCalls(input: readonly InputItem[]): SuspendedCalls {
  if (!input.some(belongsToTool)) return none;
  const groups = new Map<string, Group>();
  const hidden = new Set<number>();
  const outputs = new Map<unknown, number>();
  const owned = new Set<unknown>();
  for (const [index, item] of input.entries()) {
    if (belongsToTool(item)) {
      hidden.add(index);
      owned.add(item["call_id"]);
      join(groups, item, index);
    } else if (item.type === subagent) {
      if (item["status"] === "in_progress") hidden.add(index);
      else groups.delete(String(item["call_id"]));
    } else if (item.type === "function_call_output" && owned.has(item["call_id"])) {
      hidden.add(index);
      outputs.set(item["call_id"], index);
    }
  }
  const waiting = new Map<number, SuspendedCall>();
  for (const [callId, group] of groups) {
    const { at, state } = group;
    const path = `input.${at}.subagent_items`;
    if (state === undefined) throw invalid(path, "is missing: send the items of a subagent back as they came");
    waiting.set(at, { callId, path, state, outputs: outputsOf(group, input, outputs) });
  }
  return { waiting, hidden };
}

const belongsToTool = ({ type, subagent_id: owner }: InputItem): boolean =>
  type === "function_call" && typeof owner === "string";

/** Adds a function call to its group. The first call of a suspension carries the state, and begins a new group. */
function join(groups: Map<string, Group>, item: InputItem, index: number): void {
  const id = String(item["subagent_id"]);
  const [first] = Array.isArray(item["subagent_items"]) ? item["subagent_items"] : [];
  const state = isObject(first) ? first : undefined;
  const known = state === undefined ? groups.get(id) : undefined;
  const group = known ?? { at: index, state, calls: [] };
  groups.set(id, group);
  group.calls.push({ index, id: item["call_id"] });
}

const outputsOf = ({ calls }: Group, input: readonly InputItem[], outputs: ReadonlyMap<unknown, number>) =>
  calls.map(({ index, id }): InputItem => {
    const output = input[outputs.get(id) ?? -1];
    if (output === undefined)
      throw invalid(`input.${index}.call_id`, "has no function_call_output: the subagent waits for it");
    return output;
  });
