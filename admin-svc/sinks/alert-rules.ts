/**
 * Checks alert rules on views. Each due rule is claimed by one admin-svc process, its figure is read as a report, and
 * the outcome is stored with its alert in one transaction.
 */
import type { AlertRuleWords } from "@sluice/proto/contract/records/alert-rules.js";
import type { AlertSettings } from "@sluice/proto/config/sinks/alerts.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Kysely } from "kysely";
import { type CheckedFigure, readFigure } from "../store/alerts/figures.ts";
import {
  type AlertRuleRow,
  type RuleAlert,
  type RuleOutcome,
  claimAlertRules,
  eventPrefix,
  settleAlertRule,
} from "../store/alerts/rules.ts";
import type { Database } from "../store/database.ts";
import { findWorkspace } from "../store/workspaces.ts";
import type { SinkDeps } from "./parts.ts";

const everyMs = 60_000;
/** Pause in milliseconds after a failed check, such as a statement that exceeded its time limit. */
const retryMs = 5 * 60_000;
/**
 * Time in milliseconds for which the condition must be false before a firing rule clears. A figure that wavers around
 * the threshold therefore fires at most once in this time.
 */
const calmMs = 5 * 60_000;
/** Duration in milliseconds of a claim; longer than a check takes. */
const claimMs = 60_000;
/** Maximum number of rules claimed in a round; others are left to the next process or round. */
const width = 8;

export interface AlertRuleDeps extends Pick<SinkDeps, "database" | "settings" | "now" | "log"> {
  /** Runs a report of usage records for a workspace. */
  readonly report: <Result>(
    workspaceId: string,
    work: (database: Kysely<Database>) => Promise<Result>,
  ) => Promise<Result>;
}

/** Sinks in `alerts` of the configuration file that rules of a workspace may use. @param workspace its name and id */
export const channelsOf = (alerts: readonly AlertSettings[], workspace: readonly string[]): readonly AlertSettings[] =>
  alerts.filter(
    ({ events, workspace: only }) => events.includes("rule") && (only === undefined || workspace.includes(only)),
  );

/** Facts in the alert about a rule. */
export const ruleFacts = (
  { name, workspace_id: workspaceId }: Pick<AlertRuleRow, "name" | "workspace_id">,
  { filters, condition, threshold, window_minutes, min_requests }: AlertRuleWords,
  value: number | null,
): JsonObject => ({
  rule: name,
  condition,
  value,
  threshold,
  window_minutes,
  min_requests,
  filters: { ...filters },
  workspace_id: workspaceId,
});

export class AlertRules {
  readonly #parts: AlertRuleDeps;
  #stopped = false;

  constructor(parts: AlertRuleDeps) {
    this.#parts = parts;
  }

  /** Stops the checks after the current one. */
  stop(): void {
    this.#stopped = true;
  }

  /** Checks due rules one after the other, so they never use more than one of the places for reports. */
  async run(): Promise<void> {
    const { database, now } = this.#parts;
    for (let left = width; left > 0 && !this.#stopped; left--) {
      const until = new Date(now().getTime() + claimMs);
      const [rule] = await claimAlertRules(database, { now: now(), until, limit: 1 });
      if (!rule) return;
      await this.#check(rule);
    }
  }

  async #check(rule: AlertRuleRow): Promise<void> {
    const { database, now, log } = this.#parts;
    const { workspace_id: workspaceId, settings } = rule;
    const at = now();
    try {
      const figure = await this.#parts.report(workspaceId, (connected) =>
        readFigure(connected, { workspaceId, rule: settings, now: at }),
      );
      const unreachable = await this.#unreachable(rule);
      const channels = settings.channels.filter((name) => !unreachable.includes(name));
      const { outcome, alert } = decide(rule, figure, at, channels.length > 0);
      const last_error = unreachable.length > 0 ? `no channel ${unreachable.join(", ")} for this workspace` : null;
      await settleAlertRule(database, rule, { ...outcome, last_error }, alert && { ...alert, channels });
    } catch (error) {
      const isBusy = error instanceof Fault && error.reason === FaultReason.RATE_LIMITED;
      const reason = error instanceof Fault ? error.message : "internal error";
      const cause = error instanceof Fault ? {} : { err: error };
      if (!isBusy) log.warn({ alert: rule.id, reason, ...cause }, "an alert rule cannot be checked");
      const { is_firing, firing_since, calm_since, episode, value, checked_at } = rule;
      const due_at = new Date(at.getTime() + (isBusy ? everyMs : retryMs));
      const kept = { is_firing, firing_since, calm_since, episode, value, checked_at };
      await settleAlertRule(database, rule, { ...kept, due_at, last_error: reason }, undefined);
    }
  }

  /** Channels of a rule that are no longer configured or that belong to another workspace. */
  async #unreachable({ workspace_id: workspaceId, settings }: AlertRuleRow): Promise<readonly string[]> {
    const { database, settings: sinks } = this.#parts;
    const workspace = await findWorkspace(database, workspaceId);
    const known = channelsOf(sinks().alerts, workspace ? [workspace.name, workspaceId] : [workspaceId]);
    return settings.channels.filter((channel) => !known.some(({ name }) => name === channel));
  }
}

interface Decision {
  readonly outcome: Omit<RuleOutcome, "last_error">;
  readonly alert: Omit<RuleAlert, "channels"> | undefined;
}

/**
 * Decides whether a rule fires or clears. It fires at once, and clears when its condition was false for five minutes.
 * @param isReached whether any channel of the rule is configured; without one, the rule does not fire, and the next
 * check decides again
 */
function decide(rule: AlertRuleRow, { value: figure, isMet }: CheckedFigure, at: Date, isReached: boolean): Decision {
  const value = figure ?? null;
  const checked = { value, checked_at: at, due_at: new Date(at.getTime() + everyMs) };
  const facts = ruleFacts(rule, rule.settings, value);
  const { is_firing, firing_since, calm_since, episode } = rule;
  if (!is_firing && isMet && isReached) {
    const fired = { is_firing: true, firing_since: at, calm_since: null, episode: episode + 1 };
    const event = `${eventPrefix(rule.id)}${episode + 1}:fired`;
    return { outcome: { ...checked, ...fired }, alert: { type: "rule.fired", event, facts } };
  }
  if (!is_firing || isMet) {
    return { outcome: { ...checked, is_firing, firing_since, calm_since: null, episode }, alert: undefined };
  }
  const since = calm_since ?? at;
  if (at.getTime() - since.getTime() < calmMs || !isReached) {
    return { outcome: { ...checked, is_firing, firing_since, calm_since: since, episode }, alert: undefined };
  }
  const event = `${eventPrefix(rule.id)}${episode}:cleared`;
  const fired_at = firing_since === null ? null : firing_since.toISOString();
  return {
    outcome: { ...checked, is_firing: false, firing_since: null, calm_since: null, episode },
    alert: { type: "rule.cleared", event, facts: { ...facts, fired_at } },
  };
}
