/** Units of an input that stay or go together: a message, or an assistant's turn with its calls and their outputs. */
import { callIdField, callTypeByOutput, callNames } from "../../turn/call-pairs.ts";
import type { InputItem } from "../../turn/request.ts";

export interface Unit {
  /** Indices of the unit's items, ascending. */
  readonly indices: number[];
  /** Whether the unit is a message of the user. */
  readonly isUserRequest: boolean;
}

export interface GroupedUnits {
  /** Units in the order of their first items. */
  readonly units: readonly Unit[];
  /** Indices of items that belong to no unit, because they apply to everything after them. */
  readonly pinned: readonly number[];
}

/** Types of items with settings, and of summaries that only their provider can read. */
const pinnedKinds: ReadonlySet<string> = new Set([
  "additional_tools",
  "configuration_update",
  "compaction",
  "context_compaction",
  "mcp_list_tools",
  "tool_search_call",
  "tool_search_output",
]);
const pinnedRoles: ReadonlySet<unknown> = new Set(["system", "developer"]);
const calls: ReadonlySet<string> = new Set(callTypeByOutput.values());

const isPinned = ({ type, role }: InputItem): boolean =>
  pinnedKinds.has(type) || (type === "message" && pinnedRoles.has(role));

export function groupUnits(items: readonly InputItem[]): GroupedUnits {
  const units: Unit[] = [];
  const pinned: number[] = [];
  /** Units by kind and id of their calls; an item reference is found by the item's id. */
  const owners = new Map<string, Unit>();
  let current: Unit | undefined;
  for (const [index, item] of items.entries()) {
    if (isPinned(item)) {
      pinned.push(index);
      continue;
    }
    const owner = ownerOf(item, owners);
    if (owner) {
      owner.indices.push(index);
      // An assistant message after the output of a call starts another unit.
      if (item.type !== "item_reference") current = undefined;
      continue;
    }
    const isUserRequest = (item.type === "message" && item.role !== "assistant") || item.type === "agent_message";
    if (current === undefined || isUserRequest) {
      current = { indices: [], isUserRequest };
      units.push(current);
    }
    current.indices.push(index);
    note(item, current, owners);
    if (isUserRequest) current = undefined;
  }
  return { units, pinned };
}

function ownerOf(item: InputItem, owners: ReadonlyMap<string, Unit>): Unit | undefined {
  if (item.type === "item_reference") return owners.get(`item ${String(item.id)}`);
  const call = callTypeByOutput.get(item.type);
  return call === undefined ? undefined : owners.get(`${call} ${String(item[callIdField(item.type)])}`);
}

function note(item: InputItem, unit: Unit, owners: Map<string, Unit>): void {
  if (typeof item.id === "string") owners.set(`item ${item.id}`, unit);
  if (!calls.has(item.type)) return;
  for (const [kind, id] of callNames(item)) if (typeof id === "string") owners.set(`${kind} ${id}`, unit);
}
