/** Creates test alerts for a rule, and reads their outcome. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { type Author, recordAudit } from "../audit.ts";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type AlertRow, findAlert } from "./outbox.ts";
import { type AlertRuleRow, addRuleAlerts, addRuleEvent, eventPrefix } from "./rules.ts";

/** Minimum time in milliseconds between two tests of a rule. */
export const testPauseMs = 10_000;
/** Pause in milliseconds between checks of an attempt's outcome. */
const lookMs = 100;

interface RuleTest {
  readonly rule: AlertRuleRow;
  readonly channels: readonly string[];
  /** Current figure of the rule. */
  readonly value: number | null;
}

/**
 * Creates a test alert for each channel of a rule. @returns ids of the alerts by channel; `early` when the rule was
 * tested too recently, `gone` when it was deleted meanwhile
 */
export function startRuleTest(
  database: Kysely<Database>,
  author: Author,
  { rule, channels, value }: RuleTest,
): Promise<ReadonlyMap<string, string> | "early" | "gone"> {
  return runInTransaction(database, async (transaction) => {
    const locked = await sql`select 1 from alert_rules where id = ${rule.id} for update`.execute(transaction);
    if (locked.rows.length === 0) return "gone";
    const { rows } = await sql<{ now: Date; is_early: boolean }>`
      select now() as now, exists (
        select from alert_rule_events where rule_id = ${rule.id} and type = 'test'
          and at > now() - ${testPauseMs} * interval '1 ms'
      ) as is_early`.execute(transaction);
    const [{ now: at, is_early: isEarly } = { now: new Date(), is_early: false }] = rows;
    if (isEarly) return "early";
    await addRuleEvent(transaction, rule, { at, type: "test", value });
    const facts = { workspace_id: rule.workspace_id, rule: rule.name };
    const alert = { channels, type: "test", event: `${eventPrefix(rule.id)}test:${randomUUID()}`, facts } as const;
    const ids = await addRuleAlerts(transaction, rule, alert, at);
    await recordAudit(transaction, author, { action: "alert-rules.test", target: rule.name });
    return ids;
  });
}

export interface RuleDelivery {
  readonly channel: string;
  readonly isDelivered: boolean;
  /** Error of the delivery; empty when the alert was delivered. */
  readonly error: string;
}

/** Waits for the end of the first delivery attempt of each alert. @param ids of alerts by channel */
export async function awaitDeliveries(
  database: Kysely<Database>,
  ids: ReadonlyMap<string, string>,
  waitMs: number,
): Promise<readonly RuleDelivery[]> {
  const until = performance.now() + waitMs;
  return await Promise.all(
    [...ids].map(async ([channel, id]) => {
      const alert = await awaitAttempt(() => findAlert(database, id), until);
      const isDelivered = alert?.state === "delivered";
      return { channel, isDelivered, error: isDelivered ? "" : (alert?.last_error ?? "not delivered yet") };
    }),
  );
}

/** Waits for the end of an alert's first delivery attempt. @param until a time of `performance.now()` */
export async function awaitAttempt(
  find: () => Promise<AlertRow | undefined>,
  until: number,
): Promise<AlertRow | undefined> {
  for (;;) {
    const alert = await find();
    const hasEnded = alert === undefined || alert.state !== "waiting" || alert.last_error !== null;
    if (hasEnded || performance.now() > until) return alert;
    await delay(lookMs);
  }
}
