/** Guardrails: bodies, queries and answers of their operations. */
import {
  type ObjectShape,
  type Shape,
  array,
  constant,
  described,
  named,
  nullable,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";
import {
  changeOf,
  deleted,
  listOf,
  onlyFalse,
  onlyNull,
  ownWorkspace,
  pageQuery,
  recordName,
  time,
} from "./records.ts";

/** The others are known words, and would be promises that nobody keeps. */
const action: Shape = {
  check: (value, path, problems) => {
    if (value === "redact" || value === "flag") problems.add(path, `${value} is not available yet; use block`);
    else word("block").check(value, path, problems);
  },
  schema: word("block").schema,
};

const filter = object(
  {
    pattern: described(
      string({ min: 1, max: 100_000, identifier: true }),
      "A regular expression in RE2 syntax: no look-around, no back-references. It must not match the empty string.",
    ),
    action: described(action, "A request in which the pattern is found is refused: 403."),
    label: described(
      nullable(string({ min: 1, max: 100, identifier: true })),
      "Named to the client in place of the pattern.",
    ),
  },
  { required: ["pattern", "action"], strict: true },
);

/** What a guardrail is made of. Fields are named here as in JSON, for every door. */
const settings = {
  name: described(recordName, "Name for people."),
  description: described(nullable(string({ max: 1_000, identifier: true })), "What it is for."),
  content_filters: described(
    nullable(array(filter, { max: 100, entry: "element" })),
    "What no request of a key that holds the guardrail may contain.",
  ),
};

/** The fields that a change can set, whatever form they came in. */
export const guardrailSettings: ObjectShape = object(settings);

const lists = onlyNull("lists of models and providers are");
const dataPolicy = onlyNull("data policies of guardrails are");

const unavailable = {
  limit_usd: onlyNull("budgets are"),
  reset_interval: onlyNull("budgets are"),
  include_byok_in_budgets: onlyFalse("budgets are"),
  allowed_models: lists,
  ignored_models: lists,
  allowed_providers: lists,
  ignored_providers: lists,
  enforce_zdr: dataPolicy,
  enforce_zdr_anthropic: dataPolicy,
  enforce_zdr_openai: dataPolicy,
  enforce_zdr_google: dataPolicy,
  enforce_zdr_xai: dataPolicy,
  enforce_zdr_other: dataPolicy,
  enforce_zdr_groups: dataPolicy,
  enable_paid_model_training: dataPolicy,
  enable_free_model_training: dataPolicy,
  enable_free_model_publication: dataPolicy,
  allowed_data_regions: onlyNull("regions are"),
  content_filter_builtins: onlyNull("built-in detectors are"),
};

export const newGuardrail: ObjectShape = named(
  "NewGuardrail",
  object({ ...settings, ...unavailable, workspace_id: ownWorkspace }, { required: ["name"], strict: true }),
);

export const guardrailChange: ObjectShape = named("GuardrailChange", changeOf({ ...settings, ...unavailable }));

export const guardrailQuery: ObjectShape = object({ ...pageQuery(50), workspace_id: ownWorkspace }, { strict: true });

/** Every field that cannot be set, as an answer has it. */
const unset = Object.fromEntries(
  Object.keys(unavailable).map((name) => {
    const value = name === "include_byok_in_budgets" ? constant(false) : constant(null);
    return [name, described(value, "Always this: not available yet.")];
  }),
);

const shownFilter = object(
  {
    pattern: described(string({ min: 1 }), "Regular expression in RE2 syntax."),
    action: described(word("block"), "What happens when it is found."),
    label: described(nullable(string()), "Named in place of the pattern."),
  },
  { required: ["pattern", "action", "label"] },
);

const fields = {
  id: described(string({ min: 1 }), "By this it is addressed."),
  name: described(string({ min: 1 }), "Name for people."),
  description: described(nullable(string()), "What it is for."),
  content_filters: described(nullable(array(shownFilter)), "What is refused; null: nothing."),
  ...unset,
  workspace_id: described(string({ min: 1 }), "The workspace that owns it."),
  created_at: described(time, "When it was made."),
  updated_at: described(time, "When it was last changed."),
};

const guardrail = named(
  "Guardrail",
  object(fields, { required: Object.keys(fields), description: "What keys that hold it may not send." }),
);

export const guardrailList = named("GuardrailList", listOf(guardrail));

export const guardrailAnswer = named("GuardrailAnswer", object({ data: guardrail }, { required: ["data"] }));

export const assignmentQuery: ObjectShape = object(pageQuery(50), { strict: true });

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
