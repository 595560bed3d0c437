/** Delivers alerts from an outbox. The transactions of the ledger write the outbox; any admin-svc process delivers. */
import { alertMessage } from "../rules/alerts.ts";
import type { AlertSettings } from "@sluice/proto/config/sinks/alerts.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { type AlertCounts, type AlertRow, claimAlerts, countAlerts, settleAlert } from "../store/alerts/outbox.ts";
import { recordBudgetCrossings } from "../store/alerts/crossings.ts";
import { type GuardrailSink, recordGuardrailHits } from "../store/alerts/hits.ts";
import { findWorkspace } from "../store/workspaces.ts";
import type { WrapStoring } from "../store/ledger/usage.ts";
import { backoffMs } from "./backoff.ts";
import { type Message, SinkError, post } from "./post.ts";
import { type SinkMetrics, alertMetrics } from "./metrics.ts";
import type { SinkDeps } from "./parts.ts";
import { slackMessage } from "./slack.ts";
import { webhookMessage } from "./webhook.ts";

/** Time in milliseconds for which a process claims an alert; longer than the timeout of an attempt. */
const claimMs = 30_000;
/** Maximum number of concurrent attempts for a sink. */
const width = 8;

const hasBudgets = ({ events }: AlertSettings): boolean => events.includes("budget");

const toGuardrailSink = ({ name, workspace, events }: AlertSettings): GuardrailSink => ({
  name,
  workspace,
  actions: filterActions.all.filter((action) => events.includes(`guardrail_${action}`)),
});

export class Alerts {
  readonly #parts: SinkDeps;
  readonly #metrics: SinkMetrics;
  #counts: readonly AlertCounts[] = [];

  constructor(parts: SinkDeps) {
    this.#parts = parts;
    this.#metrics = alertMetrics(parts.registry, () => this.#counts);
  }

  /** Records the alerts caused by a batch of records, in the transaction that stores it. */
  readonly around: WrapStoring = async (transaction, { records, turns }, store) => {
    const { settings, now } = this.#parts;
    const ofGuardrails = settings()
      .alerts.map(toGuardrailSink)
      .filter(({ actions }) => actions.length > 0);
    if (ofGuardrails.length > 0) await recordGuardrailHits(transaction, ofGuardrails, turns, now());
    const sinks = settings().alerts.filter(hasBudgets);
    const stored = await store();
    const charged = records.filter(({ payer, cost_usd: cost }) => payer === "key" && cost !== null);
    if (sinks.length === 0 || stored === 0 || charged.length === 0) return stored;
    const keyHashes = [...new Set(charged.map(({ key_hash: hash }) => hash))];
    const listed = sinks.map(({ name, workspace, budget_percents: percents }) => ({ name, workspace, percents }));
    await recordBudgetCrossings(transaction, listed, keyHashes, now());
    return stored;
  };

  /** Makes one delivery attempt for everything that is due. */
  async deliver(): Promise<void> {
    const { settings, log, database } = this.#parts;
    const sinks = settings().alerts;
    if (sinks.length === 0) return;
    const rounds = sinks.map((sink) => this.#deliverTo(sink));
    for (const round of await Promise.allSettled(rounds))
      if (round.status === "rejected") log.warn({ err: round.reason }, "sinks cannot be served");
    this.#counts = await countAlerts(database);
  }

  async #deliverTo(sink: AlertSettings): Promise<void> {
    const { database, now } = this.#parts;
    for (;;) {
      const until = new Date(now().getTime() + claimMs);
      const claimed = await claimAlerts(database, { sink: sink.name, now: now(), until, limit: width });
      const delivered = await Promise.all(claimed.map((alert) => this.#attempt(sink, alert)));
      if (claimed.length < width || !delivered.includes(true)) return;
    }
  }

  /** @returns whether the sink accepted the alert */
  async #attempt(sink: AlertSettings, alert: AlertRow): Promise<boolean> {
    const { database, now } = this.#parts;
    if (!(await this.#isServed(sink, alert))) return await this.#givenUp(alert);
    try {
      await post(buildMessage(sink, alert, now()));
    } catch (error) {
      if (!(error instanceof SinkError)) throw error;
      await this.#failed(alert, error);
      return false;
    }
    this.#metrics.attempts.labels({ sink: sink.name, result: "delivered" }).inc();
    await settleAlert(database, alert, { state: "delivered", due_at: now(), settled_at: now(), last_error: null });
    return true;
  }

  /** Whether a sink has not been given to another workspace since the alert was written. A test of the sink itself is of no workspace. */
  async #isServed({ workspace: only }: AlertSettings, { type, facts, workspace_id: id }: AlertRow): Promise<boolean> {
    if (only === undefined || only === id || (type === "test" && facts["rule"] === undefined)) return true;
    return (await findWorkspace(this.#parts.database, id))?.name === only;
  }

  async #givenUp(alert: AlertRow): Promise<false> {
    const { database, now, log } = this.#parts;
    this.#metrics.attempts.labels({ sink: alert.sink, result: "dead" }).inc();
    log.warn({ sink: alert.sink, alert: alert.id }, "an alert was given up because its sink serves another workspace");
    const last_error = "the sink serves another workspace";
    await settleAlert(database, alert, { state: "dead", due_at: now(), settled_at: now(), last_error });
    return false;
  }

  async #failed(alert: AlertRow, { message: reason }: SinkError): Promise<void> {
    const { database, now, log } = this.#parts;
    const isDead = now() >= alert.give_up_at;
    this.#metrics.attempts.labels({ sink: alert.sink, result: isDead ? "dead" : "failed" }).inc();
    const noted = { sink: alert.sink, alert: alert.id, attempts: alert.attempts, reason };
    if (isDead) log.error(noted, "an alert was given up after three days");
    else log.warn(noted, "an alert was not delivered; it is tried again");
    const due_at = new Date(now().getTime() + backoffMs(alert.attempts));
    const settled = isDead
      ? { state: "dead" as const, settled_at: now() }
      : { state: "waiting" as const, settled_at: null };
    await settleAlert(database, alert, { ...settled, due_at, last_error: reason });
  }
}

function buildMessage({ webhook, slack }: AlertSettings, alert: AlertRow, now: Date): Message {
  if (webhook) return webhookMessage(webhook, alert.id, JSON.stringify(alertMessage(alert)), now);
  if (slack) return slackMessage(slack, alert);
  throw new Error("an alert without a way to deliver it");
}
