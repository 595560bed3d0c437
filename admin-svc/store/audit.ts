/**
 * Writes an entry of the audit log for each change, and defines the hashes by which later modifications are detected.
 */
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "./database.ts";

/** The client request that makes a change. */
export interface ChangeOrigin {
  /** Id of the request; null on the command line. */
  readonly requestId: string | null;
  /** Network address of the client; undefined on the command line. */
  readonly address?: string | undefined;
}

/** The administrator or program that makes a change, and the workspace in which it acts. */
export interface Author extends ChangeOrigin {
  readonly workspaceId: string;
  /** Hash of the management key; null for a program without a key, such as the command line. */
  readonly keyHash: string | null;
  /** Interface used for the change. */
  readonly program: "api" | "cli" | "bootstrap";
  /** E-mail address of the person who uses the key in the console. */
  readonly person?: string | undefined;
  /** Whether the author may change account-wide records. */
  readonly ofAccount?: boolean;
}

/** A change as the audit log describes it. It never contains a secret. */
export interface AuditEntry {
  /** Noun and verb, as on the command line, such as `keys.revoke`. */
  readonly action: string;
  /** Hash, id or name of the changed record. */
  readonly target: string;
  /** State before the change; absent for a new record. */
  readonly before?: object;
  /** State after the change; absent for a deleted record. */
  readonly after?: object;
}

/** The author as the audit log names it. */
export const actorOf = ({ keyHash, person, program }: Author): string => person ?? keyHash ?? program;

/**
 * Fields whose values differ between two states of a row, with both values. The column with the time of the last change
 * is ignored.
 */
export function changedFields<Row extends object>(before: Row, after: Row): { before: object; after: object } {
  const differing = Object.keys(after).filter((name) => {
    const [was, is] = [before[name as keyof Row], after[name as keyof Row]];
    return name !== "updated_at" && JSON.stringify(was) !== JSON.stringify(is);
  });
  const of = (row: Row) => Object.fromEntries(differing.map((name) => [name, row[name as keyof Row]]));
  return { before: of(before), after: of(after) };
}

/**
 * SQL for the digest of the content that an erasure may remove. The stored text is hashed unparsed, because parsing
 * would be slow: an entry of a bulk change has thirty kilobytes.
 */
export const contentDigest: RawBuilder<Buffer> = sql`sha256(convert_to(json_build_array(salt, target, before, after)::text, 'UTF8'))`;

/**
 * SQL for the input of an entry's hash in the chain: all fields outside the digested content. An entry without an
 * address has the same input as in builds before addresses were recorded.
 */
export const chainLink: RawBuilder<Buffer> = sql`convert_to((case when address is null
  then json_build_array((extract(epoch from at) * 1000000)::bigint, actor, action, request_id, generation, encode(digest, 'hex'))
  else json_build_array((extract(epoch from at) * 1000000)::bigint, actor, action, request_id, generation, encode(digest, 'hex'), address)
  end)::text, 'UTF8')`;

/** Action of the entry that records an erasure, with the list of erased entries. */
export const erasureAction = "end-users.erase";

/** Whether two states of a row are equal. */
export const isSame = ({ after }: ReturnType<typeof changedFields>): boolean => Object.keys(after).length === 0;

/** An audit entry with its author. */
export interface SignedEntry {
  readonly author: Author;
  readonly entry: AuditEntry;
  /** Whether the change affects the policies of keys. */
  readonly isOfPolicy: boolean;
}

/**
 * Common table expressions that write audit entries of one workspace in order, for use after `with recursive`.
 * @param generation policy generation of the changes, or null
 */
export function auditEntryExpressions(
  workspaceId: string,
  entries: readonly SignedEntry[],
  generation: RawBuilder<string | null>,
): RawBuilder<unknown> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value));
  const column = (value: (signed: SignedEntry) => string | null) => sql`${entries.map(value)}::text[]`;
  return sql`
    audit_content as (
      select number, clock_timestamp() as at, actor, action, target, before::json as before, after::json as after, request_id, address,
        case when is_of_policy then ${generation} end as generation, gen_random_uuid() as salt
      from unnest(
        ${column(({ author }) => actorOf(author))}, ${column(({ entry }) => entry.action)}, ${column(({ entry }) => entry.target)},
        ${column(({ entry }) => json(entry.before))}, ${column(({ entry }) => json(entry.after))},
        ${column(({ author }) => author.requestId)}, ${column(({ author }) => author.address ?? null)},
        ${entries.map(({ isOfPolicy }) => isOfPolicy)}::boolean[]
      ) with ordinality as listed (actor, action, target, before, after, request_id, address, is_of_policy, number)
    ),
    audit_digest as (select *, ${contentDigest} as digest from audit_content),
    audit_link as (select *, ${chainLink} as link from audit_digest),
    -- Runs after every link is made, because other transactions lock the generation before the workspace.
    audit_end as (
      select audit_sequence, audit_hash from workspaces, (select count(generation) from audit_link) as linked
      where id = ${workspaceId} for no key update of workspaces
    ),
    audit_chain as (
      select 0::bigint as number, audit_sequence as sequence, audit_hash as hash from audit_end
      union all
      select link.number, sequence + 1, sha256(hash || link)
      from audit_chain join audit_link as link on link.number = audit_chain.number + 1
    ),
    audit_head as (
      update workspaces set audit_sequence = sequence, audit_hash = hash
      from audit_chain where id = ${workspaceId} and number = ${entries.length}
    ),
    audited as (
      insert into audit_log (workspace_id, sequence, at, actor, action, target, before, after, request_id, address, generation,
        salt, digest, hash)
      select ${workspaceId}::uuid, sequence, at, actor, action, target, before, after, request_id, address, generation, salt, digest, hash
      from audit_link join audit_chain using (number)
    )`;
}

/**
 * Writes an audit entry for a change that does not affect the policy. Call it last: the next entry of the workspace
 * waits for the commit.
 */
export async function recordAudit(
  transaction: Transaction<Database>,
  author: Author,
  entry: AuditEntry,
): Promise<void> {
  const signed = { author, entry, isOfPolicy: false };
  await sql`with recursive ${auditEntryExpressions(author.workspaceId, [signed], sql`null::bigint`)} select`.execute(
    transaction,
  );
}
