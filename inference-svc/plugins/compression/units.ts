/** What of an input stays or goes together: a message, or what an assistant said and did with all that came of it. */
import { callFieldOf, callOf, namesOfCall } from "../../turn/call-pairs.ts";
import type { InputItem } from "../../turn/request.ts";

export interface Unit {
  /** Of its items, ascending. */
  readonly indices: number[];
  /** Of the user, and not of the assistant. */
  readonly isAsked: boolean;
}

export interface Grouped {
  /** In the order of their first items. */
  readonly units: readonly Unit[];
  /** Of items that belong to none: they hold for everything after them. */
  readonly pinned: readonly number[];
}

/** What settings say, and summaries that only their provider reads. */
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
const calls: ReadonlySet<string> = new Set(callOf.values());

const isPinned = ({ type, role }: InputItem): boolean =>
  pinnedKinds.has(type) || (type === "message" && pinnedRoles.has(role));

export function unitsOf(items: readonly InputItem[]): Grouped {
  const units: Unit[] = [];
  const pinned: number[] = [];
  /** By the kind and id of the call; of references by the id of the item. */
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
      // What an assistant says after an answer is another turn of it.
      if (item.type !== "item_reference") current = undefined;
      continue;
    }
    const isAsked = (item.type === "message" && item.role !== "assistant") || item.type === "agent_message";
    if (current === undefined || isAsked) {
      current = { indices: [], isAsked };
      units.push(current);
    }
    current.indices.push(index);
    note(item, current, owners);
    if (isAsked) current = undefined;
  }
  return { units, pinned };
}

function ownerOf(item: InputItem, owners: ReadonlyMap<string, Unit>): Unit | undefined {
  if (item.type === "item_reference") return owners.get(`item ${String(item.id)}`);
  const call = callOf.get(item.type);
  return call === undefined ? undefined : owners.get(`${call} ${String(item[callFieldOf(item.type)])}`);
}

function note(item: InputItem, unit: Unit, owners: Map<string, Unit>): void {
  if (typeof item.id === "string") owners.set(`item ${item.id}`, unit);
  if (!calls.has(item.type)) return;
  for (const [kind, id] of namesOfCall(item)) if (typeof id === "string") owners.set(`${kind} ${id}`, unit);
}
