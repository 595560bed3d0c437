/** Lists entries of the audit log, latest first, in pages that stay the same while entries are added. */
import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import { type OrderColumns, comesAfter, readCursor, writeCursor } from "./cursor.ts";
import type { Database } from "./database.ts";
import type { AuditLogTable } from "./tables/administration.ts";

/** An audit entry, with its time to the microsecond. */
export type AuditRow = Omit<Selectable<AuditLogTable>, "salt" | "digest"> & {
  readonly at_us: string;
  /** Name of the changed key, guardrail or workspace. */
  readonly target_name: string | null;
  /** Name of the management key used for the change. */
  readonly actor_name: string | null;
};

export interface AuditFilter {
  /** Id of the listed workspace; undefined for all workspaces. */
  readonly workspaceId?: string | undefined;
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly action?: string | undefined;
  readonly address?: string | undefined;
  readonly from?: Date | undefined;
  /** End of the listed period; an entry at this time is not listed. */
  readonly to?: Date | undefined;
  /**
   * Text searched, ignoring case, in the action, the address, the actor, the target, and the names of actor and target.
   */
  readonly text?: string | undefined;
  /** Position of the page: the `nextCursor` of the preceding page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** Bytes of changed content at which a page ends early; undefined for no limit. A page has at least one entry. */
  readonly maxBytes?: number | undefined;
}

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** Cursor of the next page; undefined after the last page. */
  readonly nextCursor: string | undefined;
}

/** Entries are listed with the latest first. */
const order: OrderColumns = [
  [sql`at`, "time"],
  [sql`workspace_id`, "uuid"],
  [sql`sequence`, "integer"],
];

/**
 * Name of the list in a cursor, which does not include filters: entries are always in the order of their times, so a
 * cursor stays valid with other filters.
 */
const scope = ["audit"];

/** The target if it has the form of an id; other targets are names, such as that of an end user. */
const targetId = sql`case when target ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then target::uuid end`;

/** Name of the record in an entry for its creation or deletion, available even when the record no longer exists. */
const writtenName = sql`case when action ~ '^(keys|guardrails|workspaces)[.]' then coalesce(after ->> 'name', before ->> 'name') end`;

const atUs = sql<string>`(extract(epoch from at) * 1000000)::bigint`;

/** Lists a page of entries. It reads one entry more than requested, to know whether there is a next page. */
export async function listAudit(database: Kysely<Database>, filter: AuditFilter): Promise<AuditPage> {
  const { limit, maxBytes = null } = filter;
  const { rows } = await sql<AuditRow & { readonly fits: boolean; readonly found: number }>`
    with listed as (
      select workspace_id, sequence, at, ${atUs} as at_us, actor, action, target, before, after, request_id, address, generation, hash, erased_at
      from audit_log
      where ${conditions(filter)}
      order by at desc, workspace_id desc, sequence desc
      limit ${limit + 1}
    ),
    measured as (
      select *, row_number() over place as number, count(*) over () as found,
        sum(coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)) over place as bytes
      from listed window place as (order by at desc, workspace_id desc, sequence desc)
    )
    select
      listed.workspace_id, sequence, at, at_us, actor, action, target, before, after, request_id, address, generation, listed.hash, erased_at,
      coalesce(target_key.name, guardrail.name, workspace.name, written_name) as target_name, actor_key.name as actor_name,
      number <= ${limit} as fits, found::integer
    from (select *, ${targetId} as target_id, ${writtenName} as written_name from measured) as listed
    left join api_keys target_key on target_key.hash = target
    left join api_keys actor_key on actor_key.hash = actor
    left join guardrails guardrail on guardrail.id = target_id
    left join workspaces workspace on workspace.id = target_id
    where number = 1 or ${maxBytes}::bigint is null or bytes <= ${maxBytes}::bigint
    order by number`.execute(database);
  const shown = rows.filter(({ fits }) => fits);
  const last = (rows[0]?.found ?? 0) > shown.length ? shown.at(-1) : undefined;
  return { rows: shown, nextCursor: last && writeCursor(scope, [last.at_us, last.workspace_id, last.sequence]) };
}

/** Condition on entries containing a text. Names are looked up once for the list instead of for each entry. */
function hasText(text: string): RawBuilder<unknown> {
  const has = (column: RawBuilder<unknown>) => sql`strpos(lower(${column}), lower(${text})) > 0`;
  const named = (table: string, id: string) =>
    sql`select ${sql.ref(id)} from ${sql.table(table)} where ${has(sql`name`)}`;
  return sql`(
    ${has(sql`action`)} or ${has(sql`actor`)} or ${has(sql`target`)} or ${has(sql`address`)} or ${has(writtenName)}
    or actor in (${named("api_keys", "hash")}) or target in (${named("api_keys", "hash")})
    or ${targetId} in (${named("guardrails", "id")}) or ${targetId} in (${named("workspaces", "id")})
  )`;
}

function conditions({
  workspaceId,
  actor,
  target,
  action,
  address,
  from,
  to,
  text,
  cursor,
}: AuditFilter): RawBuilder<unknown> {
  const given = [
    workspaceId !== undefined && sql`workspace_id = ${workspaceId}`,
    actor !== undefined && sql`actor = ${actor}`,
    target !== undefined && sql`target = ${target}`,
    action !== undefined && sql`action = ${action}`,
    address !== undefined && sql`address = ${address}`,
    from && sql`at >= ${from}`,
    to && sql`at < ${to}`,
    text !== undefined && hasText(text),
    cursor !== undefined && comesAfter(order, readCursor(scope, order, cursor), true),
  ].filter((condition) => typeof condition === "object");
  return sql.join([sql`true`, ...given], sql` and `);
}
