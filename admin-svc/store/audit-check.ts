/** Verifies that no entry of the audit log was changed, removed or inserted after it was written. */
import { type Kysely, sql } from "kysely";
import { chainLink, contentDigest, erasureAction } from "./audit.ts";
import type { Database } from "./database.ts";

/** Outcome of the check of a workspace's audit log. */
export interface AuditState {
  readonly workspaceId: string;
  readonly name: string;
  readonly entries: number;
  /** Number of entries whose content was erased with an end user. */
  readonly erased: number;
  /** Sequence number and hash of the last entry. A copy kept elsewhere reveals a rewritten log. */
  readonly sequence: string;
  readonly head: string;
  /** Sequence numbers of the first ten wrong entries; if the end of the log is missing, the last number. */
  readonly wrong: readonly string[];
  /**
   * Sequence numbers of the first ten entries whose erasure cannot be verified, because builds before 2026-11-28 did
   * not record which entries they erased.
   */
  readonly unverifiable: readonly string[];
}

/**
 * Checks all audit logs in one statement, and so at one moment. An erased entry has no content, and the entry of the
 * erasure must name it with its time. An erasure by a build before 2026-11-28 gives only the number of erased entries:
 * as many unnamed erased entries count as unverifiable, further ones as wrong.
 * @param workspaceId the only workspace to check; undefined for all
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
