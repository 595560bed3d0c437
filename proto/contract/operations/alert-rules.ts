/** Operations on alert rules for views of usage. */
import { type AlertRule, AlertService } from "../../gen/sluice/admin/v1/alert_service_pb.ts";
import { alertRuleExample } from "../examples/administration.ts";
import {
  alertChannelList,
  alertRuleAnswer,
  alertRuleHistory,
  alertRuleList,
  alertRuleListQuery,
  alertRuleSettings,
  alertRuleTest,
  completeRule,
  deletedAlertRule,
  putAlertRuleAnswer,
  ruleSettingsMessage,
  toAlertRuleJson,
  toRuleEventJson,
  toRuleTestJson,
} from "../records/alert-rules.ts";
import { toPageJson } from "../records/record-shapes.ts";
import { addressedName } from "../records/views.ts";
import { forwarded } from "./forward.ts";
import {
  type PathParameter,
  administrationStatuses,
  example,
  json,
  operation,
  putAnswer,
  reportStatuses,
} from "./operation.ts";

const tag = "Administration";
const key = "management";
const statuses = administrationStatuses;
const { method } = AlertService;
/** Maximum body size in bytes: filters and channels of the maximum length, with each character escaped. */
const maxBytes = 65_536;

const name: PathParameter = {
  description: "Name of the rule, percent-encoded. `.` and `..` cannot be addressed.",
  shape: addressedName,
  addressable: { form: /^(?!\.{1,2}$)/, otherwise: "Alert rule not found" },
};
const path = "/alert-rules/{name}";
const parameters = { name };

const toRuleAnswer = ({ rule }: { readonly rule?: AlertRule | undefined }) => ({ data: rule && toAlertRuleJson(rule) });

const listAlertRules = forwarded(
  operation({
    path: "/alert-rules",
    method: "get",
    tag,
    key,
    summary: "List the alert rules",
    description:
      "The alerts on views of usage in the workspace with the outcome of their last check, in the order of their code points.",
    query: alertRuleListQuery,
    answer: {
      description: "A page of rules.",
      content: [json(alertRuleList, example({ data: [alertRuleExample], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listAlertRules,
  ({ query }) => query,
  ({ rules, ...page }) => toPageJson(rules.map(toAlertRuleJson), page),
);

const getAlertRule = forwarded(
  operation({
    path,
    method: "get",
    tag,
    key,
    summary: "Show an alert rule",
    description: "An alert on a view of usage, with the outcome of its last check.",
    parameters,
    answer: { description: "The rule.", content: [json(alertRuleAnswer, example({ data: alertRuleExample }))] },
    statuses,
  }),
  method.getAlertRule,
  ({ parameters }) => parameters,
  toRuleAnswer,
);

const { filters, condition, threshold, window_minutes, min_requests, channels } = alertRuleExample;

const putAlertRule = forwarded(
  operation({
    path,
    method: "put",
    tag,
    key,
    role: "operator",
    summary: "Set an alert",
    description:
      "Makes the rule, or gives the one with this name other settings; a setting that the body lacks is that of a new one. May be repeated. A rule is checked every minute, fires once, and clears when its condition was not met for five minutes. A workspace has at most 50 rules: 409 for one more.",
    parameters,
    body: {
      ...json(alertRuleSettings, example({ filters, condition, threshold, window_minutes, min_requests, channels })),
      maxBytes,
    },
    answer: putAnswer(
      "rule",
      json(putAlertRuleAnswer, example({ data: alertRuleExample, created: true, changed: true })),
    ),
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  method.putAlertRule,
  ({ parameters, body }) => ({ ...parameters, settings: ruleSettingsMessage(completeRule(body)) }),
  ({ created, changed, ...answer }) => ({ ...toRuleAnswer(answer), created, changed }),
  { carriesSettings: true },
);

const deleteAlertRule = forwarded(
  operation({
    path,
    method: "delete",
    tag,
    key,
    role: "operator",
    summary: "Delete an alert rule",
    description: "Deletes the rule with its history. One that fires is not cleared in its channels.",
    parameters,
    answer: { description: "It is gone.", content: [json(deletedAlertRule, example({ deleted: true }))] },
    statuses,
  }),
  method.deleteAlertRule,
  ({ parameters }) => parameters,
  () => ({ deleted: true }),
);

const listAlertRuleEvents = forwarded(
  operation({
    path: `${path}/history`,
    method: "get",
    tag,
    key,
    summary: "List the history of an alert rule",
    description: "When the rule fired and cleared, and its tests: the last 100, latest first.",
    parameters,
    answer: {
      description: "The events.",
      content: [
        json(
          alertRuleHistory,
          example({ data: [{ at: "2026-09-16T12:00:00.000Z", type: "fired", value: 12.5, threshold: 5 }] }),
        ),
      ],
    },
    statuses,
  }),
  method.listAlertRuleEvents,
  ({ parameters }) => parameters,
  ({ events }) => ({ data: events.map(toRuleEventJson) }),
);

const testAlertRule = forwarded(
  operation({
    path: `${path}/test`,
    method: "post",
    tag,
    key,
    role: "operator",
    summary: "Test an alert rule",
    description:
      "Checks the condition now, sends a test alert to each channel of the rule, and waits for their answers until 8.5 seconds have passed in all. The state of the rule stays as it is. At most once in ten seconds for each rule, and six times a minute in a workspace: 429.",
    parameters,
    answer: {
      description: "What the condition is now, and what became of the test alerts.",
      content: [
        json(
          alertRuleTest,
          example({
            data: { is_met: true, value: 12.5, deliveries: [{ channel: "ops", is_delivered: true, error: null }] },
          }),
        ),
      ],
    },
    statuses: reportStatuses(),
  }),
  method.testAlertRule,
  ({ parameters }) => parameters,
  (answer) => ({ data: toRuleTestJson(answer) }),
);

const listAlertChannels = forwarded(
  operation({
    path: "/alert-channels",
    method: "get",
    tag,
    key,
    summary: "List the channels of alerts",
    description:
      "The entries of `alerts` in the configuration file that alert rules of the workspace may name: those for every workspace or for this one, with `rule` among their events. Their addresses are not shown.",
    answer: {
      description: "The channels.",
      content: [json(alertChannelList, example({ data: [{ name: "ops", kind: "webhook" }] }))],
    },
    statuses: [400, 401, 403, 500],
  }),
  method.listAlertChannels,
  () => ({}),
  ({ channels }) => ({ data: channels.map(({ name, kind }) => ({ name, kind })) }),
);

export const alertRuleOperations = {
  listAlertRules,
  getAlertRule,
  putAlertRule,
  deleteAlertRule,
  listAlertRuleEvents,
  testAlertRule,
  listAlertChannels,
};
