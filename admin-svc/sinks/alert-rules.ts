/**
 * Checks alert rules on views. Each due rule is claimed by one admin-svc process, its figure is read as a report, and
 * the outcome is stored with its alert in one transaction.
 */
import type { AlertRuleWords } from "@sluice/proto/contract/records/alert-rules.js";
import type { AlertSettings } from "@sluice/proto/config/sinks/alerts.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
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
/** Pause in milliseconds after a failed check, such as a statement beyond its time limit; the longest one after any check. */
const retryMs = 5 * 60_000;
/** Age in milliseconds at which a rule fires at the earliest: rules deleted and made again would otherwise alert without a pause. */
const newMs = 60_000;
/** Pause after a check in multiples of its duration: the rules of a workspace take half of the time of a process at most. */
const rest = 100;
/**
 * Time in milliseconds for which the condition must be false before a firing rule clears. A figure that wavers around
 * the threshold therefore fires at most once in this time.
 */
const calmMs = 5 * 60_000;
/** Duration in milliseconds of a claim; longer than a check takes. */
const claimMs = 60_000;

export interface AlertRuleDeps extends Pick<SinkDeps, "database" | "settings" | "now" | "log"> {
  /** Runs the statements of a check, each within a limited time. */
  readonly read: <Result>(work: (database: Kysely<Database>) => Promise<Result>) => Promise<Result>;
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

  /** Checks due rules one after the other until none is left. */
  async run(): Promise<void> {
    while ((await this.#turn()) > 0);
  }

  /** Checks the longest due rule of each workspace, so many or slow rules of one leave time for the others. @returns the number of checks */
  async #turn(): Promise<number> {
    const { database, now } = this.#parts;
    const served: string[] = [];
    while (!this.#stopped) {
      const until = new Date(now().getTime() + claimMs);
      const [rule] = await claimAlertRules(database, { now: now(), until, limit: 1, without: served });
      if (!rule) break;
      served.push(rule.workspace_id);
      await this.#check(rule);
    }
    return served.length;
  }

  async #check(rule: AlertRuleRow): Promise<void> {
    const { database, now, log } = this.#parts;
    const { workspace_id: workspaceId, settings } = rule;
    const at = now();
    try {
      const figure = await this.#parts.read((connected) =>
        readFigure(connected, { workspaceId, rule: settings, now: at }),
      );
      const due_at = nextCheck(at, now());
      const unreachable = await this.#unreachable(rule);
      const channels = settings.channels.filter((name) => !unreachable.includes(name));
      const { outcome, alert } = decide(rule, figure, at, channels.length > 0);
      const last_error = unreachable.length > 0 ? `no channel ${unreachable.join(", ")} for this workspace` : null;
      await settleAlertRule(database, rule, { ...outcome, due_at, last_error }, alert && { ...alert, channels });
    } catch (error) {
      const reason = error instanceof Fault ? error.message : "internal error";
      const cause = error instanceof Fault ? {} : { err: error };
      log.warn({ alert: rule.id, reason, ...cause }, "an alert rule cannot be checked");
      const { is_firing, firing_since, calm_since, episode, value, checked_at } = rule;
      const due_at = new Date(at.getTime() + retryMs);
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

/** The time of the next check of a rule, by its own cost. */
const nextCheck = (began: Date, ended: Date): Date =>
  new Date(began.getTime() + Math.min(retryMs, Math.max(everyMs, rest * (ended.getTime() - began.getTime()))));

interface Decision {
  readonly outcome: Omit<RuleOutcome, "last_error" | "due_at">;
  readonly alert: Omit<RuleAlert, "channels"> | undefined;
}

/**
 * Decides whether a rule fires or clears. It fires at the first check with its condition met, once it is a minute
 * old, and clears when its condition was false for five minutes.
 * @param isReached whether any channel of the rule is configured; without one, the rule does not fire, and the next
 * check decides again
 */
function decide(rule: AlertRuleRow, { value: figure, isMet }: CheckedFigure, at: Date, isReached: boolean): Decision {
  const value = figure ?? null;
  const checked = { value, checked_at: at };
  const facts = ruleFacts(rule, rule.settings, value);
  const { is_firing, firing_since, calm_since, episode } = rule;
  const isNew = at.getTime() - rule.created_at.getTime() < newMs;
  if (!is_firing && isMet && isReached && !isNew) {
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
