/** Turns that arrive with all of their calls, and their rows of the ledger. */
import { answeringOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import type { ListedCall, TokenColumn } from "../tables/ledger.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";

/** The record of a turn, and the records of its calls. */
export interface WholeTurn {
  readonly turn: NewTurnRecord;
  readonly calls: readonly NewUsageRecord[];
  /** Calls paid by the key. */
  readonly paid: readonly NewUsageRecord[];
  /** The paid call with the final answer, or else the last paid call: its model and provider are those of the turn. */
  readonly deciding: NewUsageRecord | undefined;
  /** The only call of the turn, if the row can have it in its columns. */
  readonly only: NewUsageRecord | undefined;
  /** Texts that the row has by numbers, by column. */
  readonly names: ReadonlyMap<string, string>;
}

export interface DividedBatch {
  readonly whole: readonly WholeTurn[];
  /** Calls without the record of their turn, and turns that do not fit into a row of the ledger. */
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

/** Records of each turn, in the order of the records of turns. */
function groupsOf(records: readonly NewUsageRecord[], turns: readonly NewTurnRecord[]): Iterable<Parts> {
  const groups = new Map<string, Parts>();
  const groupOf = ({ generation_id: id, key_hash: hash }: NewTurnRecord | NewUsageRecord): Parts => {
    const name = `${hash} ${id}`;
    const known = groups.get(name);
    if (known) return known;
    const made = { turns: [], calls: [] };
    groups.set(name, made);
    return made;
  };
  for (const turn of turns) groupOf(turn).turns.push(turn);
  for (const call of records) groupOf(call).calls.push(call);
  return groups.values();
}

const isPaid = ({ payer }: NewUsageRecord): boolean => payer === "key";
const answers = ({ operation }: NewUsageRecord): boolean =>
  (answeringOperations as readonly string[]).includes(operation ?? "");

function describeTurn(turn: NewTurnRecord, calls: readonly NewUsageRecord[]): WholeTurn {
  const paid = calls.every(isPaid) ? calls : calls.filter(isPaid);
  const deciding = decidingCall(paid);
  const only = onlyCall(turn, calls);
  return { turn, calls, paid, deciding, only, names: namesOf(turn, deciding, only) };
}

function decidingCall(paid: readonly NewUsageRecord[]): NewUsageRecord | undefined {
  const isLater = (one: NewUsageRecord, other: NewUsageRecord): boolean => {
    if (answers(one) !== answers(other)) return answers(one);
    return one.attempt === other.attempt ? timeOf(one) > timeOf(other) : one.attempt > other.attempt;
  };
  return paid.reduce<NewUsageRecord | undefined>(
    (last, call) => (last && !isLater(call, last) ? last : call),
    undefined,
  );
}

/** The only call of a turn, if it equals the turn in every column that both share. */
function onlyCall(turn: NewTurnRecord, calls: readonly NewUsageRecord[]): NewUsageRecord | undefined {
  const [call] = calls;
  if (call === undefined || calls.length > 1 || !isPaid(call) || call.model === "" || call.provider === "")
    return undefined;
  const isAlike =
    call.request_id === turn.request_id &&
    call.user === turn.user &&
    call.session_id === turn.session_id &&
    call.door === turn.door &&
    call.operation === turn.operation &&
    call.streamed === turn.streamed;
  return isAlike ? call : undefined;
}

function namesOf(
  turn: NewTurnRecord,
  deciding: NewUsageRecord | undefined,
  only: NewUsageRecord | undefined,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const add = (column: string, name: string | null | undefined): void => {
    if (name) names.set(column, name);
  };
  add("workspace", turn.workspace_id);
  add("key", turn.key_hash);
  add("door", turn.door);
  add("operation", turn.operation);
  add("outcome", turn.outcome);
  add("error_type", turn.error_type);
  add("provider_error", turn.provider_error);
  add("guardrail", turn.guardrail_id);
  add("rule", turn.rule);
  add("model", deciding?.model);
  add("provider", deciding?.provider);
  add("service_tier", deciding?.service_tier);
  add("task", deciding?.task);
  add("finish_reason", deciding?.finish_reason);
  add("boot", only?.boot_id);
  add("instance", only?.instance);
  add("upstream_model", only?.upstream_model);
  add("call_status", only?.status);
  return names;
}

/** Range of the columns for times, tokens and counts. */
const maxInteger = 2 ** 31 - 1;
const maxCost = 2n ** 63n - 1n;
const maxCalls = 1_000;
/** The rows of a turn and of its calls are sought within a day of each other. */
const dayMs = 86_400_000;
/** Longer names do not fit into the index of names. */
const maxName = 512;

function fits({ turn, calls, paid, names, only }: WholeTurn): boolean {
  if (calls.length > maxCalls || turn.key_hash === "" || turn.door === "") return false;
  if (only && (only.upstream_model === "" || only.instance === "")) return false;
  if (!calls.every((call) => isOfTurn(turn, call))) return false;
  if (new Set(calls.map(({ attempt }) => attempt)).size < calls.length) return false;
  const isFit = (figure: number): boolean => figure <= maxInteger;
  return (
    isFit(turn.duration_ms) &&
    isFit(turn.first_ms ?? 0) &&
    isFit(turn.requests) &&
    calls.every(
      (call) => isFit(call.duration_ms) && isFit(call.first_ms ?? 0) && Math.abs(timeOf(call) - timeOf(turn)) <= dayMs,
    ) &&
    tokenColumns.every((column) => isFit(sumOf(paid, column))) &&
    costOf(paid) <= maxCost &&
    [...names.values()].every((name) => name.length <= maxName)
  );
}

/** The list of calls has end user and session of the turn, or none. */
const isOfTurn = (turn: NewTurnRecord, call: NewUsageRecord): boolean =>
  call.workspace_id === turn.workspace_id &&
  (call.user === null || call.user === turn.user) &&
  (call.session_id === null || call.session_id === turn.session_id);

const tokenColumns = [
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const satisfies readonly TokenColumn[];

const sumOf = (calls: readonly NewUsageRecord[], column: TokenColumn): number =>
  calls.reduce((sum, call) => sum + (call[column] ?? 0), 0);

const costOf = (calls: readonly NewUsageRecord[]): bigint =>
  calls.reduce((sum, { cost_usd: cost }) => sum + (cost == null ? 0n : parsePico(cost)), 0n);

const timeOf = ({ opened_at: at }: { readonly opened_at: Date | string }): number => new Date(at).getTime();

/** A row as json; columns without a value are left out. */
export type LedgerRow = Readonly<Record<string, unknown>>;

/** @param ids numbers of all names of the batch */
export function toLedgerRow(whole: WholeTurn, ids: ReadonlyMap<string, number>): LedgerRow {
  const { turn, paid, deciding, only } = whole;
  const row: Record<string, unknown> = {
    opened_at: turn.opened_at,
    duration_ms: turn.duration_ms,
    first_ms: turn.first_ms ?? undefined,
    requests: turn.requests,
    attempts: paid.length,
    last_attempt: paid.reduce((last, call) => (answers(call) ? Math.max(last, call.attempt) : last), 0),
    http_status: turn.http_status,
    streamed: turn.streamed,
    is_estimated: paid.some(({ is_estimated: estimated }) => estimated),
    is_requested_model: turn.requested_model !== null && deciding?.model === turn.requested_model,
    generation_id: turn.generation_id,
    request_id: turn.request_id,
    provider_code: turn.provider_code ?? undefined,
    user: turn.user ?? undefined,
    session_id: turn.session_id ?? undefined,
    trace_id: turn.trace_id ?? undefined,
  };
  if (row["is_requested_model"] === false) row["requested_model"] = turn.requested_model ?? undefined;
  for (const [column, name] of whole.names) row[column] = ids.get(name);
  addCalls(row, whole, only);
  return row;
}

function addCalls(row: Record<string, unknown>, whole: WholeTurn, only: NewUsageRecord | undefined): void {
  const { turn, calls, paid, deciding } = whole;
  if (only) {
    row["turn_id"] = only.turn_id;
    row["attempt"] = only.attempt;
    row["call_sequence"] = only.sequence;
    row["call_after_ms"] = timeOf(only) - timeOf(turn);
    row["call_ms"] = only.duration_ms;
    row["call_first_ms"] = only.first_ms ?? undefined;
    row["call_http_status"] = only.http_status;
    row["cost_pico"] = only.cost_usd == null ? undefined : parsePico(only.cost_usd).toString();
    for (const column of tokenColumns) row[column] = only[column] ?? undefined;
  } else if (calls.length > 0) {
    row["cost_pico"] = costOf(paid).toString();
    for (const column of tokenColumns) row[column] = sumOf(paid, column);
    row["calls"] = calls.map((call) => toListedCall(call, call === deciding && answers(call)));
  }
}

function toListedCall(call: NewUsageRecord, endsTurn: boolean): ListedCall {
  const { workspace_id: _workspace, key_hash: _key, generation_id: _id, user, session_id: session, ...listed } = call;
  return {
    ...(listed as Omit<ListedCall, "has_user" | "has_session" | "ends_turn">),
    has_user: user !== null,
    has_session: session !== null,
    ends_turn: endsTurn,
  };
}

/** Names of a batch, each once. */
export const namesOfBatch = (whole: readonly WholeTurn[]): string[] => [
  ...new Set(whole.flatMap(({ names }) => [...names.values()])),
];
