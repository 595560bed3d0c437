/** Guardrails: bodies, queries and answers of their operations. */
import {
  boolean,
  constant,
  described,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";
import { contentFilterFields, shownContentFilters } from "./content-filters.ts";
import { appliesTo, errorPolicies, modes } from "./guardrail-words.ts";
import {
  changeOf,
  deleted,
  listOf,
  onlyFalse,
  ownWorkspace,
  pageQuery,
  recordName,
  resetIntervals,
  time,
} from "./records.ts";
import { detectorRulesField, shownDetectorRules } from "./detector-rules.ts";
import { judgeRulesField, shownJudgeRules } from "./judge-rules.ts";
import { everyZdr, routingPolicyFields } from "./routing-policy.ts";

/** What a guardrail is made of. Fields are named here as in JSON, for every door. */
const settings = {
  name: described(recordName, "Name for people."),
  description: described(nullable(string({ max: 1_000, identifier: true })), "What it is for."),
  ...contentFilterFields,
  judge_rules: judgeRulesField,
  detectors: detectorRulesField,
  applies_to: described(
    nullable(word(...appliesTo.all)),
    "What the filters, detectors and judges look at: what is sent to a model (the default), what it says, or both.",
  ),
  mode: described(
    nullable(word(...modes.all)),
    "enforce, the default; or audit: it reports in the receipt what it would have done, and changes nothing.",
  ),
  on_error: described(
    nullable(word(...errorPolicies.all)),
    "What becomes of a text that a content filter, detector or judge could not look at: closed, the default, refuses it with 503; open lets it pass, on record.",
  ),
  workspace_default: described(
    boolean,
    "Whether every key of the workspace is under it, beside the guardrail that the key itself holds; of several the strictest wins.",
  ),
  account_default: described(
    boolean,
    "Whether every key of every workspace is under it, likewise. Only management keys of the account may say so, and change or delete it then; for others that is 403.",
  ),
  limit_usd: described(
    nullable(number({ min: 0, max: 1_000_000_000 })),
    "What each key under it may spend, in USD, beside its own budget. A call that could exceed it is refused with 403. Null: any amount.",
  ),
  reset_interval: described(
    nullable(word(...resetIntervals)),
    "When that begins anew: at midnight UTC, on Mondays, on the first of the month. Given together with limit_usd.",
  ),
  ...routingPolicyFields,
};

/** The fields that a change can set, whatever form they came in. */
export const guardrailSettings = object(settings);

const unavailable = { include_byok_in_budgets: onlyFalse("keys of your own are") };

export const newGuardrail = named(
  "NewGuardrail",
  object(
    { ...settings, enforce_zdr: everyZdr, ...unavailable, workspace_id: ownWorkspace },
    { required: ["name"], strict: true },
  ),
);

export const guardrailChange = named(
  "GuardrailChange",
  changeOf({ ...settings, enforce_zdr: everyZdr, ...unavailable }),
);

export const guardrailQuery = object({ ...pageQuery(50), workspace_id: ownWorkspace }, { strict: true });

const fields = {
  id: described(string({ min: 1 }), "By this it is addressed."),
  name: described(string({ min: 1 }), "Name for people."),
  description: described(nullable(string()), "What it is for."),
  ...shownContentFilters,
  judge_rules: shownJudgeRules,
  detectors: shownDetectorRules,
  applies_to: described(word(...appliesTo.all), "What the content filters look at."),
  mode: described(word(...modes.all), "Whether it acts, or only reports."),
  on_error: described(word(...errorPolicies.all), "What becomes of a text that could not be looked at."),
  workspace_default: described(boolean, "Whether every key of the workspace is under it."),
  account_default: described(boolean, "Whether every key of every workspace is under it."),
  limit_usd: described(nullable(number({ min: 0 })), "What each key under it may spend, in USD; null: any amount."),
  reset_interval: described(nullable(word(...resetIntervals)), "When that begins anew."),
  include_byok_in_budgets: described(constant(false), "There are no keys of your own."),
  ...routingPolicyFields,
  enforce_zdr: described(nullable(boolean), "What the five fields by author have in common; null when they differ."),
  workspace_id: described(string({ min: 1 }), "The workspace that owns it."),
  created_at: described(time, "When it was made."),
  updated_at: described(time, "When it was last changed."),
};

const guardrail = named(
  "Guardrail",
  object(fields, {
    required: Object.keys(fields),
    description: "What keys that hold it may send and be told, and whom they may ask.",
  }),
);

export const guardrailList = named("GuardrailList", listOf(guardrail));

export const guardrailAnswer = named("GuardrailAnswer", object({ data: guardrail }, { required: ["data"] }));

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

export const assignmentList = named(
  "KeyAssignmentList",
  listOf(
    named(
      "KeyAssignment",
      object(assignment, { required: Object.keys(assignment), description: "A key that holds a guardrail." }),
    ),
  ),
);

export const deletedGuardrail = named("DeletedGuardrail", deleted);
