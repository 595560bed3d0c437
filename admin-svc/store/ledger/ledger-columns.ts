/** The columns of `ledger` that a batch fills: their types, and their values for a turn. */
import type { LedgerTable, ListedCall, TokenColumn } from "../tables/ledger.ts";
import type { NewUsageRecord } from "./usage-batch.ts";
import { type WholeTurn, answers } from "./whole-turn.ts";

/** Columns of the ledger, except those whose values come from the statement or from a default. */
export type LedgerColumn = Exclude<keyof LedgerTable, "written" | "log_sequence" | "is_moved">;

type Value = string | number | boolean | undefined;

interface Column {
  /** Type in Postgres. */
  readonly type: string;
  /** Value of the column for a turn; undefined for null. */
  readonly valueOf: (turn: WholeTurn) => Value;
}

/** A column with numbers of names in `ledger_names`. */
interface NameColumn {
  readonly nameOf: (turn: WholeTurn) => string | undefined;
}

const orNone = <Given>(value: Given | null | undefined): Given | undefined => value ?? undefined;
const name = (of: (turn: WholeTurn) => string | null | undefined): NameColumn => ({
  nameOf: (turn) => of(turn) || undefined,
});
const column =
  (type: string) =>
  (valueOf: Column["valueOf"]): Column => ({ type, valueOf });
const [bigint, integer, smallint] = [column("bigint"), column("integer"), column("smallint")];
const [boolean, text, jsonb] = [column("boolean"), column("text"), column("jsonb")];

/**
 * Whether a turn's calls are stored in the column `calls`: there are several, or the only one differs from its turn.
 */
const isListed = ({ only, calls }: WholeTurn): boolean => only === undefined && calls.length > 0;

const tokens = (counted: TokenColumn): Column =>
  integer((turn) => {
    if (turn.only) return orNone(turn.only.record[counted]);
    return isListed(turn) ? turn.paid.reduce((sum, { record }) => sum + (record[counted] ?? 0), 0) : undefined;
  });

/** Cost of a turn in picodollars. */
function costOf(turn: WholeTurn): bigint | undefined {
  return isListed(turn) ? turn.paid.reduce((sum, call) => sum + (call.cost ?? 0n), 0n) : turn.only?.cost;
}

const hasRequestedModel = ({ turn, deciding }: WholeTurn): boolean =>
  turn.requested_model !== null && deciding?.record.model === turn.requested_model;

const lastAnswer = ({ paid }: WholeTurn): number =>
  paid.reduce((last, call) => (answers(call) ? Math.max(last, call.record.attempt) : last), 0);

export const ledgerColumns: Readonly<Record<LedgerColumn, Column | NameColumn>> = {
  opened_at: column("timestamptz")(({ at }) => new Date(at).toISOString()),
  cost_pico: bigint((turn) => costOf(turn)?.toString()),
  call_sequence: bigint(({ only }) => only?.record.sequence),
  turn_id: column("uuid")(({ only }) => only?.record.turn_id),
  workspace: name(({ turn }) => turn.workspace_id),
  key: name(({ turn }) => turn.key_hash),
  boot: name(({ only }) => only?.record.boot_id),
  instance: name(({ only }) => only?.record.instance),
  door: name(({ turn }) => turn.door),
  operation: name(({ turn }) => turn.operation),
  outcome: name(({ turn }) => turn.outcome),
  model: name(({ deciding }) => deciding?.record.model),
  provider: name(({ deciding }) => deciding?.record.provider),
  upstream_model: name(({ only }) => only?.record.upstream_model),
  service_tier: name(({ deciding }) => deciding?.record.service_tier),
  task: name(({ deciding }) => deciding?.record.task),
  finish_reason: name(({ deciding }) => deciding?.record.finish_reason),
  call_status: name(({ only }) => only?.record.status),
  error_type: name(({ turn }) => turn.error_type),
  provider_error: name(({ turn }) => turn.provider_error),
  guardrail: name(({ turn }) => turn.guardrail_id),
  rule: name(({ turn }) => turn.rule),
  duration_ms: integer(({ turn }) => turn.duration_ms),
  first_ms: integer(({ turn }) => orNone(turn.first_ms)),
  call_after_ms: integer(({ only, at }) => only && only.at - at),
  call_ms: integer(({ only }) => only?.record.duration_ms),
  call_first_ms: integer(({ only }) => orNone(only?.record.first_ms)),
  input_tokens: tokens("input_tokens"),
  cached_tokens: tokens("cached_tokens"),
  cache_write_tokens: tokens("cache_write_tokens"),
  output_tokens: tokens("output_tokens"),
  reasoning_tokens: tokens("reasoning_tokens"),
  requests: integer(({ turn }) => turn.requests),
  attempts: smallint(({ paid }) => paid.length),
  attempt: smallint(({ only }) => only?.record.attempt),
  last_attempt: smallint(lastAnswer),
  http_status: smallint(({ turn }) => turn.http_status),
  call_http_status: smallint(({ only }) => only?.record.http_status),
  streamed: boolean(({ turn }) => turn.streamed),
  is_estimated: boolean(({ paid }) => paid.some(({ record }) => record.is_estimated)),
  is_requested_model: boolean(hasRequestedModel),
  generation_id: text(({ turn }) => turn.generation_id),
  request_id: text(({ turn }) => turn.request_id),
  requested_model: text((whole) => (hasRequestedModel(whole) ? undefined : orNone(whole.turn.requested_model))),
  provider_code: text(({ turn }) => orNone(turn.provider_code)),
  user: text(({ turn }) => orNone(turn.user)),
  session_id: text(({ turn }) => orNone(turn.session_id)),
  trace_id: text(({ turn }) => orNone(turn.trace_id)),
  calls: jsonb((turn) =>
    isListed(turn) ? JSON.stringify(turn.calls.map((call) => toListedCall(turn, call))) : undefined,
  ),
  tags: jsonb(({ turn }) => (turn.tags === null ? undefined : JSON.stringify(turn.tags))),
};

function toListedCall({ deciding }: WholeTurn, call: WholeTurn["calls"][number]): ListedCall {
  const {
    workspace_id: _workspace,
    key_hash: _key,
    generation_id: _id,
    tags: _tags,
    user,
    session_id: session,
    ...listed
  }: NewUsageRecord = call.record;
  return {
    ...(listed as Omit<ListedCall, "has_user" | "has_session" | "ends_turn">),
    has_user: user !== null,
    has_session: session !== null,
    ends_turn: call === deciding && answers(call),
  };
}

const isName = (of: Column | NameColumn): of is NameColumn => "nameOf" in of;
const nameColumns = Object.values(ledgerColumns).filter(isName);
const integers = Object.values(ledgerColumns).filter((of): of is Column => !isName(of) && of.type === "integer");

/** Maximum of the integer columns for times, tokens and counts. */
const maxInteger = 2 ** 31 - 1;
const maxCost = 2n ** 63n - 1n;
/** Maximum length of a name in characters: a longer one does not fit into the index of names. */
const maxName = 512;

/** Whether all values of a turn fit into their columns. */
export const fitsColumns = (turn: WholeTurn): boolean =>
  integers.every(({ valueOf }) => Number(valueOf(turn) ?? 0) <= maxInteger) &&
  (costOf(turn) ?? 0n) <= maxCost &&
  nameColumns.every(({ nameOf }) => (nameOf(turn) ?? "").length <= maxName);

/** All names in a batch, without duplicates. */
export function namesOfBatch(whole: readonly WholeTurn[]): string[] {
  const names = new Set<string>();
  for (const { nameOf } of nameColumns) {
    for (const turn of whole) {
      const found = nameOf(turn);
      if (found !== undefined) names.add(found);
    }
  }
  return [...names];
}

/**
 * The values of a column as an array in Postgres syntax; null when no turn has a value.
 * @param ids numbers of names in `ledger_names`
 */
export function arrayOfColumn(
  of: Column | NameColumn,
  whole: readonly WholeTurn[],
  ids: ReadonlyMap<string, number>,
): string | null {
  if (isName(of)) return arrayLiteral(whole, (turn) => numberOf(of.nameOf(turn), ids));
  const { type, valueOf } = of;
  return arrayLiteral(whole, type === "text" || type === "jsonb" ? (turn) => quoted(valueOf(turn)) : valueOf);
}

/** Postgres type of a column. */
export const typeOfColumn = (of: Column | NameColumn): string => (isName(of) ? "integer" : of.type);

const numberOf = (found: string | undefined, ids: ReadonlyMap<string, number>): number | undefined =>
  found === undefined ? undefined : ids.get(found);

const quoted = (value: Value): string | undefined =>
  typeof value === "string" ? `"${/["\\]/.test(value) ? value.replace(/["\\]/g, String.raw`\$&`) : value}"` : undefined;

/** @param valueOf returns a number, or a text, quoted if it needs quotes */
function arrayLiteral<Item>(items: readonly Item[], valueOf: (item: Item) => Value): string | null {
  let list = "";
  let isEmpty = true;
  for (const item of items) {
    const value = valueOf(item);
    if (value !== undefined) isEmpty = false;
    list += value === undefined ? ",NULL" : `,${value}`;
  }
  return isEmpty ? null : `{${list.slice(1)}}`;
}
