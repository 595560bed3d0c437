/** Stores alert rules on views: their settings, the outcome of their last check, and their history. */
import { type AlertRuleWords, maxAlertRules, maxRuleEvents } from "@sluice/proto/contract/records/alert-rules.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { isDeepStrictEqual } from "node:util";
import { type Author, changedFields } from "../audit.ts";
import { isOfUser } from "../../rules/named-user.ts";
import { claimRows } from "../claim.ts";
import type { Database } from "../database.ts";
import {
  type NamedKind,
  type PutOutcome,
  deleteNamed,
  findNamed,
  listNamed,
  pageOfNamed,
  putNamed,
} from "../named-records.ts";
import type { Page, PagedRows } from "../page.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type AlertRow, lastAttemptAt } from "./outbox.ts";
import type { AlertRuleEventsTable, AlertRulesTable } from "../tables/console.ts";

export type AlertRuleRow = Omit<Selectable<AlertRulesTable>, "settings"> & { readonly settings: AlertRuleWords };
export type AlertRuleEventRow = Selectable<AlertRuleEventsTable>;

const kind: NamedKind = { table: "alert_rules", noun: "alert-rules", max: maxAlertRules };

/** Whether a change affects more than the channels, so the rule's state no longer applies. */
const isAnew = (before: AlertRuleWords, after: AlertRuleWords): boolean =>
  !isDeepStrictEqual({ ...before, channels: [] }, { ...after, channels: [] });

const unchecked = {
  is_firing: false,
  firing_since: null,
  calm_since: null,
  value: null,
  checked_at: null,
  last_error: null,
};

/**
 * Time of the next check: now, but at least a minute after the last alert, so a rule changed repeatedly
 * fires at most once a minute.
 */
const afterLastAlert = sql<Date>`greatest(now(), (
  select max(at) + interval '1 minute' from alert_rule_events where rule_id = alert_rules.id and type = 'fired'
))`;

/** Creates a rule, or replaces the settings of the rule with its name. @returns `full` when the workspace has the maximum number of rules */
export const putAlertRule = (
  database: Kysely<Database>,
  author: Author,
  { name, settings }: { readonly name: string; readonly settings: AlertRuleWords },
): Promise<PutOutcome<AlertRuleRow> | "full"> =>
  putNamed<AlertRuleRow>(database, author, {
    kind,
    name,
    change(before) {
      if (before && isDeepStrictEqual(before.settings, settings)) return undefined;
      return {
        values: {
          settings: JSON.stringify(settings),
          ...(before && isAnew(before.settings, settings) && unchecked),
        },
        also: sql`due_at = ${afterLastAlert}`,
        states: before ? changedFields<AlertRuleWords>(before.settings, settings) : { after: settings },
      };
    },
  });

/** Prefix of the event names of a rule. */
export const eventPrefix = (ruleId: string): string => `rule:${ruleId}:`;

/** Deletes a rule, its history and its undelivered alerts. @returns whether the rule existed */
export const deleteAlertRule = (database: Kysely<Database>, author: Author, name: string): Promise<boolean> =>
  deleteNamed<AlertRuleRow>(database, author, {
    kind,
    name,
    state: ({ settings }) => settings,
    async also(transaction, { id, workspace_id: workspaceId }) {
      await transaction.deleteFrom("alert_rule_events").where("rule_id", "=", id).execute();
      await sql`
        delete from alerts where workspace_id = ${workspaceId} and state <> 'delivered'
          and starts_with(event, ${eventPrefix(id)})`.execute(transaction);
    },
  });

export const findAlertRule = (
  database: Kysely<Database>,
  workspaceId: string,
  name: string,
): Promise<AlertRuleRow | undefined> => findNamed(database, kind, workspaceId, name);

export const listAlertRules = (database: Kysely<Database>, workspaceId: string): Promise<readonly AlertRuleRow[]> =>
  listNamed(database, kind, workspaceId);

export const pageOfAlertRules = (
  database: Kysely<Database>,
  workspaceId: string,
  page: Page,
): Promise<PagedRows<AlertRuleRow>> => pageOfNamed(database, kind, workspaceId, page);

/** Lists the history of a rule, latest event first. */
export const listRuleEvents = (database: Kysely<Database>, ruleId: string): Promise<AlertRuleEventRow[]> =>
  database
    .selectFrom("alert_rule_events")
    .selectAll()
    .where("rule_id", "=", ruleId)
    .orderBy("id", "desc")
    .limit(maxRuleEvents)
    .execute();

/** Adds an event to the history of a rule, and removes events beyond the maximum length. */
export async function addRuleEvent(
  transaction: Transaction<Database>,
  rule: AlertRuleRow,
  event: Pick<AlertRuleEventRow, "at" | "type" | "value">,
): Promise<void> {
  await transaction
    .insertInto("alert_rule_events")
    .values({
      rule_id: rule.id,
      workspace_id: rule.workspace_id,
      threshold: rule.settings.threshold,
      ...event,
    })
    .execute();
  await sql`
    delete from alert_rule_events where rule_id = ${rule.id} and id <= (
      select id from alert_rule_events where rule_id = ${rule.id} order by id desc offset ${maxRuleEvents} limit 1
    )`.execute(transaction);
}

/** Deletes rules with an end user in their filters or as their name, and all alerts about such rules. @returns number of rules */
export async function deleteRulesOfUser(
  transaction: Transaction<Database>,
  workspaceId: string,
  user: string,
): Promise<number> {
  const rules = (await listAlertRules(transaction, workspaceId))
    .filter(({ name, settings }) => isOfUser({ name, states: [settings] }, user))
    .map(({ id }) => id);
  await sql`delete from alert_rules where id = any(${rules}::uuid[])`.execute(transaction);
  await sql`delete from alert_rule_events where rule_id = any(${rules}::uuid[])`.execute(transaction);
  const told = await sql<Pick<AlertRow, "id" | "facts">>`
    select id, facts from alerts
    where workspace_id = ${workspaceId} and type in ('rule.fired', 'rule.cleared', 'test')`.execute(transaction);
  const alerts = told.rows
    .filter(({ facts }) => isOfUser({ name: facts["rule"], states: [facts] }, user))
    .map(({ id }) => id);
  await sql`delete from alerts where id = any(${alerts})`.execute(transaction);
  return rules.length;
}

/** Columns of a rule that a check sets. */
export type RuleOutcome = Pick<
  AlertRuleRow,
  "is_firing" | "firing_since" | "calm_since" | "episode" | "value" | "checked_at" | "last_error" | "due_at"
>;

export interface RuleClaim {
  readonly now: Date;
  /** Time until which no other process may claim the rules. */
  readonly until: Date;
  readonly limit: number;
  /** Ids of workspaces whose rules are not claimed. */
  readonly without?: readonly string[];
}

/** Claims due rules, oldest first. If the process dies, its rules are due again when the claim ends. */
export function claimAlertRules(
  database: Kysely<Database>,
  { now, until, limit, without = [] }: RuleClaim,
): Promise<readonly AlertRuleRow[]> {
  return claimRows(database, {
    table: "alert_rules",
    key: ["id"],
    due: sql`
      select id from alert_rules where due_at <= ${now} and workspace_id <> all(${[...without]}::uuid[])
      order by due_at limit ${limit} for update skip locked`,
    set: sql`due_at = ${until}`,
  });
}

/** An alert to be sent to the channels of a rule. */
export interface RuleAlert {
  readonly channels: readonly string[];
  readonly type: "rule.fired" | "rule.cleared" | "test";
  /** Name of the event; each channel gets an event once. */
  readonly event: string;
  readonly facts: JsonObject;
}

/**
 * Stores the outcome of a check with its alert, unless the rule was changed or claimed by another process meanwhile.
 * @returns whether it was stored
 */
export function settleAlertRule(
  database: Kysely<Database>,
  rule: AlertRuleRow,
  outcome: RuleOutcome,
  alert: RuleAlert | undefined,
): Promise<boolean> {
  return runInTransaction(database, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("alert_rules")
      .set(outcome)
      .where("id", "=", rule.id)
      .where("due_at", "=", rule.due_at)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    const at = outcome.checked_at ?? new Date();
    if (alert) {
      await addRuleAlerts(transaction, rule, alert, at);
      const type = alert.type === "rule.fired" ? "fired" : "cleared";
      await addRuleEvent(transaction, rule, { at, type, value: outcome.value });
    }
    return true;
  });
}

/** Adds an alert to the outbox for each channel. @returns ids of the alerts by channel */
export async function addRuleAlerts(
  transaction: Transaction<Database>,
  { workspace_id: workspaceId }: Pick<AlertRuleRow, "workspace_id">,
  { channels, type, event, facts }: RuleAlert,
  at: Date,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; sink: string }>`
    insert into alerts (sink, event, workspace_id, type, facts, at, due_at, give_up_at)
    select sink, ${event}, ${workspaceId}, ${type},
      ${JSON.stringify(facts)}::jsonb || jsonb_build_object('workspace', (select name from workspaces where id = ${workspaceId})),
      ${at}, ${at}, ${lastAttemptAt(at)}
    from unnest(${[...channels]}::text[]) as sink order by 1
    on conflict do nothing
    returning id, sink`.execute(transaction);
  return new Map(rows.map(({ id, sink }) => [sink, id]));
}
