/**
 * The list of all migrations, in the order of their names. A folder scan would also find the compiler's declaration
 * files.
 */
import type { Migration } from "kysely";
import * as access from "./0001_access.ts";
import * as usage from "./0002_usage.ts";
import * as keySettings from "./0003_key_settings.ts";
import * as guardrailDescription from "./0004_guardrail_description.ts";
import * as budgets from "./0005_budgets.ts";
import * as assignmentRecord from "./0006_assignment_record.ts";
import * as guardrailPolicy from "./0007_guardrail_policy.ts";
import * as audit from "./0008_audit.ts";
import * as policyTrim from "./0009_policy_trim.ts";
import * as sharedBudgets from "./0010_shared_budgets.ts";
import * as rateLimits from "./0011_rate_limits.ts";
import * as callKind from "./0012_call_kind.ts";
import * as judgeRules from "./0013_judge_rules.ts";
import * as retention from "./0014_retention.ts";
import * as detectorRules from "./0015_detector_rules.ts";
import * as accountGuardrails from "./0016_account_guardrails.ts";
import * as moreCallKinds from "./0017_more_call_kinds.ts";
import * as fusionCalls from "./0018_fusion_calls.ts";
import * as chargedCalls from "./0019_charged_calls.ts";
import * as firstEvent from "./0020_first_event.ts";
import * as blockedMessage from "./0021_blocked_message.ts";
import * as toolCalls from "./0022_tool_calls.ts";
import * as ocrCalls from "./0023_ocr_calls.ts";
import * as callOperation from "./0024_call_operation.ts";
import * as door from "./0025_door.ts";
import * as task from "./0026_task.ts";
import * as turns from "./0027_turns.ts";
import * as usageSums from "./0028_usage_sums.ts";
import * as auditList from "./0029_audit_list.ts";
import * as externalIds from "./0030_external_ids.ts";
import * as consoleSessions from "./0031_console_sessions.ts";
import * as usageChanges from "./0032_usage_changes.ts";
import * as sumsByStep from "./0033_sums_by_step.ts";
import * as turnIndexes from "./0034_turn_indexes.ts";
import * as alerts from "./0040_alerts.ts";
import * as exportCursors from "./0041_exports.ts";
import * as people from "./0042_people.ts";
import * as capturedContents from "./0044_captured_contents.ts";
import * as activity from "./0045_activity.ts";
import * as online from "./0046_online.ts";
import * as holds from "./0050_holds.ts";
import * as providerErrors from "./0051_provider_errors.ts";
import * as ledger from "./0052_ledger.ts";
import * as listIndexes from "./0053_list_indexes.ts";
import * as deletedWorkspaces from "./0054_deleted_workspaces.ts";
import * as usageCube from "./0055_usage_cube.ts";
import * as usedIndex from "./0056_used_index.ts";
import * as storedProviders from "./0057_stored_providers.ts";
import * as tags from "./0059_tags.ts";
import * as permissions from "./0061_permissions.ts";
import * as modelLimits from "./0063_model_limits.ts";
import * as networks from "./0064_networks.ts";
import * as userSums from "./0065_user_sums.ts";
import * as traceContent from "./0069_trace_content.ts";
import * as furtherGuardrails from "./0070_further_guardrails.ts";
import * as missingTurns from "./0071_missing_turns.ts";
import * as tagBudgets from "./0072_tag_budgets.ts";
import * as viewsAndAlertRules from "./0073_views_and_alert_rules.ts";
import * as tagSums from "./0074_tag_sums.ts";

export interface OnlineMigration extends Migration {
  /** Whether the migration runs outside of a transaction, and may be repeated. */
  readonly isOnline?: boolean;
}

export const migrations: Readonly<Record<string, OnlineMigration>> = {
  "0001_access": access,
  "0002_usage": usage,
  "0003_key_settings": keySettings,
  "0004_guardrail_description": guardrailDescription,
  "0005_budgets": budgets,
  "0006_assignment_record": assignmentRecord,
  "0007_guardrail_policy": guardrailPolicy,
  "0008_audit": audit,
  "0009_policy_trim": policyTrim,
  "0010_shared_budgets": sharedBudgets,
  "0011_rate_limits": rateLimits,
  "0012_call_kind": callKind,
  "0013_judge_rules": judgeRules,
  "0014_retention": retention,
  "0015_detector_rules": detectorRules,
  "0016_account_guardrails": accountGuardrails,
  "0017_more_call_kinds": moreCallKinds,
  "0018_fusion_calls": fusionCalls,
  "0019_charged_calls": chargedCalls,
  "0020_first_event": firstEvent,
  "0021_blocked_message": blockedMessage,
  "0022_tool_calls": toolCalls,
  "0023_ocr_calls": ocrCalls,
  "0024_call_operation": callOperation,
  "0025_door": door,
  "0026_task": task,
  "0027_turns": turns,
  "0028_usage_sums": usageSums,
  "0029_audit_list": auditList,
  "0030_external_ids": externalIds,
  "0031_console_sessions": consoleSessions,
  "0032_usage_changes": usageChanges,
  "0033_sums_by_step": sumsByStep,
  "0034_turn_indexes": turnIndexes,
  "0040_alerts": alerts,
  "0041_exports": exportCursors,
  "0042_people": people,
  "0044_captured_contents": capturedContents,
  "0045_activity": activity,
  "0046_online": { ...online, isOnline: true },
  "0050_holds": holds,
  "0051_provider_errors": providerErrors,
  "0052_ledger": ledger,
  "0053_list_indexes": { ...listIndexes, isOnline: true },
  "0054_deleted_workspaces": deletedWorkspaces,
  "0055_usage_cube": usageCube,
  "0056_used_index": { ...usedIndex, isOnline: true },
  "0057_stored_providers": storedProviders,
  "0059_tags": tags,
  "0061_permissions": permissions,
  "0063_model_limits": modelLimits,
  "0064_networks": networks,
  "0065_user_sums": userSums,
  "0069_trace_content": traceContent,
  "0070_further_guardrails": furtherGuardrails,
  "0071_missing_turns": missingTurns,
  "0072_tag_budgets": tagBudgets,
  "0073_views_and_alert_rules": viewsAndAlertRules,
  "0074_tag_sums": tagSums,
};
