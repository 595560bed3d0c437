/** Sorts the records of a batch by the tables in which they are stored. */
import type { Transaction } from "kysely";
import type { Database } from "../database.ts";
import { type Stored, findStored, nameOfCall } from "./ledger-rows.ts";
import { hasNumber } from "./delivered-numbers.ts";
import { dayNumber } from "./batch-spending.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";
import { namesOfBatch } from "./ledger-columns.ts";
import type { WholeTurn } from "./whole-turn.ts";
import type { DividedBatch } from "./whole-turns.ts";

export interface SortedBatch {
  /** New turns that become rows of the ledger. */
  readonly whole: readonly WholeTurn[];
  /** Records to be stored in `usage_records` and `turns`. */
  readonly parts: UsageBatch;
  /** Ids of turns to be moved out of the ledger, because some of the parts belong to them. */
  readonly left: readonly string[];
  readonly known: Stored;
}

/** Whether a turn record is not stored yet. */
export const isNew = ({ boot_id: bootId, sequence }: NewTurnRecord, delivered: Stored["delivered"]): boolean =>
  !hasNumber(delivered.get(bootId), BigInt(sequence));

export async function sortBatch(
  transaction: Transaction<Database>,
  batch: UsageBatch,
  divided: DividedBatch,
): Promise<SortedBatch> {
  const all = [...batch.records, ...batch.turns];
  const times = all.map(({ opened_at: at }) => new Date(at).getTime());
  const known = await findStored(transaction, {
    bootIds: [...new Set(batch.turns.map(({ boot_id: id }) => id))],
    generationIds: [...new Set(all.map(({ generation_id: id }) => id))],
    names: namesOfBatch(divided.whole),
    from: new Date(Math.min(...times)),
    to: new Date(Math.max(...times)),
  });
  const isFree = ({ turn, at }: WholeTurn): boolean =>
    isNew(turn, known.delivered) &&
    !known.apart.has(turn.generation_id) &&
    !known.calls.has(turn.generation_id) &&
    known.days.has(dayNumber(at));
  const whole = divided.whole.filter(isFree);
  const others = divided.whole.filter((each) => !isFree(each));
  const removed = removedTurns(batch.turns, known);
  const isStored = (call: NewUsageRecord): boolean =>
    removed.has(call.generation_id) || known.calls.get(call.generation_id)?.has(nameOfCall(call)) === true;
  const records = [
    ...divided.parts.records,
    ...others.flatMap(({ calls }) => calls.map(({ record }) => record)),
  ].filter((call) => !isStored(call));
  const turns = [...divided.parts.turns, ...others.map(({ turn }) => turn)].filter((turn) =>
    isNew(turn, known.delivered),
  );
  const touched = new Set([...records, ...turns].map(({ generation_id: id }) => id));
  return { whole, parts: { records, turns }, left: [...touched].filter((id) => known.calls.has(id)), known };
}

/** Turns whose number is known as delivered, but whose rows retention may have removed. */
function removedTurns(turns: readonly NewTurnRecord[], { delivered, keptFrom }: Stored): ReadonlySet<string> {
  const isRemoved = (turn: NewTurnRecord): boolean => turn.opened_at.getTime() < keptFrom && !isNew(turn, delivered);
  return new Set(turns.filter(isRemoved).map(({ generation_id: id }) => id));
}
