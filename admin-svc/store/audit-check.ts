/** Verifies the audit log: no entry was changed, removed or inserted after it was written. */
import { type Kysely, sql } from "kysely";
import { chainLink, contentDigest, erasureAction } from "./audit.ts";
import type { Database } from "./database.ts";

/** State of a workspace's audit log. */
export interface AuditState {
  readonly workspaceId: string;
  readonly name: string;
  readonly entries: number;
  /** Entries whose subject was erased. */
  readonly erased: number;
  /** Number and hash of the last entry. A copy kept elsewhere reveals a rewritten log. */
  readonly sequence: string;
  readonly head: string;
  /** Numbers of the first ten wrong entries; the last number when the end of the log is missing. */
  readonly wrong: readonly string[];
  /** Numbers of the first ten entries erased by builds before 2026-11-28, which did not record the numbers: their erasure cannot be verified. */
  readonly unverifiable: readonly string[];
}

/**
 * States at one moment, read in one statement. An erased entry has no content, and a later erasure names it with the time. An erasure by an earlier build
 * gives only the number of erased entries: this many of the unnamed erased entries are unverifiable, and more are wrong.
 * @param workspaceId the only workspace to check; all of them when undefined
 */
export async function auditStates(database: Kysely<Database>, workspaceId?: string): Promise<readonly AuditState[]> {
  const isMeant = sql<boolean>`(${workspaceId ?? null}::uuid is null or workspaces.id = ${workspaceId ?? null}::uuid)`;
  const { rows } = await sql<AuditState>`
    with chained as (
      select log.*,
        lag(sequence, 1, audit_trimmed_sequence) over chain as sequence_before,
        lag(hash, 1, audit_trimmed_hash) over chain as hash_before
      from audit_log as log join workspaces on workspaces.id = log.workspace_id
      where ${isMeant}
      window chain as (partition by workspace_id order by sequence)
    ),
    erasures as (
      select workspace_id, sequence as erasure, after::jsonb as told from chained where action = ${erasureAction} and erased_at is null
    ),
    named as (
      select workspace_id, number::bigint as sequence, erasure, (told ->> 'erased_at_us')::bigint as erased_us
      from erasures cross join lateral jsonb_array_elements_text(told -> 'erased_entries') as each (number)
      where told ? 'erased_entries'
    ),
    counted as (
      select workspace_id, erasure, (told ->> 'entries')::bigint as entries from erasures where not told ? 'erased_entries'
    ),
    unnamed as (
      select workspace_id, sequence, row_number() over (partition by workspace_id order by sequence desc) as place
      from chained where erased_at is not null and not exists (
        select from named where named.workspace_id = chained.workspace_id and named.sequence = chained.sequence and erasure > chained.sequence
          and erased_us = (extract(epoch from erased_at) * 1000000)::bigint
      )
    ),
    claimed as (
      select workspace_id, sequence from unnamed where place <= (
        select coalesce(sum(entries), 0) from counted where counted.workspace_id = unnamed.workspace_id and erasure > unnamed.sequence
      )
    ),
    judged as (
      select chained.workspace_id, chained.sequence, hash, erased_at, claimed.sequence is not null as is_claimed,
        chained.sequence = sequence_before + 1
          and hash = sha256(hash_before || ${chainLink})
          and case when erased_at is null then digest = ${contentDigest}
            else target is null and before is null and after is null and salt is null and action <> ${erasureAction}
              and (unnamed.sequence is null or claimed.sequence is not null)
          end as is_right
      from chained left join unnamed on unnamed.workspace_id = chained.workspace_id and unnamed.sequence = chained.sequence
        left join claimed on claimed.workspace_id = chained.workspace_id and claimed.sequence = chained.sequence
    )
    select id as "workspaceId", name, count(sequence)::float8 as entries, count(erased_at)::float8 as erased,
      audit_sequence as sequence, encode(audit_hash, 'hex') as head,
      (array_agg(sequence order by sequence) filter (where sequence is not null and is_right is not true))[:10]
        || case when bool_or(sequence = audit_sequence and hash = audit_hash) or audit_sequence = audit_trimmed_sequence
          then '{}' else array[audit_sequence] end as wrong,
      coalesce((array_agg(sequence order by sequence) filter (where is_right and is_claimed))[:10], '{}') as unverifiable
    from workspaces left join judged on workspace_id = id
    where ${isMeant}
    group by id
    order by created_at, id`.execute(database);
  return rows.map((row) => ({ ...row, wrong: [...new Set(row.wrong)] }));
}
