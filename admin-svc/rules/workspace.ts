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
  /** Name of the workspace, unique among all workspaces. */
  readonly name?: string;
  /** Budget shared by the keys of the workspace, in USD as a decimal; null for no budget. */
  readonly limitUsd?: string | null;
  /** Period of the budget; null for a budget that never resets. */
  readonly limitReset?: ResetInterval | null;
  /** Rate limits by model, shared by the workspace's keys; null for none. */
  readonly modelLimits?: ModelLimitsJson | null;
  /** Budgets by tag of requests; null for none. */
  readonly tagBudgets?: TagBudgetsJson | null;
  /** Maximum permissions of the workspace's keys; null for no restriction. */
  readonly permissions?: PermissionsJson | null;
  /** Names of required tags, such as `team,cost_center`; null for none. */
  readonly requiredTags?: string | null;
}

const shape = object(workspaceSettings);

/** @throws Fault INVALID_REQUEST with every problem */
export function checkWorkspaceSettings(settings: WorkspaceSettings): void {
  throwProblems((problems) => shape.check(workspaceSettingsJson(settings), "", problems));
}

/** Converts settings to their HTTP form, which the checked shapes describe. */
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
