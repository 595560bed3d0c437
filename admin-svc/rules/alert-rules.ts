/** Checks alert rules, over gRPC and on the command line. */
import {
  type AlertRuleWords,
  type alertRuleSettings,
  completeRule,
  newAlertRule,
} from "@sluice/proto/contract/records/alert-rules.js";
import type { Accepted } from "@sluice/proto/lib/validation/shape.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/** The settings with their defaults. @throws Fault INVALID_REQUEST with every problem */
export function readAlertRule(given: { readonly name: string; readonly settings: unknown }): AlertRuleWords {
  throwProblems((problems) => newAlertRule.check(given, "", problems));
  return completeRule(given.settings as Accepted<typeof alertRuleSettings>);
}
