/** The operations on what is on record. */
import { activityExample, generationExample } from "./usage-examples.ts";
import { type Operation, administrationStatuses, example, json } from "./operation.ts";
import { activityAnswer, activityQuery, creditsAnswer, generationAnswer, generationQuery } from "./usage.ts";

const getGeneration: Operation = {
  path: "/generation",
  method: "get",
  id: "getGeneration",
  tag: "Administration",
  anyKey: true,
  summary: "Show what a response took",
  description:
    "The calls to providers that a response took, and what they used and cost. On record within a second of the answer. A key sees its own responses, a management key those of its workspace.",
  query: generationQuery,
  answer: { says: "What it took.", content: [json(generationAnswer, example({ data: generationExample }))] },
  statuses: [400, 401, 404, 429, 500],
};

const listActivity: Operation = {
  path: "/activity",
  method: "get",
  id: "listActivity",
  tag: "Administration",
  summary: "Sum up what was used",
  description: "The workspace's calls to providers by day, model and provider, of the last 30 days: latest day first.",
  query: activityQuery,
  answer: { says: "The sums.", content: [json(activityAnswer, example({ data: [activityExample] }))] },
  statuses: administrationStatuses,
};

const getCredits: Operation = {
  path: "/credits",
  method: "get",
  id: "getCredits",
  tag: "Administration",
  summary: "Show the budget of the workspace",
  description:
    "What all keys of the workspace may spend together, and what they have spent of it. It is set on the command line.",
  answer: {
    says: "The budget.",
    content: [json(creditsAnswer, example({ data: { total_credits: 500, total_usage: 61.25, unlimited: false } }))],
  },
  statuses: [400, 401, 403, 500],
};

export const usageOperations: readonly Operation[] = [getGeneration, listActivity, getCredits];
