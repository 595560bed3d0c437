/** Finds the turns in a batch that arrive with all of their calls. */
import { fitsColumns } from "./ledger-columns.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";
import { type WholeTurn, describeTurn } from "./whole-turn.ts";

export interface DividedBatch {
  readonly whole: readonly WholeTurn[];
  /**
   * The remaining records: calls without the record of their turn, and turns that do not fit into a row of the ledger.
   */
  readonly parts: UsageBatch;
}

interface Parts {
  readonly turns: NewTurnRecord[];
  readonly calls: NewUsageRecord[];
}

export function divideBatch({ records, turns }: UsageBatch): DividedBatch {
  const whole: WholeTurn[] = [];
  const parts: { readonly records: NewUsageRecord[]; readonly turns: NewTurnRecord[] } = { records: [], turns: [] };
  for (const group of groupsOf(records, turns)) {
    const [turn, ...others] = group.turns;
    const described = turn && others.length === 0 ? describeTurn(turn, group.calls) : undefined;
    if (described && fits(described)) whole.push(described);
    else {
      parts.turns.push(...group.turns);
      parts.records.push(...group.calls);
    }
  }
  return { whole, parts };
}

/** Groups the records of each turn, in the order of the turn records. */
function groupsOf(records: readonly NewUsageRecord[], turns: readonly NewTurnRecord[]): readonly Parts[] {
  const groups: Parts[] = [];
  /** Groups by the id of the turn, one group for each key: two keys have the same id only if a process is at fault. */
  const groupsById = new Map<string, (Parts & { readonly hash: string })[]>();
  const groupOf = ({ generation_id: id, key_hash: hash }: NewTurnRecord | NewUsageRecord): Parts => {
    const alike = groupsById.get(id);
    const known = alike?.find((group) => group.hash === hash);
    if (known) return known;
    const made = { hash, turns: [], calls: [] };
    groups.push(made);
    if (alike) alike.push(made);
    else groupsById.set(id, [made]);
    return made;
  };
  for (const turn of turns) groupOf(turn).turns.push(turn);
  for (const call of records) groupOf(call).calls.push(call);
  return groups;
}

/** Maximum distance between a turn and its calls: queries search for their rows within a day of each other. */
const dayMs = 86_400_000;
const maxCalls = 1_000;

function fits(whole: WholeTurn): boolean {
  const { turn, at, calls, only } = whole;
  if (calls.length > maxCalls || turn.key_hash === "" || turn.door === "") return false;
  if (only && (only.record.upstream_model === "" || only.record.instance === "")) return false;
  return (
    calls.every((call) => isOfTurn(turn, call.record) && Math.abs(call.at - at) <= dayMs) &&
    (calls.length < 2 || new Set(calls.map(({ record }) => record.attempt)).size === calls.length) &&
    fitsColumns(whole)
  );
}

/** Whether a call has the end user and session of its turn, or none: the list of calls in a row cannot store others. */
const isOfTurn = (turn: NewTurnRecord, call: NewUsageRecord): boolean =>
  call.workspace_id === turn.workspace_id &&
  (call.user === null || call.user === turn.user) &&
  (call.session_id === null || call.session_id === turn.session_id);
