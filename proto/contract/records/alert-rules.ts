/** Alert rules on views of usage: request and response bodies of their operations. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type AlertRule,
  type AlertRuleEvent,
  type AlertRuleSettings,
  type AlertRuleSettingsSchema,
  type TestAlertRuleResponse,
} from "../../gen/sluice/admin/v1/alert_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import {
  type Accepted,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { deleted, pageQuery, pageShape, putOutcome, time } from "./record-shapes.ts";
import { type UsageFilterWords, fromUsageFilter, toUsageFilter, usageFilters } from "./usage-series.ts";
import { addressedName, storedName } from "./views.ts";

/** Maximum number of rules of a workspace. */
export const maxAlertRules = 50;
/** Number of rules in a page when the request gives no limit. */
export const defaultRulePage = 100;
/** Maximum number of events kept in the history of a rule. */
export const maxRuleEvents = 100;

export const defaultWindowMinutes = 60;

/** Conditions of a rule, with the unit of their threshold. */
export const alertConditions = {
  spend: "USD",
  spend_change: "%",
  error_rate: "%",
  latency_p95: "ms",
  first_token_p95: "ms",
  provider_down: "calls",
  budget_forecast: "%",
} as const;
export type AlertCondition = keyof typeof alertConditions;
export const alertConditionWords = Object.keys(alertConditions) as readonly AlertCondition[];

/** Allowed filters of conditions whose figures are not sums of requests. */
const narrowedFilters: Readonly<Partial<Record<AlertCondition, readonly (keyof UsageFilterWords)[]>>> = {
  provider_down: ["provider", "model"],
  budget_forecast: ["key"],
};

export interface AlertRuleWords {
  readonly filters: UsageFilterWords;
  readonly condition: AlertCondition;
  readonly threshold: number;
  readonly window_minutes: number;
  readonly min_requests: number;
  readonly channels: readonly string[];
}

const filters = object(usageFilters, { strict: true });

function fitsCondition(value: object, path: string, problems: Problems): void {
  const { condition, filters: given = {}, threshold } = value as Partial<AlertRuleWords>;
  const at = (name: string) => (path === "" ? name : `${path}.${name}`);
  const allowed = condition && narrowedFilters[condition];
  for (const name of Object.keys(given))
    if (allowed && !allowed.includes(name as keyof UsageFilterWords))
      problems.add(at(`filters.${name}`), `not with the condition ${condition}`);
  if (condition === "provider_down" && given.provider === undefined)
    problems.add(at("filters.provider"), "required with the condition provider_down");
  if (condition !== "provider_down" && threshold === undefined) problems.add(at("threshold"), "required");
}

const settings = {
  filters: described(
    filters,
    "Usage that is checked, in the words of `GET /usage/series`; all of the workspace when absent.",
  ),
  condition: described(
    word(...alertConditionWords),
    "`spend`: USD spent in the window are above the threshold. `spend_change`: they are more by this percentage than in the window before; with nothing spent before, any spend counts. `error_rate`: percentage of failed requests. `latency_p95` and `first_token_p95`: milliseconds until the end and until the first token. `provider_down`: of at least `min_requests` calls to the provider none was answered; without a threshold. `budget_forecast`: percentage of the budget of the workspace, or of the key in `filters`, that will be spent at its reset if spending goes on as in the window.",
  ),
  threshold: described(
    number({ min: 0, max: 1_000_000_000 }),
    "Figure above which the condition is met: USD, percent or milliseconds. Required unless the condition is `provider_down`.",
  ),
  window_minutes: described(
    integer({ min: 5, max: 7 * 24 * 60 }),
    `Length of the checked period, which ends at the time of the check; ${defaultWindowMinutes} when absent.`,
  ),
  min_requests: described(
    integer({ min: 1, max: 1_000_000_000 }),
    "Fewest requests of the window for which the condition can be met; 1 when absent.",
  ),
  channels: described(
    array(string({ min: 1, max: 64, identifier: true }), { min: 1, max: 10, entry: "element" }),
    "Names of entries of `alerts` in the configuration file, as `GET /alert-channels` lists them.",
  ),
};

export const alertRuleSettings = named(
  "AlertRuleSettings",
  object(settings, { required: ["condition", "channels"], strict: true, also: fitsCondition }),
);

const ruleName = described(addressedName, "Its name, unique in the workspace; case-sensitive.");
const figure = described(
  nullable(number()),
  "Figure of the check, in the unit of the threshold; null without usage to compute it from.",
);

const ruleFields = {
  name: storedName,
  ...settings,
  is_firing: described(boolean, "Whether it has fired, and not cleared since."),
  firing_since: described(nullable(time), "When it fired; null while it does not."),
  value: figure,
  checked_at: described(nullable(time), "When it was last checked; null before the first time."),
  last_error: described(
    nullable(string()),
    "Why the last check failed, or which channel could not be used; null without a problem.",
  ),
  created_by: described(
    string(),
    "Who made it: e-mail address of a person, hash of a management key, or name of a program.",
  ),
  created_at: described(time, "When it was made."),
  updated_at: described(time, "When its settings were last changed."),
};

export const alertRule = named(
  "AlertRule",
  object(ruleFields, { required: Object.keys(ruleFields), description: "An alert on a view of usage." }),
);

export const alertRuleAnswer = named("AlertRuleAnswer", object({ data: alertRule }, { required: ["data"] }));
export const alertRuleList = named("AlertRuleList", pageShape(alertRule));
export const alertRuleListQuery = object(pageQuery(defaultRulePage), { strict: true });
export const putAlertRuleAnswer = named(
  "PutAlertRuleAnswer",
  object({ data: alertRule, ...putOutcome }, { required: ["data", ...Object.keys(putOutcome)] }),
);
export const deletedAlertRule = named("DeletedAlertRule", deleted);

const eventFields = {
  at: described(time, "When it happened."),
  type: described(word("fired", "cleared", "test"), "`test` is a test alert."),
  value: figure,
  threshold: described(number(), "The threshold at that time."),
};
export const alertRuleHistory = named(
  "AlertRuleHistory",
  object(
    {
      data: described(
        array(object(eventFields, { required: Object.keys(eventFields) }), { max: maxRuleEvents }),
        `The last ${maxRuleEvents} events, latest first.`,
      ),
    },
    { required: ["data"] },
  ),
);

const deliveryFields = {
  channel: described(string(), "Name of the channel."),
  is_delivered: described(boolean, "Whether it accepted the test alert."),
  error: described(nullable(string()), "Why not; null when it was delivered."),
};
const testFields = {
  is_met: described(boolean, "Whether the condition is met now."),
  value: figure,
  deliveries: described(
    array(object(deliveryFields, { required: Object.keys(deliveryFields) })),
    "Every channel of the rule.",
  ),
};
export const alertRuleTest = named(
  "AlertRuleTest",
  object({ data: object(testFields, { required: Object.keys(testFields) }) }, { required: ["data"] }),
);

const channelFields = {
  name: described(string(), "Its name, for `channels` of a rule."),
  kind: described(word("webhook", "slack"), "How it is told."),
};
export const alertChannelList = named(
  "AlertChannelList",
  object({ data: array(object(channelFields, { required: Object.keys(channelFields) })) }, { required: ["data"] }),
);

/** A rule as clients give it, over gRPC and on the command line. */
export const newAlertRule = object(
  {
    name: ruleName,
    settings: object(settings, { required: ["condition", "channels"], strict: true, also: fitsCondition }),
  },
  { required: ["name", "settings"] },
);

/** Fills in defaults. @param given settings accepted by their shape */
export const completeRule = (given: Accepted<typeof alertRuleSettings>): AlertRuleWords => ({
  filters: given.filters ?? {},
  condition: given.condition,
  threshold: given.threshold ?? 0,
  window_minutes: given.window_minutes ?? defaultWindowMinutes,
  min_requests: given.min_requests ?? 1,
  channels: given.channels,
});

/** Converts settings to a message. */
export const ruleSettingsMessage = (rule: AlertRuleWords): MessageInitShape<typeof AlertRuleSettingsSchema> => ({
  filter: toUsageFilter(rule.filters),
  condition: rule.condition,
  threshold: rule.threshold,
  windowMinutes: rule.window_minutes,
  minRequests: rule.min_requests,
  channels: [...rule.channels],
});

/** Converts a message to settings, which are not checked yet; 0 and the empty text mean unset. */
export const ruleSettingsJson = (message: AlertRuleSettings | undefined): JsonObject => ({
  filters: Object.fromEntries(
    Object.entries(fromUsageFilter(message?.filter)).filter(([, value]) => value !== undefined),
  ),
  condition: message?.condition ?? "",
  ...(message?.threshold !== undefined && { threshold: message.threshold }),
  ...(message?.windowMinutes && { window_minutes: message.windowMinutes }),
  ...(message?.minRequests && { min_requests: message.minRequests }),
  channels: message?.channels ?? [],
});

const shownTime = (at: Timestamp | undefined): string | null => (at ? instant(at) : null);

/** Converts a rule to its JSON in answers. */
export const toAlertRuleJson = (message: AlertRule): JsonObject => ({
  name: message.name,
  ...ruleSettingsJson(message.settings),
  is_firing: message.isFiring,
  firing_since: shownTime(message.firingSince),
  value: message.value ?? null,
  checked_at: shownTime(message.checkedAt),
  last_error: message.lastError || null,
  created_by: message.createdBy,
  created_at: shownTime(message.createdAt),
  updated_at: shownTime(message.updatedAt),
});

export const toRuleEventJson = ({ at, type, value, threshold }: AlertRuleEvent): JsonObject => ({
  at: shownTime(at),
  type,
  value: value ?? null,
  threshold,
});

export const toRuleTestJson = ({ isMet, value, deliveries }: TestAlertRuleResponse): JsonObject => ({
  is_met: isMet,
  value: value ?? null,
  deliveries: deliveries.map(({ channel, isDelivered, error }) => ({
    channel,
    is_delivered: isDelivered,
    error: error || null,
  })),
});
