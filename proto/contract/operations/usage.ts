/** Operations on usage records. */
import {
  activityExample,
  changeExample,
  contentExample,
  cursorExample,
  generationExample,
  healthExample,
  refusedExample,
  seriesExample,
  sessionExample,
  turnExample,
} from "../examples/usage.ts";
import { example, json, operation, reportStatuses } from "./operation.ts";
import { forwarded } from "./forward.ts";
import { UsageService } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { toActivityJson, toContentJson, toCreditsJson, toGenerationJson } from "../records/usage-record.ts";
import { generationList, generationsQuery, toTurnJson } from "../records/generations.ts";
import { sessionList, sessionsQuery, toSessionJson } from "../records/sessions.ts";
import { changeAnswer, changeQuery, toChangeJson } from "../records/usage-change.ts";
import { toCursorJson } from "../records/record-shapes.ts";
import { healthAnswer, healthQuery, toHealthJson } from "../records/usage-health.ts";
import { seriesAnswer, seriesQuery, toSeriesJson, toUsageFilter } from "../records/usage-series.ts";
import {
  activityAnswer,
  activityQuery,
  contentAnswer,
  creditsAnswer,
  generationAnswer,
  generationQuery,
} from "../records/usage.ts";

const { method } = UsageService;

const getGeneration = forwarded(
  operation({
    path: "/generation",
    method: "get",
    tag: "Administration",
    key: "any",
    summary: "Show the calls and costs of a response",
    description:
      "The calls to providers that a response took, and what they used and cost; of a request that was refused, why. By `id` or by `request_id`. On record within a second of the answer. A key sees its own responses, a management key those of its workspace.",
    query: generationQuery,
    answer: {
      description: "The calls and costs.",
      content: [json(generationAnswer, example({ data: generationExample }))],
    },
    statuses: [400, 401, 404, 429, 500],
  }),
  method.getGeneration,
  ({ query }) => ({ generationId: query.id, requestId: query.request_id }),
  (answer) => ({ data: toGenerationJson(answer) }),
);

const getGenerationContent = forwarded(
  operation({
    path: "/generation/content",
    method: "get",
    tag: "Administration",
    key: "management",
    role: "admin",
    summary: "Show what was asked and answered",
    description:
      "Prompt and answer of a request whose key captures them (`capture_content`), until they expire. By `id` or by `request_id`. Every reading is in the audit log (`calls.content`).",
    query: generationQuery,
    answer: { description: "The content.", content: [json(contentAnswer, example({ data: contentExample }))] },
    statuses: [400, 401, 403, 404, 422, 500],
  }),
  method.getGenerationContent,
  ({ query }) => ({ generationId: query.id, requestId: query.request_id }),
  (answer) => ({ data: toContentJson(answer) }),
);

/** Fields of the message for a status filter: a single status, and a class such as 5xx, are separate fields. */
const toStatusFields = (status: string | undefined) =>
  status?.endsWith("xx") === true
    ? { statusClass: Number(status[0]) }
    : { status: status === undefined ? undefined : Number(status) };

const listGenerations = forwarded(
  operation({
    path: "/generations",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "List responses and refusals",
    description:
      "The requests to models of the workspace, latest first: what they cost, how they ended, and why they were refused. Costs and calls of one are at `GET /generation`. On record within a second of the answer. Refusals of one key beyond 60 at once and one a second are counted in one row a second. A page of several filters, or of `q`, may hold fewer than `limit`, or none, with a `next_cursor` where the search goes on.",
    query: generationsQuery,
    answer: {
      description: "A page.",
      content: [json(generationList, example({ data: [turnExample, refusedExample], next_cursor: cursorExample }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listGenerations,
  ({
    query: {
      key: keyHash,
      session_id: sessionId,
      request_id: requestId,
      guardrail_id: guardrailId,
      fallback_from: fallbackFrom,
      q: search,
      status,
      ...others
    },
  }) => ({
    ...others,
    ...toStatusFields(status),
    search,
    keyHash,
    sessionId,
    requestId,
    guardrailId,
    fallbackFrom,
  }),
  ({ generations, nextCursor }) => ({
    data: generations.map(toTurnJson),
    next_cursor: toCursorJson(nextCursor),
  }),
);

const getUsageSeries = forwarded(
  operation({
    path: "/usage/series",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Sum up usage over time",
    description:
      "Sums of the workspace by hour, day, week or month, and by the values of one or two dimensions, with percentiles. A call counts in the hour in which it began. By status, guardrail, error or tag, and with a filter of these, all calls of a request count in the hour in which that began, as those of the model that was called last. One dimension without a filter is read from sums; anything else reads the requests of the period, and is 422 when they are too many.",
    query: seriesQuery,
    answer: { description: "The sums.", content: [json(seriesAnswer, example(seriesExample))] },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.getUsageSeries,
  ({ query: { from, to, step, by, limit, ...filters } }) => ({
    from,
    to,
    step,
    by,
    limit,
    filter: toUsageFilter(filters),
  }),
  toSeriesJson,
);

const getUsageChange = forwarded(
  operation({
    path: "/usage/change",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Explain a change of cost",
    description:
      "Compares a period with the one before, and takes the difference in cost apart by key and model: how much of it comes from the number of requests, from the tokens of a request, and from the price of a token. All calls of a request count when that began, as those of the model that was called last.",
    query: changeQuery,
    answer: { description: "The comparison.", content: [json(changeAnswer, example(changeExample))] },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.getUsageChange,
  ({ query: { from, to, ...filters } }) => ({ from, to, filter: toUsageFilter(filters) }),
  toChangeJson,
);

const getUsageHealth = forwarded(
  operation({
    path: "/usage/health",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Show the health of providers",
    description:
      "The calls of a period to each model of each provider, as the ledger has them: how many were answered, how many failed and why, after how many of these the request went on, and how long answers took. Whether an endpoint is ejected now is at `GET /models/{author}/{slug}/endpoints`.",
    query: healthQuery,
    answer: { description: "The calls.", content: [json(healthAnswer, example(healthExample))] },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.getUsageHealth,
  ({ query }) => query,
  toHealthJson,
);

const listSessions = forwarded(
  operation({
    path: "/sessions",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "List sessions",
    description:
      "The sessions that requests of a period have named, the latest first: how many requests they have, and what these cost. Their requests are at `GET /generations?session_id=`. A page may hold fewer than `limit`, or none, with a `next_cursor` where the search goes on.",
    query: sessionsQuery,
    answer: {
      description: "A page.",
      content: [json(sessionList, example({ data: [sessionExample], next_cursor: null }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listSessions,
  ({ query }) => query,
  ({ sessions, nextCursor }) => ({ data: sessions.map(toSessionJson), next_cursor: toCursorJson(nextCursor) }),
);

const listActivity = forwarded(
  operation({
    path: "/activity",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Sum up usage",
    description:
      "The workspace's calls to providers by day, model and provider, of the last 30 days: latest day first. With `tags` the requests themselves are read, and too many of them are 422.",
    query: activityQuery,
    answer: { description: "The sums.", content: [json(activityAnswer, example({ data: [activityExample] }))] },
    statuses: reportStatuses(),
  }),
  method.listActivity,
  ({ query: { date, api_key_hash: keyHash, workspace_id: workspaceId, door, tags, group_by: unit } }) => ({
    date,
    keyHash,
    workspaceId,
    byOperation: unit === "operation",
    door,
    tags,
    byDoor: unit === "door",
    byTask: unit === "task",
  }),
  ({ activities }) => ({ data: activities.map(toActivityJson) }),
);

const getCredits = forwarded(
  operation({
    path: "/credits",
    method: "get",
    tag: "Administration",
    key: "management",
    summary: "Show the budget of the workspace",
    description:
      "The budget of all keys of the workspace together, and what they have spent of it. It is set on the command line.",
    answer: {
      description: "The budget.",
      content: [json(creditsAnswer, example({ data: { total_credits: 500, total_usage: 61.25, unlimited: false } }))],
    },
    statuses: [400, 401, 403, 500],
  }),
  method.getCredits,
  () => ({}),
  (credits) => ({ data: toCreditsJson(credits) }),
);

export const usageOperations = {
  getGeneration,
  getGenerationContent,
  listGenerations,
  getUsageSeries,
  getUsageChange,
  getUsageHealth,
  listSessions,
  listActivity,
  getCredits,
};
