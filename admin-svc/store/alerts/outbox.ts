/** The outbox of alerts: claims due alerts, and records the results. */
import { type Kysely, type Selectable, sql } from "kysely";
import { randomUUID } from "node:crypto";
import { claimRows } from "../claim.ts";
import type { Database } from "../database.ts";
import type { AlertsTable } from "../tables/console.ts";

export type AlertRow = Selectable<AlertsTable>;

const keepTryingDays = 3;

/** The end of the attempts at an alert due for the first time. */
export const lastAttemptAt = (due: Date): Date => new Date(due.getTime() + keepTryingDays * 24 * 3_600_000);

/** Times of an alert made due by a command. The clock of the machine running the command may be wrong. */
const dueNow = {
  due_at: sql<Date>`now()`,
  give_up_at: sql<Date>`now() + make_interval(days => ${keepTryingDays})`,
};

export interface Claim {
  readonly sink: string;
  readonly now: Date;
  /** Time until which no other process takes the alerts. */
  readonly until: Date;
  readonly limit: number;
}

/** Takes due alerts, the oldest first. An alert whose process dies is due again at the end of the claim. */
export function claimAlerts(database: Kysely<Database>, claim: Claim): Promise<readonly AlertRow[]> {
  const { sink, now, until, limit } = claim;
  return claimRows(database, {
    table: "alerts",
    key: ["sink", "event"],
    due: sql`
      select sink, event from alerts where state = 'waiting' and sink = ${sink} and due_at <= ${now}
      order by due_at limit ${limit} for update skip locked`,
    set: sql`attempts = attempts + 1, due_at = ${until}`,
  });
}

export type Outcome = Pick<AlertRow, "state" | "due_at" | "settled_at" | "last_error">;

/** An attempt repeated meanwhile by another process decides nothing, unless it delivered the alert. */
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

/** A test alert, to show that alerts arrive. @returns its id */
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

export const findAlert = (database: Kysely<Database>, id: string): Promise<AlertRow | undefined> =>
  database.selectFrom("alerts").selectAll().where("id", "=", id).executeTakeFirst();

export interface AlertFilter {
  readonly workspaceId: string;
  /** Undefined means every state. */
  readonly state?: AlertRow["state"] | undefined;
  readonly limit: number;
}

/** Latest first. */
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

/** Makes given-up alerts due again, with the same ids. @param id of a single alert; undefined means all. @returns how many */
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

/** The longest budget period is a month; an alert about a budget without a period stays, because it is sent only once. */
const keptDays = 40;

/** Removes alerts that no later fact can repeat. */
export async function trimAlerts(database: Kysely<Database>): Promise<void> {
  await sql`
    delete from alerts where at < now() - make_interval(days => ${keptDays}) and state <> 'waiting'
      and not (type = 'budget.reached' and facts -> 'limit_reset' = 'null')`.execute(database);
}
