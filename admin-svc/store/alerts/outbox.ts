/** The outbox of alerts: claims due alerts, and records the outcome of each delivery. */
import { type Kysely, type Selectable, sql } from "kysely";
import { randomUUID } from "node:crypto";
import { alertTypes } from "../../rules/alerts.ts";
import { claimRows } from "../claim.ts";
import type { Database } from "../database.ts";
import type { AlertsTable } from "../tables/console.ts";

export type AlertRow = Selectable<AlertsTable>;

const keepTryingDays = 3;

/** Time of the last delivery attempt for an alert that was first due at the given time. */
export const lastAttemptAt = (due: Date): Date => new Date(due.getTime() + keepTryingDays * 24 * 3_600_000);

/**
 * Columns that make an alert due now, by the database's clock: the clock of the machine that runs a command may be
 * wrong.
 */
const dueNow = {
  due_at: sql<Date>`now()`,
  give_up_at: sql<Date>`now() + make_interval(days => ${keepTryingDays})`,
};

export interface Claim {
  readonly sink: string;
  readonly now: Date;
  /** Time until which no other process may claim the alerts. */
  readonly until: Date;
  readonly limit: number;
}

/**
 * Claims due alerts, oldest first, in turns of workspaces and types of alerts: many alerts of one workspace leave room for the
 * others, and in each turn the workspace with the fewest comes first. Alerts of a type known only to a later build are left to its
 * processes. If the process dies, its alerts are due again when the claim ends.
 */
export function claimAlerts(database: Kysely<Database>, claim: Claim): Promise<readonly AlertRow[]> {
  const { sink, now, until, limit } = claim;
  const isDue = sql`state = 'waiting' and sink = ${sink} and due_at <= ${now} and type = any(${[...alertTypes]})`;
  return claimRows(database, {
    table: "alerts",
    key: ["sink", "event"],
    due: sql`
      select sink, event from alerts
        join (
          select sink, event, row_number() over (partition by workspace_id, type order by due_at) as turn,
            count(*) over (partition by workspace_id) as waiting
          from alerts where ${isDue}
        ) as queued using (sink, event)
      where ${isDue} order by turn, waiting, due_at limit ${limit} for update of alerts skip locked`,
    set: sql`attempts = attempts + 1, due_at = ${until}`,
  });
}

export type Outcome = Pick<AlertRow, "state" | "due_at" | "settled_at" | "last_error">;

/**
 * Records the outcome of an attempt. If another process has repeated the attempt meanwhile, only a successful delivery
 * is recorded.
 */
export async function settleAlert(database: Kysely<Database>, alert: AlertRow, outcome: Outcome): Promise<void> {
  const { sink, event, attempts } = alert;
  await database
    .updateTable("alerts")
    .set(outcome)
    .where("sink", "=", sink)
    .where("event", "=", event)
    .where("state", "<>", "delivered")
    .$if(outcome.state !== "delivered", (query) => query.where("attempts", "=", attempts))
    .execute();
}

export interface AlertCounts {
  readonly sink: string;
  readonly waiting: string;
  readonly dead: string;
}

export function countAlerts(database: Kysely<Database>): Promise<AlertCounts[]> {
  return database
    .selectFrom("alerts")
    .select("sink")
    .select(sql<string>`count(*) filter (where state = 'waiting')`.as("waiting"))
    .select(sql<string>`count(*) filter (where state = 'dead')`.as("dead"))
    .where("state", "<>", "delivered")
    .groupBy("sink")
    .execute();
}

/** Adds a test alert to the outbox, by which an operator can check delivery. @returns its id */
export async function addTestAlert(database: Kysely<Database>, sink: string, workspaceId: string): Promise<string> {
  const { id } = await database
    .insertInto("alerts")
    .values({
      sink,
      event: `test:${randomUUID()}`,
      workspace_id: workspaceId,
      type: "test",
      facts: JSON.stringify({ workspace_id: workspaceId }),
      at: dueNow.due_at,
      ...dueNow,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

export const findAlerts = (database: Kysely<Database>, ids: readonly string[]): Promise<AlertRow[]> =>
  database
    .selectFrom("alerts")
    .selectAll()
    .where(sql<boolean>`id = any(${[...ids]})`)
    .execute();

export interface AlertFilter {
  readonly workspaceId: string;
  /** State of the listed alerts; undefined for all states. */
  readonly state?: AlertRow["state"] | undefined;
  readonly limit: number;
}

/** Lists alerts, latest first. */
export const listAlerts = (
  database: Kysely<Database>,
  { workspaceId, state, limit }: AlertFilter,
): Promise<AlertRow[]> =>
  database
    .selectFrom("alerts")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .$if(state !== undefined, (query) => query.where("state", "=", state as AlertRow["state"]))
    .orderBy("at", "desc")
    .orderBy("id")
    .limit(limit)
    .execute();

/**
 * Makes alerts due again whose delivery was given up; their ids stay the same. @param id of a single alert; undefined
 * for all alerts. @returns the number of alerts
 */
export async function retryAlerts(database: Kysely<Database>, workspaceId: string, id?: string): Promise<number> {
  const { numUpdatedRows } = await database
    .updateTable("alerts")
    .set({ state: "waiting", ...dueNow, settled_at: null })
    .where("state", "=", "dead")
    .where("workspace_id", "=", workspaceId)
    .$if(id !== undefined, (query) => query.where("id", "=", id as string))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Days for which alerts are kept that were delivered or given up: longer than the longest budget period, a month.
 * Alerts about budgets without a period are kept for ever, because each is sent only once.
 */
const keptDays = 40;

/** Removes old alerts whose event cannot occur again. */
export async function trimAlerts(database: Kysely<Database>): Promise<void> {
  await sql`
    delete from alerts where at < now() - make_interval(days => ${keptDays}) and state <> 'waiting'
      and not (type = 'budget.reached' and facts -> 'limit_reset' = 'null')`.execute(database);
}
