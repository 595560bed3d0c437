/** Stores console sessions. Of their secrets only the hashes are stored. */
import { type Kysely, type Selectable, sql } from "kysely";
import { type Author, type ChangeOrigin, recordAudit } from "../audit.ts";
import type { Database } from "../database.ts";
import type { ConsoleSessionsTable } from "../tables/console.ts";
import { runInTransaction } from "../postgres/transaction.ts";

const idle = sql`interval '1 hour'`;
const longest = sql`interval '12 hours'`;

/** An active session, with the fields of its key that the console shows. */
export type SessionRow = Omit<Selectable<ConsoleSessionsTable>, "hash" | "seen_at"> & {
  readonly key_name: string;
  readonly key_label: string;
  readonly workspace_name: string;
  readonly account: boolean;
};

type SessionAuthor = Author & { readonly keyHash: string };

/** The role of a person's session. */
export interface SessionRole {
  readonly role: string;
  /** The configured rule that gave the role to the person. */
  readonly rule: string;
}

/**
 * Opens a session.
 * @param hash SHA-256 of the session's secret in hexadecimal
 * @param given role of a person; absent for a session of a management key, which has full permissions
 */
export async function openSession(
  database: Kysely<Database>,
  author: SessionAuthor,
  hash: string,
  given?: SessionRole,
): Promise<void> {
  await runInTransaction(database, async (transaction) => {
    await transaction
      .insertInto("console_sessions")
      .values({
        hash,
        key_hash: author.keyHash,
        workspace_id: author.workspaceId,
        person: author.person ?? null,
        ...(given && { role: given.role, rule: given.rule }),
        expires_at: sql<Date>`now() + ${longest}`,
      })
      .execute();
    const after = given && { role: given.role };
    await recordAudit(transaction, author, { action: "sessions.open", target: hash, ...(after && { after }) });
  });
}

/**
 * Finds an active session and records its use; undefined when the session or its key is no longer valid. The time of
 * use is stored to the minute, so most uses write nothing.
 */
export async function useSession(database: Kysely<Database>, hash: string): Promise<SessionRow | undefined> {
  const { rows } = await sql<SessionRow>`
    with live as (
      select session.key_hash, session.workspace_id, session.role, session.person, session.rule,
        session.opened_at, session.expires_at,
        key.name as key_name, key.label as key_label, key.account, workspace.name as workspace_name
      from console_sessions as session
        join api_keys as key on key.hash = session.key_hash
        join workspaces as workspace on workspace.id = session.workspace_id
      where session.hash = ${hash} and session.expires_at > now() and session.seen_at > now() - ${idle}
        and key.revoked_at is null and not key.disabled and (key.expires_at is null or key.expires_at > now())
    ),
    used as (
      update console_sessions set seen_at = now()
      where hash = ${hash} and seen_at < now() - interval '1 minute' and exists (select from live)
    )
    select * from live`.execute(database);
  return rows[0];
}

/** Ends one session, or all sessions of its person or key. A session that has ended already stays unchanged. */
export async function endSessions(
  database: Kysely<Database>,
  hash: string,
  all: boolean,
  origin: ChangeOrigin,
): Promise<void> {
  await runInTransaction(database, async (transaction) => {
    const session = await transaction
      .deleteFrom("console_sessions")
      .where("hash", "=", hash)
      .returning(["key_hash", "workspace_id", "person"])
      .executeTakeFirst();
    if (!session) return;
    const { key_hash: keyHash, workspace_id: workspaceId, person } = session;
    if (all) {
      const others = transaction.deleteFrom("console_sessions").where("key_hash", "=", keyHash);
      await others.where("person", "is not distinct from", person).execute();
    }
    const author: Author = { workspaceId, keyHash, program: "api", person: person ?? undefined, ...origin };
    await recordAudit(transaction, author, { action: all ? "sessions.end-all" : "sessions.end", target: hash });
  });
}

/** Records in the audit log that a console user ended a running turn. @param generationId id of the turn */
export async function recordEndedTurn(
  database: Kysely<Database>,
  author: SessionAuthor,
  generationId: string,
): Promise<void> {
  await runInTransaction(database, (transaction) =>
    recordAudit(transaction, author, { action: "turns.end", target: generationId }),
  );
}

/** A request that was refused because of the role of a session. */
export interface RefusedCall {
  /** HTTP method and path of the request. */
  readonly call: string;
  readonly role: string;
  readonly neededRole: string;
}

export async function recordRefusal(
  database: Kysely<Database>,
  author: SessionAuthor,
  { call, role, neededRole }: RefusedCall,
): Promise<void> {
  const after = { role, needed_role: neededRole };
  await runInTransaction(database, (transaction) =>
    recordAudit(transaction, author, { action: "sessions.refuse", target: call, after }),
  );
}

export async function dropEndedSessions(database: Kysely<Database>): Promise<void> {
  await sql`
    delete from console_sessions as session using api_keys as key
    where key.hash = session.key_hash
      and (session.expires_at < now() or session.seen_at < now() - ${idle} or key.revoked_at is not null)`.execute(
    database,
  );
}
