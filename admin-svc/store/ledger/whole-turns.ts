/** Turns that arrive with all of their calls, and their rows of the ledger. */
import { answeringOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import type { LedgerTable, ListedCall, TokenColumn } from "../tables/ledger.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";

/** The record of a turn, and the records of its calls. */
export interface WholeTurn {
  readonly turn: NewTurnRecord;
  /** Start of the turn, milliseconds. */
  readonly at: number;
  readonly calls: readonly TurnCall[];
  readonly row: LedgerRow;
}

export interface TurnCall {
  readonly record: NewUsageRecord;
  /** Start of the call, milliseconds. */
  readonly at: number;
  /** Cost paid by the key in picodollars; undefined when it is unknown, and for calls paid by the operator. */
  readonly cost: bigint | undefined;
}

/** A row with the names of `nameColumns` in place of their numbers. */
export type LedgerRow = Readonly<Record<LedgerColumn, string | number | boolean | undefined>>;
export type LedgerColumn = Exclude<keyof LedgerTable, "written" | "log_sequence" | "is_moved">;

/** Columns with numbers of `ledger_names`. */
export const nameColumns = [
  "workspace",
  "key",
  "boot",
  "instance",
  "door",
  "operation",
  "outcome",
  "model",
  "provider",
  "upstream_model",
  "service_tier",
  "task",
  "finish_reason",
  "call_status",
  "error_type",
  "provider_error",
  "guardrail",
  "rule",
] as const satisfies readonly LedgerColumn[];

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

const isPaid = ({ record }: TurnCall): boolean => record.payer === "key";
const answers = ({ record }: TurnCall): boolean =>
  (answeringOperations as readonly string[]).includes(record.operation ?? "");

function describeTurn(turn: NewTurnRecord, records: readonly NewUsageRecord[]): WholeTurn {
  const at = timeOf(turn);
  const calls = records.map((record) => {
    const cost = record.payer === "key" && record.cost_usd != null ? parsePico(record.cost_usd) : undefined;
    return { record, at: timeOf(record), cost };
  });
  return { turn, at, calls, row: toLedgerRow(turn, at, calls) };
}

/** The paid call with the final answer, or else the last paid call: its model and provider are those of the turn. */
function decidingCall(paid: readonly TurnCall[]): TurnCall | undefined {
  const isLater = (one: TurnCall, other: TurnCall): boolean => {
    if (answers(one) !== answers(other)) return answers(one);
    const [attempt, last] = [one.record.attempt, other.record.attempt];
    return attempt === last ? one.at > other.at : attempt > last;
  };
  return paid.reduce<TurnCall | undefined>((last, call) => (last && !isLater(call, last) ? last : call), undefined);
}

/** The only call of a turn, if it equals the turn in every column that both share. */
function onlyCall(turn: NewTurnRecord, calls: readonly TurnCall[]): TurnCall | undefined {
  const [call] = calls;
  if (call === undefined || calls.length > 1 || !isPaid(call)) return undefined;
  const { record } = call;
  const isAlike =
    record.model !== "" &&
    record.provider !== "" &&
    record.request_id === turn.request_id &&
    record.user === turn.user &&
    record.session_id === turn.session_id &&
    record.door === turn.door &&
    record.operation === turn.operation &&
    record.streamed === turn.streamed;
  return isAlike ? call : undefined;
}

const orNone = <Value>(value: Value | null | undefined): Value | undefined => value ?? undefined;
const nonEmpty = (name: string | null | undefined): string | undefined => name || undefined;

function toLedgerRow(turn: NewTurnRecord, at: number, calls: readonly TurnCall[]): LedgerRow {
  const paid = calls.every(isPaid) ? calls : calls.filter(isPaid);
  const deciding = decidingCall(paid);
  const isRequestedModel = turn.requested_model !== null && deciding?.record.model === turn.requested_model;
  return {
    opened_at: new Date(at).toISOString(),
    workspace: turn.workspace_id,
    key: turn.key_hash,
    door: nonEmpty(turn.door),
    operation: nonEmpty(turn.operation),
    outcome: turn.outcome,
    model: nonEmpty(deciding?.record.model),
    provider: nonEmpty(deciding?.record.provider),
    service_tier: nonEmpty(deciding?.record.service_tier),
    task: nonEmpty(deciding?.record.task),
    finish_reason: nonEmpty(deciding?.record.finish_reason),
    error_type: nonEmpty(turn.error_type),
    provider_error: nonEmpty(turn.provider_error),
    guardrail: nonEmpty(turn.guardrail_id),
    rule: nonEmpty(turn.rule),
    duration_ms: turn.duration_ms,
    first_ms: orNone(turn.first_ms),
    requests: turn.requests,
    attempts: paid.length,
    last_attempt: paid.reduce((last, call) => (answers(call) ? Math.max(last, call.record.attempt) : last), 0),
    http_status: turn.http_status,
    streamed: turn.streamed,
    is_estimated: paid.some(({ record }) => record.is_estimated),
    is_requested_model: isRequestedModel,
    generation_id: turn.generation_id,
    request_id: turn.request_id,
    requested_model: isRequestedModel ? undefined : orNone(turn.requested_model),
    provider_code: orNone(turn.provider_code),
    user: orNone(turn.user),
    session_id: orNone(turn.session_id),
    trace_id: orNone(turn.trace_id),
    tags: turn.tags === null ? undefined : JSON.stringify(turn.tags),
    ...callColumns(at, { only: onlyCall(turn, calls), calls, paid, deciding }),
  };
}

interface CallsOfTurn {
  readonly only: TurnCall | undefined;
  readonly calls: readonly TurnCall[];
  readonly paid: readonly TurnCall[];
  readonly deciding: TurnCall | undefined;
}

type CallColumns = Pick<
  LedgerRow,
  | "turn_id"
  | "attempt"
  | "call_sequence"
  | "call_after_ms"
  | "call_ms"
  | "call_first_ms"
  | "call_http_status"
  | "boot"
  | "instance"
  | "upstream_model"
  | "call_status"
  | "cost_pico"
  | "calls"
  | TokenColumn
>;

function callColumns(at: number, { only, calls, paid, deciding }: CallsOfTurn): CallColumns {
  const isListed = only === undefined && calls.length > 0;
  const sumOf = (column: TokenColumn): number | undefined => {
    if (only) return orNone(only.record[column]);
    return isListed ? paid.reduce((sum, { record }) => sum + (record[column] ?? 0), 0) : undefined;
  };
  const cost = isListed ? paid.reduce((sum, call) => sum + (call.cost ?? 0n), 0n) : only?.cost;
  return {
    turn_id: only?.record.turn_id,
    attempt: only?.record.attempt,
    call_sequence: only?.record.sequence,
    call_after_ms: only && only.at - at,
    call_ms: only?.record.duration_ms,
    call_first_ms: orNone(only?.record.first_ms),
    call_http_status: only?.record.http_status,
    boot: only?.record.boot_id,
    instance: only?.record.instance,
    upstream_model: only?.record.upstream_model,
    call_status: only?.record.status,
    cost_pico: cost?.toString(),
    input_tokens: sumOf("input_tokens"),
    cached_tokens: sumOf("cached_tokens"),
    cache_write_tokens: sumOf("cache_write_tokens"),
    output_tokens: sumOf("output_tokens"),
    reasoning_tokens: sumOf("reasoning_tokens"),
    calls: isListed
      ? JSON.stringify(calls.map((call) => toListedCall(call.record, call === deciding && answers(call))))
      : undefined,
  };
}

/** Range of the columns for times, tokens and counts. */
const maxInteger = 2 ** 31 - 1;
const maxCost = 2n ** 63n - 1n;
const maxCalls = 1_000;
/** The rows of a turn and of its calls are sought within a day of each other. */
const dayMs = 86_400_000;
/** Longer names do not fit into the index of names. */
const maxName = 512;

const figureColumns = [
  "duration_ms",
  "first_ms",
  "requests",
  "call_ms",
  "call_first_ms",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const satisfies readonly LedgerColumn[];

function fits({ turn, at, calls, row }: WholeTurn): boolean {
  if (calls.length > maxCalls || turn.key_hash === "" || turn.door === "") return false;
  if (row.upstream_model === "" || row.instance === "") return false;
  return (
    calls.every((call) => isOfTurn(turn, call.record) && Math.abs(call.at - at) <= dayMs) &&
    (calls.length < 2 || new Set(calls.map(({ record }) => record.attempt)).size === calls.length) &&
    figureColumns.every((column) => Number(row[column] ?? 0) <= maxInteger) &&
    BigInt(row.cost_pico ?? 0) <= maxCost &&
    nameColumns.every((column) => ((row[column] ?? "") as string).length <= maxName)
  );
}

/** The list of calls has end user and session of the turn, or none. */
const isOfTurn = (turn: NewTurnRecord, call: NewUsageRecord): boolean =>
  call.workspace_id === turn.workspace_id &&
  (call.user === null || call.user === turn.user) &&
  (call.session_id === null || call.session_id === turn.session_id);

const timeOf = ({ opened_at: at }: { readonly opened_at: Date | string }): number => new Date(at).getTime();

function toListedCall(call: NewUsageRecord, endsTurn: boolean): ListedCall {
  const {
    workspace_id: _workspace,
    key_hash: _key,
    generation_id: _id,
    tags: _tags,
    user,
    session_id: session,
    ...listed
  } = call;
  return {
    ...(listed as Omit<ListedCall, "has_user" | "has_session" | "ends_turn">),
    has_user: user !== null,
    has_session: session !== null,
    ends_turn: endsTurn,
  };
}

/** Names of a batch, each once. */
export function namesOfBatch(whole: readonly WholeTurn[]): string[] {
  const names = new Set<string>();
  for (const { row } of whole) {
    for (const column of nameColumns) {
      const name = row[column];
      if (name !== undefined) names.add(name as string);
    }
  }
  return [...names];
}
