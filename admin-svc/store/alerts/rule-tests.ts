/** Creates test alerts for a rule, and reads their outcome. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { type Author, recordAudit } from "../audit.ts";
import type { Database } from "../database.ts";
import { lockLive } from "../named-records.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type AlertRow, findAlerts } from "./outbox.ts";
import { type AlertRuleRow, addRuleAlerts, addRuleEvent, eventPrefix } from "./rules.ts";

/** Minimum time in milliseconds between two tests of a rule. */
const pauseMs = 10_000;
/** Maximum number of tests of a workspace in a minute: its channels may be those of others, too. */
const maxTests = 6;
/** Pause in milliseconds between checks of the attempts' outcomes. */
const lookMs = 250;
const action = "alert-rules.test";

/** Why a rule is not tested now. */
export interface TestPause {
  readonly message: string;
  readonly retryAfterMs: number;
}

const rulePause: TestPause = {
  message: `A rule is tested at most once in ${pauseMs / 1_000} seconds`,
  retryAfterMs: pauseMs,
};
const workspacePause: TestPause = {
  message: `A workspace has at most ${maxTests} tests of alert rules in a minute`,
  retryAfterMs: 60_000,
};

/** @returns undefined when the rule may be tested now */
export async function findTestPause(database: Kysely<Database>, rule: AlertRuleRow): Promise<TestPause | undefined> {
  const { rows } = await sql<{ of_rule: boolean; of_workspace: boolean }>`
    select exists (
        select from alert_rule_events where rule_id = ${rule.id} and type = 'test' and at > now() - ${pauseMs} * interval '1 ms'
      ) as of_rule,
      -- Entries stay when a rule is deleted and made again.
      (
        select count(*) from audit_log
        where workspace_id = ${rule.workspace_id} and at > now() - interval '1 minute' and action = ${action}
      ) >= ${maxTests} as of_workspace`.execute(database);
  return rows[0]?.of_rule === true ? rulePause : rows[0]?.of_workspace === true ? workspacePause : undefined;
}

interface RuleTest {
  readonly rule: AlertRuleRow;
  readonly channels: readonly string[];
  /** Current figure of the rule. */
  readonly value: number | null;
}

/**
 * Creates a test alert for each channel of a rule.
 * @returns ids of the alerts by channel; the pause when the rule must not be tested now, `gone` when it was deleted meanwhile
 * @throws Fault NOT_FOUND in a workspace deleted meanwhile
 */
export function startRuleTest(
  database: Kysely<Database>,
  author: Author,
  { rule, channels, value }: RuleTest,
): Promise<ReadonlyMap<string, string> | TestPause | "gone"> {
  return runInTransaction(database, async (transaction) => {
    await lockLive(transaction, rule.workspace_id);
    const locked = await sql<{ at: Date }>`
      select now() as at from alert_rules where id = ${rule.id} for update`.execute(transaction);
    const [found] = locked.rows;
    if (!found) return "gone";
    const pause = await findTestPause(transaction, rule);
    if (pause) return pause;
    const { at } = found;
    await addRuleEvent(transaction, rule, { at, type: "test", value });
    const facts = { workspace_id: rule.workspace_id, rule: rule.name };
    const alert = { channels, type: "test", event: `${eventPrefix(rule.id)}test:${randomUUID()}`, facts } as const;
    const ids = await addRuleAlerts(transaction, rule, alert, at);
    await recordAudit(transaction, author, { action, target: rule.name });
    return ids;
  });
}

export interface RuleDelivery {
  readonly channel: string;
  readonly isDelivered: boolean;
  /** Error of the delivery; empty when the alert was delivered. */
  readonly error: string;
}

/** Waits for the end of the first delivery attempt of each alert. @param ids of alerts by channel @param until a time of `performance.now()` */
export async function awaitDeliveries(
  database: Kysely<Database>,
  ids: ReadonlyMap<string, string>,
  until: number,
): Promise<readonly RuleDelivery[]> {
  const alerts = await awaitAttempts(database, [...ids.values()], until);
  return [...ids].map(([channel, id]) => {
    const alert = alerts.find((each) => each.id === id);
    const isDelivered = alert?.state === "delivered";
    return { channel, isDelivered, error: isDelivered ? "" : (alert?.last_error ?? "not delivered yet") };
  });
}

const isWaiting = ({ state, last_error: error }: AlertRow): boolean => state === "waiting" && error === null;

/** Waits for the end of the first delivery attempts, with one statement for each look. @param until a time of `performance.now()` */
export async function awaitAttempts(
  database: Kysely<Database>,
  ids: readonly string[],
  until: number,
): Promise<readonly AlertRow[]> {
  for (;;) {
    const alerts = await findAlerts(database, ids);
    const leftMs = until - performance.now();
    if (!alerts.some(isWaiting) || leftMs <= 0) return alerts;
    await delay(Math.min(lookMs, leftMs));
  }
}
