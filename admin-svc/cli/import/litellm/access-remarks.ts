/** Remarks on fields of LiteLLM's keys, teams, customers and users without a counterpart: the way to the same effect. */
import { type Remark, all, kept, left } from "../findings.ts";

type Remarks = Readonly<Record<string, Remark>>;

const administration = "docs/operate/administration.md";
const budgets = "docs/budgets/README.md";
const guardrails = "docs/guardrails/README.md";
const signIn = "docs/console/README.md#sign-in-to-the-console";
const page = "docs/migrate/litellm.md#keys-and-teams";

const spent = left("Sluice counts from 0: lower the first limit if the rest of this period matters", budgets);
const note = left("records have no notes", page);
const history = kept("the audit log has the changes of the new record", `${administration}#the-audit-log`);
const people = left("people sign in to the console, with the role of the first rule that fits", signIn);
const anotherBudget = left("a key has one budget; guardrails can have another", budgets);
const models = left(
  "names of models hold for all keys of a workspace: model_aliases",
  "docs/providers/routing.md#names-of-models",
);
const rules = left("create guardrails, and assign them to keys or workspaces", guardrails);

/** Fields of keys. */
export const keyRemarks: Remarks = {
  token: left(
    "the key itself cannot be carried over, since only its hash is known: the new key has a secret of its own",
    page,
  ),
  key_name: kept("the end of the old key, for people", page),
  ...all(spent, "spend model_spend"),
  budget_reset_at: kept("budgets begin anew at midnight UTC, on Mondays, on the first of the month", budgets),
  ...all(note, "metadata tags config object_permission object_permission_id agent_id project_id"),
  ...all(history, "created_at created_by updated_at updated_by settings_updated_at last_active last_rotation_at"),
  ...all(anotherBudget, "model_max_budget budget_limits budget_fallbacks soft_budget budget_id litellm_budget_table"),
  soft_budget_cooldown: left("alerts tell of shares of a budget", "docs/operate/alerts.md"),
  ...all(models, "aliases router_settings"),
  ...all(rules, "guardrails policies access_group_ids rpm_limit_per_model tpm_limit_per_model"),
  ...all(
    left("keys are rotated by keys rotate", administration),
    "auto_rotate rotation_interval rotation_count key_rotation_at",
  ),
  ...all(
    left("inference keys ask models, management keys change records", administration),
    "permissions allowed_routes key_type user_role",
  ),
  allowed_cache_controls: left("Sluice stores no answers", "docs/providers/formats.md"),
  ...all(left("workspaces are in no organisations", `${administration}#workspaces`), "org_id organization_id"),
};

/** Fields of teams. */
export const teamRemarks: Remarks = {
  ...all(spent, "spend model_spend"),
  budget_reset_at: keyRemarks["budget_reset_at"] as Remark,
  ...all(note, "metadata object_permission object_permission_id"),
  ...all(history, "created_at updated_at"),
  ...all(anotherBudget, "model_max_budget budget_limits soft_budget team_member_budget_table"),
  ...all(
    left("limits belong to keys", "docs/budgets/rate-limits.md"),
    "tpm_limit rpm_limit tpd_limit max_parallel_requests",
  ),
  ...all(people, "admins members members_with_roles team_member_permissions team_memberships members_count"),
  ...all(models, "model_id litellm_model_table router_settings default_team_member_models"),
  ...all(rules, "policies allow_team_guardrail_config access_group_ids guardrails"),
  organization_id: keyRemarks["org_id"] as Remark,
  ...all(kept("keys are those of --keys", page), "keys keys_count"),
};

/** Fields of customers, which are the end users of requests. */
export const customerRemarks: Remarks = {
  ...all(spent, "spend"),
  ...all(
    left("budgets belong to keys: give this end user a key of its own", budgets),
    "litellm_budget_table budget_id",
  ),
  alias: note,
  ...all(rules, "allowed_model_region default_model"),
  ...all(note, "object_permission object_permission_id"),
};

export const unknownUser = left(
  "people have no budgets and keys of their own, and sign in to the console by rules",
  signIn,
);
