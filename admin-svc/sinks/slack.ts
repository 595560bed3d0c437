/** Formats alerts for incoming webhooks of Slack, and of services with the same format. */
import { type AlertCondition, alertConditions } from "@sluice/proto/contract/records/alert-rules.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { AlertRow } from "../store/alerts/outbox.ts";
import type { Message } from "./post.ts";

export interface SlackSettings {
  readonly url: string;
}

/** Maximum length of a text block: Slack allows 3,000 characters. The names in a text are far shorter. */
const maxText = 2_900;

export function slackMessage({ url }: SlackSettings, alert: AlertRow): Message {
  const { title, details } = describeAlert(alert);
  const context = [...details, alert.at.toISOString()].join(" · ");
  const body = {
    text: title,
    blocks: [
      { type: "section", text: { type: "mrkdwn", text: title.slice(0, maxText) } },
      { type: "context", elements: [{ type: "mrkdwn", text: context.slice(0, maxText) }] },
    ],
  };
  return { url, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

interface Description {
  readonly title: string;
  readonly details: readonly string[];
}

function describeAlert({ type, facts }: AlertRow): Description {
  if (type === "test") return { title: "Test alert of Sluice: alerts arrive here.", details: [] };
  if (type === "rule.fired" || type === "rule.cleared") return describeRule(facts, type === "rule.fired");
  return type === "guardrail.hit" ? describeHit(facts) : describeBudget(facts);
}

const conditionTitles: Readonly<Record<AlertCondition, string>> = {
  spend: "spend",
  spend_change: "change of spend",
  error_rate: "error rate",
  latency_p95: "p95 of the duration",
  first_token_p95: "p95 of the first token",
  provider_down: "calls without an answer",
  budget_forecast: "forecast of the budget",
};

function describeRule(facts: JsonObject, isFiring: boolean): Description {
  const { rule, condition, value, threshold, window_minutes: minutes, workspace } = facts;
  const word = condition as AlertCondition;
  const unit = alertConditions[word];
  const limit = word === "provider_down" ? "" : `, threshold ${show(threshold)} ${unit}`;
  const figure =
    typeof value === "number" ? `${Number(value.toPrecision(4))} ${unit}` : "above it, with nothing before";
  return {
    title: isFiring
      ? `Alert ${show(rule)}: ${conditionTitles[word]} ${figure} in ${show(minutes)} minutes${limit}`
      : `Alert ${show(rule)} has cleared`,
    details: [
      `workspace ${show(workspace)}`,
      ...Object.entries(facts["filters"] as JsonObject).map(([name, of]) => `${name} ${show(of)}`),
    ],
  };
}

function describeBudget(facts: JsonObject): Description {
  const { percent, spent_usd, limit_usd, limit_reset, workspace, period_start } = facts;
  const whose = facts["budget"] === "workspace" ? `workspace ${show(workspace)}` : `key ${show(facts["key_name"])}`;
  const period = limit_reset === null ? "" : ` (${show(limit_reset)}, since ${show(period_start)})`;
  const guardrail = facts["guardrail_id"] === null ? [] : [`guardrail ${show(facts["guardrail_id"])}`];
  return {
    title: `${show(percent)} % of the budget of ${whose} are spent: ${show(spent_usd)} of ${show(limit_usd)} USD${period}`,
    details: [`workspace ${show(workspace)}`, ...guardrail, ...showKey(facts)],
  };
}

function describeHit(facts: JsonObject): Description {
  const { hits, action, guardrail, guardrail_id, rule, key_name, workspace } = facts;
  const count = hits === 1 ? "a request" : `${show(hits)} requests`;
  const what = rule === null ? "" : `: ${show(rule)}`;
  const done = filterActions.find(action)?.done ?? "matched";
  return {
    title: `Guardrail ${show(guardrail ?? guardrail_id)} ${done} ${count} of key ${show(key_name)}${what}`,
    details: [`workspace ${show(workspace)}`, ...showKey(facts)],
  };
}

const showKey = ({ key_hash: hash }: JsonObject): string[] =>
  typeof hash === "string" ? [`key ${hash.slice(0, 16)}…`] : [];

/** Escapes the three characters that Slack reads as markup, such as a mention of everyone. */
const show = (value: unknown): string =>
  String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
