/** Workspaces: queries, request and response bodies of their operations. */
import type { Workspace } from "../../gen/sluice/admin/v1/workspace_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import { formatDollars, toDollars, parsePico } from "../../lib/ledger/money.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { boolean, described, named, nullable, number, object, string, word } from "../../lib/validation/shape.ts";
import { parseTagNames, tagNamesText } from "../../lib/turns/tags.ts";
import { tagNames } from "./tags.ts";
import {
  type ModelLimitsJson,
  modelLimitsField,
  modelLimitsJson,
  modelLimitsMessage,
  shownModelLimits,
  storedModelLimits,
} from "./model-limits.ts";
import {
  type PermissionsJson,
  permissionsField,
  permissionsJson,
  permissionsMessage,
  shownPermissions,
  storedPermissions,
} from "./permissions.ts";
import {
  type TagBudgetsJson,
  shownTagBudgets,
  storedTagBudgets,
  tagBudgetsField,
  tagBudgetsJson,
  tagBudgetsMessage,
} from "./tag-budgets.ts";
import {
  changeShape,
  deleted,
  putOutcome,
  externalIdField,
  pageQuery,
  pageShape,
  recordName,
  resetIntervals,
  time,
} from "./record-shapes.ts";

/** Settings of a workspace in requests, also on the command line. */
export const workspaceSettings = {
  name: described(recordName, "Name for people; no other workspace has it."),
  limit: described(
    nullable(number({ min: 0, max: 1_000_000_000 })),
    "What its keys may spend together, in USD. A call that could exceed it is refused with 402. Null: any amount.",
  ),
  limit_reset: described(
    nullable(word(...resetIntervals)),
    "When the budget begins anew: at midnight UTC, on Mondays, on the first of the month. Null: never.",
  ),
  model_limits: modelLimitsField("Limits that its keys share for models; those of a key hold as well."),
  tag_budgets: tagBudgetsField,
  permissions: permissionsField("What its keys may use at most; those of a key narrow it further."),
  required_tags: described(
    nullable(tagNames),
    "Names of tags without which a request to a model is refused with 400; a tag of its key counts. Null: none.",
  ),
};

export const newWorkspace = named("NewWorkspace", object(workspaceSettings, { required: ["name"], strict: true }));

export const workspaceChange = named("WorkspaceChange", changeShape(workspaceSettings));

export const workspaceQuery = object(
  { ...pageQuery(100), deleted: described(boolean, "`true` lists the deleted workspaces instead of the others.") },
  { strict: true },
);

export const deletedWorkspace = named("DeletedWorkspace", deleted);

const spendable = number({ min: 0 });

const fields = {
  id: described(string({ min: 1 }), "Identifier by which it is addressed."),
  name: described(string({ min: 1 }), "Name for people."),
  limit: described(nullable(spendable), "Budget of all its keys together in USD; null: none."),
  limit_reset: described(nullable(word(...resetIntervals)), "When it begins anew; null: never."),
  limit_remaining: described(nullable(spendable), "What is left of it; null without a budget."),
  model_limits: shownModelLimits,
  tag_budgets: shownTagBudgets,
  permissions: shownPermissions,
  usage: described(spendable, "USD spent since the budget began anew, or at all when it never does."),
  required_tags: described(tagNames, "Names of tags that every request must have."),
  external_id: externalIdField,
  created_at: described(time, "When it was made."),
};

export const workspace = named(
  "Workspace",
  object(fields, { required: Object.keys(fields), description: "A workspace: its keys share a budget." }),
);

export const workspaceList = named("WorkspaceList", pageShape(workspace));

export const workspaceAnswer = named("WorkspaceAnswer", object({ data: workspace }, { required: ["data"] }));

export const putWorkspaceAnswer = named(
  "PutWorkspaceAnswer",
  object({ data: workspace, ...putOutcome }, { required: ["data", ...Object.keys(putOutcome)] }),
);

/** Converts the settings of a body to fields of a message; an absent or cleared setting stays unset. */
export function workspaceFields(body: JsonObject) {
  const {
    name,
    limit,
    limit_reset: reset,
    model_limits: modelLimits,
    tag_budgets: tagBudgets,
    permissions,
    required_tags: requiredTags,
  } = body as {
    readonly name?: string;
    readonly limit?: number | null;
    readonly limit_reset?: string | null;
    readonly model_limits?: ModelLimitsJson | null;
    readonly tag_budgets?: TagBudgetsJson | null;
    readonly permissions?: PermissionsJson | null;
    readonly required_tags?: readonly string[] | null;
  };
  const lists = storedPermissions(permissions);
  const entries = storedModelLimits(modelLimits);
  const budgets = storedTagBudgets(tagBudgets);
  return {
    ...(name !== undefined && { name }),
    ...(typeof limit === "number" && { limitUsd: formatDollars(limit) }),
    ...(typeof reset === "string" && { limitReset: reset }),
    ...(entries && { modelLimits: modelLimitsMessage(entries) }),
    ...(budgets && { tagBudgets: tagBudgetsMessage(budgets) }),
    ...(lists && { permissions: permissionsMessage(lists) }),
    ...(requiredTags && { requiredTags: tagNamesText(requiredTags) }),
  };
}

const maskNames: Readonly<Record<string, string>> = { limit: "limit_usd" };

/** Names of the changed fields, for the update mask of a change. */
export const workspaceMask = (body: JsonObject): string[] => Object.keys(body).map((name) => maskNames[name] ?? name);

/** Converts a workspace to its JSON in answers. */
export const toWorkspaceJson = (message: Workspace): JsonObject => ({
  id: message.id,
  name: message.name,
  limit: message.limitUsd === undefined ? null : Number(message.limitUsd),
  limit_reset: message.limitReset === "" ? null : message.limitReset,
  model_limits: modelLimitsJson(message.modelLimits),
  tag_budgets: tagBudgetsJson(message.tagBudgets),
  permissions: permissionsJson(message.permissions),
  limit_remaining: message.limitUsd === undefined ? null : remainingOf(message.limitUsd, message.spentUsd),
  usage: Number(message.spentUsd),
  required_tags: parseTagNames(message.requiredTags, "required_tags"),
  external_id: message.externalId ?? null,
  created_at: message.createdAt ? instant(message.createdAt) : null,
});

function remainingOf(limitUsd: string, spentUsd: string): number {
  const rest = parsePico(limitUsd) - parsePico(spentUsd);
  return rest > 0n ? toDollars(rest) : 0;
}
