/** The audit log: what is written of a change, how it is found again, and whether anybody has touched it since. */
import { type Kysely, type RawBuilder, type Selectable, type Transaction, sql } from "kysely";
import type { AuditLogTable, Database } from "./database.ts";

/** Who changes something, and where. */
export interface Author {
  readonly workspaceId: string;
  /** Of the management key; null when there is none. */
  readonly keyHash: string | null;
  /** Through which door. */
  readonly program: "api" | "cli" | "bootstrap";
  readonly requestId: string | null;
}

/** What was changed. No secret is ever in it. */
export interface AuditEntry {
  /** Noun and verb, as on the command line: `keys.revoke`. */
  readonly action: string;
  /** Hash, id or name of what was changed. */
  readonly target: string;
  /** As it was; absent when there was nothing. */
  readonly before?: object;
  /** As it is now; absent when nothing is left. */
  readonly after?: object;
}

export const actorOf = ({ keyHash, program }: Author): string => keyHash ?? program;

/** The fields in which two states of a row differ, as each has them. When it was written is no difference. */
export function difference<Row extends object>(before: Row, after: Row): { before: object; after: object } {
  const differing = Object.keys(after).filter((name) => {
    const [was, is] = [before[name as keyof Row], after[name as keyof Row]];
    return name !== "updated_at" && JSON.stringify(was) !== JSON.stringify(is);
  });
  const of = (row: Row) => Object.fromEntries(differing.map((name) => [name, row[name as keyof Row]]));
  return { before: of(before), after: of(after) };
}

/** What may be erased. Kept as it was written, so that nothing is parsed to make its digest: a bulk has thirty kilobytes. */
export const contentDigest: RawBuilder<Buffer> = sql`sha256(convert_to(json_build_array(salt, target, before, after)::text, 'UTF8'))`;

/** All the rest. */
export const chainLink: RawBuilder<Buffer> = sql`convert_to(json_build_array(
  (extract(epoch from at) * 1000000)::bigint, actor, action, request_id, generation, encode(digest, 'hex'))::text, 'UTF8')`;

/**
 * The parts of a statement that writes an entry: names to put behind `with`.
 * @param generation the policy generation that the change made, or null
 */
export function auditing(
  author: Author,
  entry: AuditEntry,
  generation: RawBuilder<string | null>,
): RawBuilder<unknown> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value));
  return sql`
    audit_content as (
      select clock_timestamp() as at, ${actorOf(author)}::text as actor, ${entry.action}::text as action,
        ${entry.target}::text as target, ${json(entry.before)}::json as before, ${json(entry.after)}::json as after,
        ${author.requestId}::text as request_id, ${generation} as generation, gen_random_uuid() as salt
    ),
    audit_digest as (select *, ${contentDigest} as digest from audit_content),
    audit_link as (select *, ${chainLink} as link from audit_digest),
    audit_head as (
      update workspaces set audit_sequence = audit_sequence + 1, audit_hash = sha256(audit_hash || link)
      from audit_link where id = ${author.workspaceId}
      returning audit_sequence, audit_hash
    ),
    audited as (
      insert into audit_log (workspace_id, sequence, at, actor, action, target, before, after, request_id, generation,
        salt, digest, hash)
      select ${author.workspaceId}::uuid, audit_sequence, at, actor, action, target, before, after, request_id, generation,
        salt, digest, audit_hash
      from audit_link, audit_head
    )`;
}

/** For a change that is none of the policy. Call it last: the workspace's next entry waits for the commit. */
export async function recordAudit(
  transaction: Transaction<Database>,
  author: Author,
  entry: AuditEntry,
): Promise<void> {
  await sql`with ${auditing(author, entry, sql`null::bigint`)} select`.execute(transaction);
}

export type AuditRow = Selectable<AuditLogTable>;

export interface AuditFilter {
  readonly workspaceId: string;
  readonly target?: string | undefined;
  /** Latest first, so many at most. */
  readonly limit: number;
}

export function listAudit(
  database: Kysely<Database>,
  { workspaceId, target, limit }: AuditFilter,
): Promise<AuditRow[]> {
  return database
    .selectFrom("audit_log")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .$if(target !== undefined, (all) => all.where("target", "=", target as string))
    .orderBy("sequence", "desc")
    .limit(limit)
    .execute();
}
