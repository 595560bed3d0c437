/** Checks the settings of a workspace. */
import type { ModelLimitsJson } from "@sluice/proto/contract/records/model-limits.js";
import type { TagBudgetsJson } from "@sluice/proto/contract/records/tag-budgets.js";
import type { PermissionsJson } from "@sluice/proto/contract/records/permissions.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import { workspaceSettings } from "@sluice/proto/contract/records/workspaces.js";
import { parseTagNames } from "@sluice/proto/lib/turns/tags.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { object } from "@sluice/proto/lib/validation/shape.js";
import { parseAmount } from "./amount.ts";

/** Settings of a workspace; an absent setting stays unchanged. */
export interface WorkspaceSettings {
  /** Unique among workspaces. */
  readonly name?: string;
  /** Budget shared by the keys of the workspace, USD as a decimal. Null: any amount. */
  readonly limitUsd?: string | null;
  /** Period of the budget. Null: the budget never resets. */
  readonly limitReset?: ResetInterval | null;
  /** Limits of models that its keys share. Null: none. */
  readonly modelLimits?: ModelLimitsJson | null;
  /** Budgets for tags of requests. Null: none. */
  readonly tagBudgets?: TagBudgetsJson | null;
  /** Upper bound of the permissions of its keys; null without lists. */
  readonly permissions?: PermissionsJson | null;
  /** Names of required tags, such as `team,cost_center`. Null: none. */
  readonly requiredTags?: string | null;
}

const shape = object(workspaceSettings);

/** @throws Fault INVALID_REQUEST with every problem */
export function checkWorkspaceSettings(settings: WorkspaceSettings): void {
  throwProblems((problems) => shape.check(workspaceSettingsJson(settings), "", problems));
}

/** Settings in their HTTP form, as needed by the shape. */
export function workspaceSettingsJson({
  name,
  limitUsd,
  limitReset,
  modelLimits,
  tagBudgets,
  permissions,
  requiredTags,
}: WorkspaceSettings): JsonObject {
  const limit = typeof limitUsd === "string" ? parseAmount(limitUsd) : limitUsd;
  const required = typeof requiredTags === "string" ? parseTagNames(requiredTags, "required_tags") : requiredTags;
  return {
    name,
    limit,
    limit_reset: limitReset,
    model_limits: modelLimits,
    tag_budgets: tagBudgets,
    permissions,
    required_tags: required,
  };
}
