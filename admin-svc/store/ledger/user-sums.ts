/**
 * Adds the ledger to the sums of end users: by day, for a whole day or for many turns at once, and by hour for turns without an end user and for the most
 * expensive end users of a day. Only the holder of the lock of the sums writes.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import type { CubeStep } from "./cube.ts";
import { numberOf } from "./names.ts";
import { type TimeCondition, ledgerChanges } from "./row-sums.ts";
import { tryLockSums } from "./sums-progress.ts";
import { hasHours, isOnlyByDay, isFolded, isWaiting, notAddedEarlier, summedUntil, userHours } from "./user-rows.ts";
import { addSums, hourSums, joinColumns, sumColumns, sumFigures, sumHours, sumKeys } from "./usage-rollup.ts";

/** Most end users of a workspace and day that are summed by hour, those with the highest cost. */
const usersByHour = 1_000;
/** Rows of a step: half a second of a busy server. */
const rowsOfStep = 20_000;
/** So many turns of a day that goes on are left to reports. */
const waitingRows = 30_000;
/** While an earlier build has added to the sums this recently, this one adds end users like it with all other sums, for the reports of the other. */
const earlierBuild = sql`interval '10 minutes'`;

const dayMs = 86_400_000;

/** Lets the transaction move the cursor of the sums. @returns whether its rows are to be added to the sums of end users as well */
export async function beginUsers(transaction: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ together: boolean }>`${preparedAs("begin_users")}
    select set_config('sluice.sums_users', 'on', true), coalesce(earlier_at > now() - ${earlierBuild}, false) as together
    from user_sums_progress`.execute(transaction);
  return rows[0]?.together === true;
}

/** Rows of the ledger by number. */
interface SummedSpan {
  readonly since: string;
  /** Not included. */
  readonly until: string;
}

/** Notes a span that was added to the sums of end users with all other sums. */
export async function noteSummedUsers(transaction: Transaction<Database>, { since, until }: SummedSpan): Promise<void> {
  await sql`
    select note_summed_users(${since}::bigint, ${until}::bigint) where ${since}::bigint < ${until}::bigint`.execute(
    transaction,
  );
}

const figures = sumColumns(sumFigures);
const ofUsers = sql`dimension = 'user'`;

/** Sums of end users with the columns of `usage_sums`. @param byHour a condition on the values that are summed by hour */
const userSums = (hours: RawBuilder<unknown>, byHour: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with hours as materialized (
    select workspace_id, dimension, at, value, ${figures} from (${hours}) as parts where ${ofUsers} group by 1, 2, 3, 4
  )
  select workspace_id, dimension, 'hour' as step, at, value, ${joinColumns(sumFigures)} from hours where ${byHour}
  union all
  select workspace_id, dimension, 'day', date_bin('1 day', at, 'epoch'), value, ${figures} from hours group by 1, 2, 4, 5`;

/** @param where a condition on rows of the ledger */
const addDays = (where: RawBuilder<unknown>) => addSums(userSums(userHours(where), sql`value = ''`));

/** Sums of end users by hour and by day of rows of the ledger. */
const sumsOf = (where: TimeCondition) => sql`
  select * from (${sumHours(hourSums(sql`(${ledgerChanges(where)})`, ["user"]))}) as sums where ${ofUsers}`;
/** The same by hour, without those of turns without an end user. */
const namedHoursOf = (where: TimeCondition) => sql`
  select * from (${sumsOf(where)}) as hours where step = 'hour' and value <> ''`;

const ofWorkspace = sql`workspace_id`;

/** Adds rows of a span that began before the time up to which end users are summed. @param span a condition on rows of the ledger */
export async function addLateUsers(transaction: Transaction<Database>, span: RawBuilder<unknown>): Promise<void> {
  const isLate: TimeCondition = (time) => sql`${time} < ${summedUntil}`;
  const { rows } = await sql`${preparedAs("find_late_users")}
    select from ledger where ${span} and ${isLate(sql`opened_at`)} limit 1`.execute(transaction);
  if (rows.length === 0) return;
  await addDays(sql`${span} and ${isLate(sql`opened_at`)}`).execute(transaction);
  const inHours: TimeCondition = (time) => sql`${span} and ${isLate(time)} and ${hasHours(time, ofWorkspace)}`;
  await addSums(namedHoursOf(inHours)).execute(transaction);
}

/** Completes the sums of end users by rows that are in the other sums, so that all of these rows can be taken out of all sums alike. */
export async function completeUserSums(transaction: Transaction<Database>, where: RawBuilder<unknown>): Promise<void> {
  await addSums(sumsOf((time) => sql`${where} and ${isWaiting(time)}`)).execute(transaction);
  await addSums(namedHoursOf((time) => sql`${where} and ${isOnlyByDay(time, ofWorkspace)}`)).execute(transaction);
}

interface ErasedUser {
  readonly workspaceId: string;
  readonly user: string;
  /** Condition on times of the day. */
  readonly within: TimeCondition;
}

/** Runs before the name leaves the rows of a day, and before their sums are moved: turns without an end user are summed by hour. */
export async function prepareErasure(
  transaction: Transaction<Database>,
  { workspaceId, user, within }: ErasedUser,
): Promise<void> {
  const where: TimeCondition = (time) =>
    sql`written is not null and workspace_id = ${workspaceId} and "user" = ${user} and ${within(time)} and ${isOnlyByDay(time, ofWorkspace)}`;
  const columns = joinColumns(sumKeys.map((column) => (column === "value" ? "'' as value" : column)));
  await addSums(sql`select ${columns}, ${joinColumns(sumFigures)} from (${namedHoursOf(where)}) as named`).execute(
    transaction,
  );
  await sql`
    delete from user_hours where workspace_id = ${workspaceId} and value = ${user} and ${within(sql`day`)}`.execute(
    transaction,
  );
}

export interface UsersQuery {
  /** Turns that began later are left out. */
  readonly before: Date;
  /** Maximum number of rows of the ledger that a step reads, unless more began in one millisecond or are of one end user. */
  readonly maxRows?: number;
  /** So many turns of a day that is not over wait at most. */
  readonly maxWaiting?: number;
}

/** Adds a step to the sums of end users, unless another process is at it. */
export function sumUsers(database: Kysely<Database>, query: UsersQuery): Promise<CubeStep> {
  return runInTransaction(database, async (transaction) => {
    if (!(await tryLockSums(transaction))) return "locked";
    // Statistics of a new partition may be those of an empty one.
    await sql`set local enable_seqscan = off`.execute(transaction);
    const hasAdded = (await addTurns(transaction, query)) || (await addHours(transaction, query));
    return hasAdded ? "some" : "none";
  });
}

interface Reach {
  readonly until: Date;
  readonly workspaces: readonly number[];
}

async function reachOf(transaction: Transaction<Database>): Promise<Reach> {
  const { rows } = await sql<Reach>`
    select summed_until as until, array(select named.id from workspaces join ledger_names as named on named.name = workspaces.id::text) as workspaces
    from user_sums_progress`.execute(transaction);
  const [reach] = rows;
  if (reach === undefined) throw new Error("user_sums_progress has no row");
  return reach;
}

/** Adds turns in the order of their beginning, up to the end of a day at most. @returns false when there is nothing to add */
async function addTurns(
  transaction: Transaction<Database>,
  { before, maxRows = rowsOfStep, maxWaiting = waitingRows }: UsersQuery,
): Promise<boolean> {
  const { until: from, workspaces } = await reachOf(transaction);
  const endOfDay = Math.floor(from.getTime() / dayMs) * dayMs + dayMs;
  let to = Math.min(endOfDay, before.getTime());
  const hasMore = async (count: number): Promise<boolean> => {
    const { rows } = await sql`
      select from ledger where workspace = any(${workspaces}::integer[]) and opened_at >= ${from} and opened_at < ${new Date(to)}
      offset ${count} limit 1`.execute(transaction);
    return rows.length > 0;
  };
  if (to <= from.getTime() || (to < endOfDay && !(await hasMore(maxWaiting)))) return false;
  while (to - from.getTime() > 1 && (await hasMore(maxRows)))
    to = from.getTime() + Math.floor((to - from.getTime()) / 2);
  const openedAt = sql`opened_at >= ${from} and opened_at < ${new Date(to)}`;
  const isInWorkspaces = sql`workspace = any(${workspaces}::integer[])`;
  await addDays(sql`${isInWorkspaces} and ${openedAt} and ${isFolded} and ${notAddedEarlier}`).execute(transaction);
  await sql`update user_sums_progress set summed_until = ${new Date(to)}`.execute(transaction);
  if (to === endOfDay) await chooseUsers(transaction, new Date(endOfDay - dayMs));
  return true;
}

/** Chooses the end users of a day that are summed by hour. */
async function chooseUsers(transaction: Transaction<Database>, day: Date): Promise<void> {
  await sql`
    insert into user_hours (workspace_id, day, value, is_stored)
    select workspaces.id, ${day}, value, false
    from workspaces cross join lateral (
      select value from usage_sums
      where workspace_id = workspaces.id and ${ofUsers} and step = 'day' and at = ${day} and value <> ''
      order by cost_usd desc, requests desc, value limit ${usersByHour}
    ) as chosen
    on conflict do nothing`.execute(transaction);
}

/** The workspace and day of the next end users to sum by hour. */
const nextUsers = sql`select workspace_id, day from user_hours where not is_stored order by day, workspace_id limit 1`;

interface ChosenUsers {
  readonly workspace_id: string;
  readonly day: Date;
  readonly users: readonly string[];
}

/** Adds sums by hour of some of the chosen end users of a workspace and day. @returns false when there are none */
async function addHours(transaction: Transaction<Database>, { maxRows = rowsOfStep }: UsersQuery): Promise<boolean> {
  const { rows } = await sql<ChosenUsers>`
    with next as (${nextUsers}),
    counted as (
      select workspace_id, day, value, sum(greatest(requests, attempts)) over (order by value) as turns
      from next join user_hours using (workspace_id, day)
        left join usage_sums using (workspace_id, value)
      where not is_stored and ${ofUsers} and step = 'day' and at = day
    )
    select workspace_id, day, array_agg(value) as users from counted
    where turns <= ${maxRows} or value = (select min(value) from counted) group by 1, 2`.execute(transaction);
  const [chosen] = rows;
  if (chosen === undefined) return await leaveUnused(transaction);
  const { workspace_id: workspaceId, day, users } = chosen;
  const openedAt = sql`opened_at >= ${day} and opened_at < ${new Date(day.getTime() + dayMs)}`;
  const sums = userHours(
    sql`workspace = ${numberOf(workspaceId)} and "user" = any(${users}::text[]) and ${openedAt} and ${isFolded} and ${notAddedEarlier}`,
  );
  await addSums(sql`
    select * from (${userSums(sums, sql`value <> ''`)}) as sums where step = 'hour'`).execute(transaction);
  await sql`
    update user_hours set is_stored = true
    where workspace_id = ${workspaceId} and day = ${day} and value = any(${users}::text[])`.execute(transaction);
  return true;
}

/** Ends the work on chosen end users of which no sums are left to add. @returns whether there were any */
async function leaveUnused(transaction: Transaction<Database>): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update user_hours set is_stored = true where not is_stored and (workspace_id, day) in (${nextUsers})`.execute(
    transaction,
  );
  return numAffectedRows > 0n;
}
