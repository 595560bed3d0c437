/** Guardrails: queries, request and response bodies of their operations. */
import {
  type Accepted,
  boolean,
  constant,
  described,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { builtinFilters, contentFilters } from "./content-filters.ts";
import { appliesTo, errorPolicies, modes } from "../../lib/policy/guardrail-words.ts";
import {
  changeShape,
  deleted,
  putOutcome,
  externalIdField,
  pageShape,
  onlyFalse,
  ownWorkspace,
  pageQuery,
  recordName,
  resetIntervals,
  time,
} from "./record-shapes.ts";
import { detectorRulesField, detectorRulesAnswer } from "./detector-rules.ts";
import { judgeRulesField, judgeRulesAnswer } from "./judge-rules.ts";
import { enforceZdrField, routingPolicyFields } from "./routing-policy.ts";

/**
 * Every setting of a guardrail, described once: allowed input, form in answers, and the stored value while it is unset.
 * When nothing is stored, answers have null. Names are those of the JSON, the messages and the database columns.
 */
const settings = {
  name: {
    given: described(recordName, "Name for people."),
    shown: described(string({ min: 1 }), "Name for people."),
    unset: "",
  },
  description: {
    given: described(nullable(string({ max: 1_000, identifier: true })), "What it is for."),
    shown: described(nullable(string()), "What it is for."),
    unset: null,
  },
  content_filters: { ...contentFilters, unset: [] },
  content_filter_builtins: { ...builtinFilters, unset: [] },
  judge_rules: { given: judgeRulesField, shown: judgeRulesAnswer, unset: [] },
  detectors: { given: detectorRulesField, shown: detectorRulesAnswer, unset: [] },
  applies_to: {
    given: described(
      nullable(word(...appliesTo.all)),
      "Texts that filters, detectors and judges scan: input, the default, is sent to a model; output is its answer; or both.",
    ),
    shown: described(word(...appliesTo.all), "Texts that are scanned."),
    unset: appliesTo.all[0],
  },
  mode: {
    given: described(
      nullable(word(...modes.all)),
      "enforce, the default; or audit: it reports in the receipt what it would have done, and changes nothing.",
    ),
    shown: described(word(...modes.all), "Whether it acts, or only reports."),
    unset: modes.all[0],
  },
  on_error: {
    given: described(
      nullable(word(...errorPolicies.all)),
      "Decision about a text that a content filter, detector or judge failed to scan: closed, the default, refuses it with 503; open lets it pass and records that.",
    ),
    shown: described(word(...errorPolicies.all), "Decision about a text that could not be scanned."),
    unset: errorPolicies.all[0],
  },
  blocked_message: {
    given: described(
      nullable(string({ min: 1, max: 500 })),
      "Message of the 403 when one of its rules blocks, instead of the default one. error.metadata.patterns names the rules either way. Null: the default, which names the rule.",
    ),
    shown: described(nullable(string()), "Message of the 403 when one of its rules blocks; null: the default."),
    unset: null,
  },
  workspace_default: {
    given: described(
      boolean,
      "Whether every key of the workspace is under it, in addition to the guardrail that the key itself holds; the strictest of several wins.",
    ),
    shown: described(boolean, "Whether every key of the workspace is under it."),
    unset: false,
  },
  account_default: {
    given: described(
      boolean,
      "Whether every key of every workspace is under it, likewise. Only management keys of the account may say so, and change or delete it then; for others that is 403.",
    ),
    shown: described(boolean, "Whether every key of every workspace is under it."),
    unset: false,
  },
  limit_usd: {
    given: described(
      nullable(number({ min: 0, max: 1_000_000_000 })),
      "What each key under it may spend, in USD, beside its own budget. A call that could exceed it is refused with 403. Null: any amount.",
    ),
    shown: described(nullable(number({ min: 0 })), "What each key under it may spend, in USD; null: any amount."),
    unset: null,
  },
  reset_interval: {
    given: described(
      nullable(word(...resetIntervals)),
      "When that begins anew: at midnight UTC, on Mondays, on the first of the month. Given together with limit_usd. Null: there is no budget.",
    ),
    shown: described(nullable(word(...resetIntervals)), "When that begins anew."),
    unset: null,
  },
};

export type GuardrailSettingName = keyof typeof settings;

/** Settings as answers show them. */
export type GuardrailSettingsJson = {
  readonly [Name in GuardrailSettingName]: Accepted<(typeof settings)[Name]["shown"]>;
};

const names = Object.keys(settings) as GuardrailSettingName[];

/** One column of the table above, by the name of the setting. */
const each = <Column extends "given" | "shown" | "unset">(column: Column) =>
  Object.fromEntries(names.map((name) => [name, settings[name][column]])) as {
    readonly [Name in GuardrailSettingName]: (typeof settings)[Name][Column];
  };

/** Stored settings of a guardrail that has only a name. */
export const unsetGuardrail = each("unset");

const given = { ...each("given"), ...routingPolicyFields };

/** Fields of a change, over HTTP, over gRPC and on the command line. */
export const guardrailSettings = object(given);

const unavailable = { include_byok_in_budgets: onlyFalse("keys of your own are") };

export const newGuardrail = named(
  "NewGuardrail",
  object(
    { ...given, enforce_zdr: enforceZdrField, ...unavailable, workspace_id: ownWorkspace },
    { required: ["name"], strict: true },
  ),
);

export const guardrailChange = named(
  "GuardrailChange",
  changeShape({ ...given, enforce_zdr: enforceZdrField, ...unavailable }),
);

export const guardrailQuery = object({ ...pageQuery(50), workspace_id: ownWorkspace }, { strict: true });

const fields = {
  id: described(string({ min: 1 }), "Identifier, by which it is addressed."),
  ...each("shown"),
  include_byok_in_budgets: described(constant(false), "There are no keys of your own."),
  ...routingPolicyFields,
  enforce_zdr: described(nullable(boolean), "What the five fields by author have in common; null when they differ."),
  external_id: externalIdField,
  workspace_id: described(string({ min: 1 }), "The workspace that owns it."),
  created_at: described(time, "When it was made."),
  updated_at: described(time, "When it was last changed."),
};

export const guardrail = named(
  "Guardrail",
  object(fields, {
    required: Object.keys(fields),
    description: "Limits on requests, answers, models and providers of the keys that hold it.",
  }),
);

export const guardrailList = named("GuardrailList", pageShape(guardrail));

export const guardrailAnswer = named("GuardrailAnswer", object({ data: guardrail }, { required: ["data"] }));

export const putGuardrailAnswer = named(
  "PutGuardrailAnswer",
  object({ data: guardrail, ...putOutcome }, { required: ["data", ...Object.keys(putOutcome)] }),
);

export const assignmentQuery = object(pageQuery(50), { strict: true });

const assignment = {
  id: described(string({ min: 1 }), "Another one whenever the key is given another guardrail."),
  guardrail_id: described(string({ min: 1 }), "The guardrail."),
  key_hash: described(string({ min: 1 }), "Hash of the key."),
  key_name: described(string({ min: 1 }), "Name of the key."),
  key_label: described(string({ min: 1 }), "The key with its middle left out."),
  assigned_by: described(
    nullable(string()),
    "Hash of the management key that assigned it; null when that was done on the command line.",
  ),
  created_at: described(time, "Since when the key holds it."),
};

export const keyAssignment = named(
  "KeyAssignment",
  object(assignment, { required: Object.keys(assignment), description: "A key that holds a guardrail." }),
);

export const assignmentList = named("KeyAssignmentList", pageShape(keyAssignment));

export const deletedGuardrail = named("DeletedGuardrail", deleted);
