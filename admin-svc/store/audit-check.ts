/** Verifies the audit log: no entry was changed, removed or inserted after it was written. */
import { type Kysely, sql } from "kysely";
import { chainLink, contentDigest } from "./audit.ts";
import type { Database } from "./database.ts";

/** State of one workspace's audit log. */
export interface AuditState {
  readonly workspaceId: string;
  readonly name: string;
  readonly entries: number;
  /** Entries whose subject was erased. */
  readonly erased: number;
  /** Number and hash of the last entry. A copy kept elsewhere reveals a log that was written anew. */
  readonly sequence: string;
  readonly head: string;
  /** Numbers of the first ten wrong entries; the last number when the end of the log is missing. */
  readonly wrong: readonly string[];
}

/** States at one moment, read in one statement. @param workspaceId the only workspace to check; all of them when undefined */
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
    judged as (
      select workspace_id, sequence, hash, erased_at,
        sequence = sequence_before + 1
          and hash = sha256(hash_before || ${chainLink})
          and (erased_at is not null or digest = ${contentDigest}) as is_right
      from chained
    )
    select id as "workspaceId", name, count(sequence)::float8 as entries, count(erased_at)::float8 as erased,
      audit_sequence as sequence, encode(audit_hash, 'hex') as head,
      (array_agg(sequence order by sequence) filter (where not is_right))[:10]
        || case when bool_or(sequence = audit_sequence and hash = audit_hash) or audit_sequence = audit_trimmed_sequence
          then '{}' else array[audit_sequence] end as wrong
    from workspaces left join judged on workspace_id = id
    where ${isMeant}
    group by id
    order by created_at, id`.execute(database);
  return rows.map((row) => ({ ...row, wrong: [...new Set(row.wrong)] }));
}
