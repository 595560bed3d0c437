/** A turn that arrived with all of its calls. */
import { answeringOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord } from "./usage-batch.ts";

/** The record of a turn, and the records of its calls. */
export interface WholeTurn {
  readonly turn: NewTurnRecord;
  /** Start of the turn in milliseconds since 1970. */
  readonly at: number;
  readonly calls: readonly TurnCall[];
  /** Calls paid by the key, as opposed to the operator. */
  readonly paid: readonly TurnCall[];
  /**
   * The call whose model and provider the turn gets: the paid call with the final answer, or else the last paid call.
   */
  readonly deciding: TurnCall | undefined;
  /** The only call of the turn, if it equals the turn in every column that both have. */
  readonly only: TurnCall | undefined;
}

export interface TurnCall {
  readonly record: NewUsageRecord;
  /** Start of the call in milliseconds since 1970. */
  readonly at: number;
  /** Cost paid by the key in picodollars; undefined when it is unknown, and for calls paid by the operator. */
  readonly cost: bigint | undefined;
}

const isPaid = ({ record }: TurnCall): boolean => record.payer === "key";
/** Whether a call answers the request instead of only supporting an answer. */
export const answers = ({ record }: TurnCall): boolean =>
  (answeringOperations as readonly string[]).includes(record.operation ?? "");

export function describeTurn(turn: NewTurnRecord, records: readonly NewUsageRecord[]): WholeTurn {
  const at = timeOf(turn);
  const calls = records.map((record) => {
    const cost = record.payer === "key" && record.cost_usd != null ? parsePico(record.cost_usd) : undefined;
    return { record, at: timeOf(record), cost };
  });
  const paid = calls.every(isPaid) ? calls : calls.filter(isPaid);
  return { turn, at, calls, paid, deciding: decidingCall(paid), only: onlyCall(turn, calls) };
}

function decidingCall(paid: readonly TurnCall[]): TurnCall | undefined {
  const isLater = (one: TurnCall, other: TurnCall): boolean => {
    if (answers(one) !== answers(other)) return answers(one);
    const [attempt, last] = [one.record.attempt, other.record.attempt];
    return attempt === last ? one.at > other.at : attempt > last;
  };
  return paid.reduce<TurnCall | undefined>((last, call) => (last && !isLater(call, last) ? last : call), undefined);
}

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

const timeOf = ({ opened_at: at }: { readonly opened_at: Date | string }): number => new Date(at).getTime();
