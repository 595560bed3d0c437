/**
 * Writes alerts about guardrail findings, in the transaction storing the turns: at most one a minute for each
 * guardrail, rule, action and key.
 */
import type { FilterActionWord } from "@sluice/proto/lib/policy/guardrail-words.js";
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { NewTurnRecord } from "../ledger/turn-record.ts";
import { lastAttemptAt } from "./outbox.ts";

/** Length in milliseconds of a time window whose findings become one alert. */
const windowMs = 60_000;

export interface GuardrailSink {
  readonly name: string;
  /** Name or id of the only workspace whose findings are reported; undefined for all workspaces. */
  readonly workspace?: string | undefined;
  readonly actions: readonly FilterActionWord[];
}

interface Hit {
  readonly position: number;
  readonly workspace_id: string;
  readonly guardrail_id: string;
  readonly rule: string | null;
  readonly action: FilterActionWord;
  readonly key_hash: string;
  hits: number;
}

/**
 * Writes the alerts for a batch of turns; call it before the turns are stored. @param turns as delivered, including
 * turns that an earlier delivery has stored, which are skipped
 */
export async function recordGuardrailHits(
  transaction: Transaction<Database>,
  sinks: readonly GuardrailSink[],
  turns: readonly NewTurnRecord[],
  at: Date,
): Promise<void> {
  const found = turns.filter(({ guardrail_id: id }) => id !== null);
  if (found.length === 0) return;
  const hits = groupHits(await leaveOutStored(transaction, found));
  let left: readonly Unwritten[] | null = null;
  for (let window = Math.floor(at.getTime() / windowMs); hits.length > 0; window++) {
    left = await writeHits(transaction, { sinks, hits, at, window, left });
    if (left.length === 0) return;
  }
}

/** Leaves out turns stored already: records of a process arrive in the order of their sequence numbers. */
async function leaveOutStored(
  transaction: Transaction<Database>,
  turns: readonly NewTurnRecord[],
): Promise<readonly NewTurnRecord[]> {
  const known = await transaction
    .selectFrom("turn_deliveries")
    .select(["boot_id", "last_sequence"])
    .where("boot_id", "in", [...new Set(turns.map(({ boot_id: id }) => id))])
    .execute();
  const last = new Map(known.map(({ boot_id: id, last_sequence: sequence }) => [id, BigInt(sequence)]));
  return turns.filter(({ boot_id: id, sequence }) => BigInt(sequence) > (last.get(id) ?? 0n));
}

function groupHits(turns: readonly NewTurnRecord[]): readonly Hit[] {
  const groups = new Map<string, Hit>();
  for (const { workspace_id, guardrail_id, rule, key_hash, requests, ...turn } of turns) {
    // Earlier builds do not record the action of the guardrail.
    const action = turn.guardrail_action ?? (turn.http_status === 403 ? "block" : "flag");
    const name = JSON.stringify([workspace_id, guardrail_id, rule, action, key_hash]);
    const known = groups.get(name);
    if (known) known.hits += requests;
    else {
      const position = groups.size;
      groups.set(name, {
        position,
        workspace_id,
        guardrail_id: guardrail_id ?? "",
        rule,
        action,
        key_hash,
        hits: requests,
      });
    }
  }
  return [...groups.values()];
}

interface Unwritten {
  readonly sink: string;
  readonly position: number;
}

interface Writing {
  readonly sinks: readonly GuardrailSink[];
  readonly hits: readonly Hit[];
  readonly at: Date;
  /** Number of the time window, counted from 1970. */
  readonly window: number;
  /** Findings that the preceding window could not take; null for all findings. */
  readonly left: readonly Unwritten[] | null;
}

/**
 * Adds findings to the alerts of a time window, which are due at its end. @returns findings whose alert was already
 * sent, because this transaction took too long
 */
async function writeHits(
  transaction: Transaction<Database>,
  { sinks, hits, at, window, left }: Writing,
): Promise<readonly Unwritten[]> {
  const begin = new Date(window * windowMs);
  const end = new Date((window + 1) * windowMs);
  const { rows } = await sql<Unwritten>`
    with sinks as (
      select * from jsonb_to_recordset(${JSON.stringify(sinks)}::jsonb) as sink (name text, workspace text, actions text[])
    ),
    hits as (
      select * from jsonb_to_recordset(${JSON.stringify(hits)}::jsonb) as hit (
        position integer, workspace_id uuid, guardrail_id text, rule text, action text, key_hash text, hits integer
      )
    ),
    pairs as (
      select sinks.name as sink, hits.*, workspaces.name as workspace,
        concat_ws(':', 'guardrail', guardrail_id, action, key_hash, md5(coalesce(rule, '')), ${window}::bigint) as event
      from hits join workspaces on workspaces.id = workspace_id
        join sinks on action = any(actions) and (sinks.workspace is null or sinks.workspace in (workspaces.name, workspaces.id::text))
    ),
    chosen as (
      select * from pairs where ${left === null}::boolean or (sink, position) in (
        select unwritten.sink, unwritten.position
        from jsonb_to_recordset(${JSON.stringify(left ?? [])}::jsonb) as unwritten (sink text, position integer)
      )
    ),
    written as (
      insert into alerts as known (sink, event, workspace_id, type, facts, at, due_at, give_up_at)
      select sink, event, chosen.workspace_id, 'guardrail.hit',
        jsonb_build_object(
          'guardrail_id', guardrail_id, 'guardrail', guardrails.name, 'rule', rule, 'action', action, 'hits', hits,
          'from', ${begin.toISOString()}::text, 'to', ${end.toISOString()}::text,
          'key_hash', key_hash, 'key_name', api_keys.name, 'workspace_id', chosen.workspace_id, 'workspace', workspace
        ), ${at}, ${end}, ${lastAttemptAt(end)}
      from chosen left join api_keys on api_keys.hash = key_hash left join guardrails on guardrails.id::text = guardrail_id
      order by 1, 2
      on conflict (sink, event) do update
        set facts = jsonb_set(known.facts, '{hits}', to_jsonb((known.facts ->> 'hits')::integer + (excluded.facts ->> 'hits')::integer))
        where known.attempts = 0
      returning sink, event
    )
    select sink, position from chosen where (sink, event) not in (select sink, event from written)`.execute(
    transaction,
  );
  return rows;
}
