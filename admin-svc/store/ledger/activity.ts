/** Activity: daily sums of calls paid by keys, by model, provider and service tier, for the last 30 days in UTC. */
import type { OperationWord } from "@sluice/proto/lib/ledger/call-operation.js";
import { type Tag, parseTags } from "@sluice/proto/lib/turns/tags.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { callActivity } from "./activity-changes.ts";
import { hasTags } from "./generations.ts";
import { backfilledSince } from "./progress.ts";
import { ledgerActivity } from "./row-sums.ts";
import { isUnfolded } from "./sums-progress.ts";
import { answersRequest } from "./usage-sums.ts";

export interface ActivityFilter {
  readonly workspaceId: string;
  /** The only reported day, such as 2026-11-21. */
  readonly date?: string;
  readonly keyHash?: string;
  /** API format of the client (`door`). */
  readonly door?: string;
  /**
   * Tags that a turn must all have; with this filter, calls are read from the records, because the sums have no tags.
   */
  readonly tags?: string;
  /** Whether to report each operation separately. */
  readonly byOperation?: boolean;
  /** Whether to report each client API format separately. */
  readonly byDoor?: boolean;
  /** Whether to report each kind of task separately. */
  readonly byTask?: boolean;
}

export interface ActivityRow {
  readonly date: string;
  readonly model: string;
  readonly provider: string;
  readonly service_tier: string;
  /** Operation of the calls; null unless operations are reported separately. */
  readonly operation: OperationWord | null;
  /** Client API format of the calls; null unless formats are reported separately. */
  readonly door: string | null;
  /** Kind of task; null when a call has none, or unless tasks are reported separately. */
  readonly task: string | null;
  readonly cost_usd: string;
  readonly calls: string;
  readonly requests: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly reasoning_tokens: string;
}

/** Number of reported days before today. */
const shownDays = 30;

const keys = ["workspace_id", "key_hash", "day", "model", "provider", "service_tier", "operation", "door", "task"];
const counts = ["calls", "requests", "input_tokens", "output_tokens", "reasoning_tokens"];
const join = (names: readonly string[]): RawBuilder<unknown> => sql.raw(names.join(", "));

/**
 * SQL for rows of `activity_changes` from some `usage_records`. A turn is counted in the row of its last answering
 * call. @param isCounted condition on all calls of these turns
 */
const recordActivity = (isCounted: RawBuilder<unknown>, where: RawBuilder<unknown>): RawBuilder<unknown> =>
  callActivity(
    sql`(select * from usage_records where payer = 'key' and ${isCounted} and ${where})`,
    sql`${answersRequest("records")} and not exists (
      select from usage_records as later
      where later.turn_id = records.turn_id and later.attempt > records.attempt and later.payer = 'key' and ${isCounted}
        and ${answersRequest("later")}
    )`,
  );

/**
 * SQL for rows of `activity_changes` from records that the trigger of `usage_records` has missed. The trigger moves a
 * turn from one of its calls to a later call only if it has seen both.
 */
export const missedActivity = (where: RawBuilder<unknown>): RawBuilder<unknown> =>
  recordActivity(sql`not is_noted`, where);

/**
 * Adds pending changes to the sums.
 * @param fresh further changes, as rows of `activity_changes`
 * @returns the number of changes taken from `activity_changes`, at most `limit`
 */
export async function foldActivity(
  database: Kysely<Database>,
  limit: number,
  fresh: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ taken: number }>`${preparedAs("fold_activity")}
    with taken as (
      delete from activity_changes where ctid = any (array(select ctid from activity_changes limit ${limit})) returning *
    ),
    changes as (select * from taken union all ${fresh}),
    both_sums as (
      select * from changes
      union all select workspace_id, '', ${join([...keys.slice(2), "cost_usd", ...counts])} from changes
    ),
    added as (
      insert into activity_days as known (${join([...keys, "cost_usd", ...counts])})
      select ${join(keys)}, ${join(["cost_usd", ...counts].map((name) => `sum(${name})`))}
      from both_sums group by ${join(keys)} order by ${join(keys)}
      on conflict (${join(keys)}) do update
        set cost_usd = coalesce(known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd),
          ${join(counts.map((name) => `${name} = known.${name} + excluded.${name}`))}
    )
    select count(*)::int as taken from taken`.execute(database);
  return rows[0]?.taken ?? 0;
}

/** Removes the sums of days that are no longer reported. */
export async function dropOldActivity(database: Kysely<Database>): Promise<void> {
  await sql`delete from activity_days where day < (now() at time zone 'UTC')::date - ${sql.lit(shownDays + 1)}`.execute(
    database,
  );
}

const firstDay = sql`((now() at time zone 'UTC')::date - ${sql.lit(shownDays)})`;

export async function activityOf(
  database: Kysely<Database>,
  { workspaceId, date, keyHash, door, tags, byOperation = false, byDoor = false, byTask = false }: ActivityFilter,
): Promise<readonly ActivityRow[]> {
  const days = { workspaceId, date, keyHash };
  const found =
    tags === undefined ? await storedActivity(database, days) : taggedActivity(days, parseTags(tags, "tags"));
  const { rows } = await sql<ActivityRow>`
    with found as (${found})
    select to_char(day, 'YYYY-MM-DD') as date, model, provider, service_tier,
      ${byOperation ? sql`operation` : sql`null::text`} as operation, ${byDoor ? sql`door` : sql`null::text`} as door,
      ${byTask ? sql`nullif(task, '')` : sql`null::text`} as task, coalesce(sum(cost_usd), 0) as cost_usd,
      ${join(counts.map((name) => `sum(${name}) as ${name}`))}
    from found where ${door === undefined ? sql`true` : sql`door = ${door}`}
    group by 1, 2, 3, 4, 5, 6, 7 having sum(calls) > 0
    order by 1 desc, sum(cost_usd) desc nulls last, 2, 3, 4, 5, 6, 7`.execute(database);
  return rows;
}

const figures = join(["day", ...keys.slice(3), "cost_usd", ...counts]);

interface ActivityDays {
  readonly workspaceId: string;
  readonly date: string | undefined;
  readonly keyHash: string | undefined;
}

/** SQL condition on a column with days: the requested day, or any reported day. */
const isMeant = ({ date }: ActivityDays, column: RawBuilder<unknown>): RawBuilder<unknown> =>
  date === undefined ? sql`${column} >= ${firstDay}` : sql`${column} >= ${firstDay} and ${column} = ${date}::date`;

/** SQL for the sums, the pending changes, and records that the sums do not include yet. */
async function storedActivity(database: Kysely<Database>, days: ActivityDays): Promise<RawBuilder<unknown>> {
  const { workspaceId, keyHash } = days;
  const reached = await backfilledSince(database, "activity");
  const ofDay = isMeant(days, sql`day`);
  const ofKey = keyHash === undefined ? sql`true` : sql`key_hash = ${keyHash}`;
  const fresh = ledgerActivity({ written: isUnfolded, workspaceId, keyHash });
  const past = sql`workspace_id = ${workspaceId} and ${ofKey} and opened_at >= ${firstDay}::timestamp at time zone 'UTC' and opened_at < ${reached}`;
  return sql`
    select ${figures} from activity_days where workspace_id = ${workspaceId} and key_hash = ${keyHash ?? ""} and ${ofDay}
    union all
    select ${figures} from activity_changes where workspace_id = ${workspaceId} and ${ofKey} and ${ofDay}
    union all
    select ${figures} from (${fresh}) as fresh where ${ofDay}
    ${reached === undefined ? sql`` : sql`union all select ${figures} from (${missedActivity(past)}) as past where ${ofDay}`}`;
}

/**
 * SQL for calls of turns with all of the tags, from the records. The ledger keeps tags per turn, and a call begins at
 * most a day before or after its turn.
 */
function taggedActivity(days: ActivityDays, tags: readonly Tag[]): RawBuilder<unknown> {
  const { workspaceId, date, keyHash } = days;
  const first = date === undefined ? firstDay : sql`greatest(${firstDay}, ${date}::date)`;
  const near = (column: RawBuilder<unknown>) => {
    const since = sql`${column} >= (${first} - 1)::timestamp at time zone 'UTC'`;
    return date === undefined ? since : sql`${since} and ${column} < (${date}::date + 2)::timestamp at time zone 'UTC'`;
  };
  const inLedger = ledgerActivity({
    written: sql`written is not null`,
    workspaceId,
    keyHash,
    tagged: { tags, inPeriod: near },
  });
  const ofKey = keyHash === undefined ? sql`true` : sql`key_hash = ${keyHash}`;
  const own = sql`workspace_id = ${workspaceId} and ${ofKey} and ${near(sql`opened_at`)}`;
  const turns = sql`select generation_id, key_hash from turns where ${own} and ${hasTags(tags)}`;
  const apart = recordActivity(sql`true`, sql`${own} and (generation_id, key_hash) in (${turns})`);
  const ofDay = isMeant(days, sql`day`);
  return sql`
    select ${figures} from (${inLedger}) as whole where ${ofDay}
    union all
    select ${figures} from (${apart}) as apart where ${ofDay}`;
}
