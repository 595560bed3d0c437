/**
 * `alerts`: external services to notify when a budget is nearly spent, when a guardrail finds something, and when an
 * alert rule fires.
 */
import { z } from "zod";
import { filterActions } from "../../lib/policy/guardrail-words.ts";
import { httpUrl, exactlyOne, sinkName, sinkWorkspace, uniquelyNamedList, webhook } from "./common.ts";

/** Types of alerts that an entry of `alerts` can select. */
export const alertEvents = [
  "budget",
  ...filterActions.all.map((action) => `guardrail_${action}` as const),
  "rule",
] as const;

const slack = z.strictObject({
  url: httpUrl.describe("An incoming webhook of Slack. It is a secret: its holders can post."),
});

const alert = z
  .strictObject({
    name: sinkName.describe("Its name in metrics, in the log and on the command line."),
    workspace: sinkWorkspace,
    events: z
      .array(z.enum(alertEvents))
      .min(1)
      .default([...alertEvents])
      .describe("What is told; everything by default. `rule` lets alert rules name this entry."),
    budget_percents: z
      .array(z.int().min(1).max(100))
      .min(1)
      .max(20)
      .default([50, 80, 95, 100])
      .describe("Shares of a budget, in percent: reaching one is told once in each budget period."),
    webhook: webhook.optional(),
    slack: slack.optional(),
  })
  .superRefine(exactlyOne("webhook", "slack"));

export const alerts = uniquelyNamedList(alert);

export type AlertSettings = z.infer<typeof alerts>[number];
export type AlertEvent = AlertSettings["events"][number];
