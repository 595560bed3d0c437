/** Remarks on fields of LiteLLM's keys, teams, customers and users that Sluice lacks: how to get the same effect. */
import { type Remark, sameRemarkFor, keptField, untakenField } from "../findings.ts";

type Remarks = Readonly<Record<string, Remark>>;

const administration = "docs/operate/administration.md";
const budgets = "docs/budgets/README.md";
const guardrails = "docs/guardrails/README.md";
const signIn = "docs/console/README.md#sign-in-to-the-console";
const page = "docs/migrate/litellm.md#keys-and-teams";

const spent = untakenField("Sluice counts from 0: lower the first limit if the rest of this period matters", budgets);
const note = untakenField("records have no notes", page);
const history = keptField("the audit log has the changes of the new record", `${administration}#the-audit-log`);
const people = untakenField("people sign in to the console, with the role of the first rule that fits", signIn);
const anotherBudget = untakenField("a key has one budget; guardrails can have another", budgets);
const models = untakenField(
  "names of models hold for all keys of a workspace: model_aliases",
  "docs/providers/routing.md#names-of-models",
);
const rules = untakenField("create guardrails, and assign them to keys or workspaces", guardrails);

/** Remarks on fields of LiteLLM's keys. */
export const keyRemarks: Remarks = {
  token: untakenField(
    "the key itself cannot be carried over, since only its hash is known: the new key has a secret of its own",
    page,
  ),
  key_name: keptField("the end of the old key, for people", page),
  ...sameRemarkFor(spent, "spend model_spend"),
  budget_reset_at: keptField("budgets begin anew at midnight UTC, on Mondays, on the first of the month", budgets),
  ...sameRemarkFor(note, "metadata tags config object_permission object_permission_id agent_id project_id"),
  ...sameRemarkFor(
    history,
    "created_at created_by updated_at updated_by settings_updated_at last_active last_rotation_at",
  ),
  ...sameRemarkFor(
    anotherBudget,
    "model_max_budget budget_limits budget_fallbacks soft_budget budget_id litellm_budget_table",
  ),
  soft_budget_cooldown: untakenField("alerts tell of shares of a budget", "docs/operate/alerts.md"),
  ...sameRemarkFor(models, "aliases router_settings"),
  ...sameRemarkFor(rules, "guardrails policies access_group_ids rpm_limit_per_model tpm_limit_per_model"),
  ...sameRemarkFor(
    untakenField("keys are rotated by keys rotate", administration),
    "auto_rotate rotation_interval rotation_count key_rotation_at",
  ),
  ...sameRemarkFor(
    untakenField("inference keys ask models, management keys change records", administration),
    "permissions allowed_routes key_type user_role",
  ),
  allowed_cache_controls: untakenField("Sluice stores no answers", "docs/providers/formats.md"),
  ...sameRemarkFor(
    untakenField("workspaces are in no organisations", `${administration}#workspaces`),
    "org_id organization_id",
  ),
};

/** Remarks on fields of LiteLLM's teams. */
export const teamRemarks: Remarks = {
  ...sameRemarkFor(spent, "spend model_spend"),
  budget_reset_at: keyRemarks["budget_reset_at"] as Remark,
  ...sameRemarkFor(note, "metadata object_permission object_permission_id"),
  ...sameRemarkFor(history, "created_at updated_at"),
  ...sameRemarkFor(anotherBudget, "model_max_budget budget_limits soft_budget team_member_budget_table"),
  ...sameRemarkFor(
    untakenField("limits belong to keys", "docs/budgets/rate-limits.md"),
    "tpm_limit rpm_limit tpd_limit max_parallel_requests",
  ),
  ...sameRemarkFor(people, "admins members members_with_roles team_member_permissions team_memberships members_count"),
  ...sameRemarkFor(models, "model_id litellm_model_table router_settings default_team_member_models"),
  ...sameRemarkFor(rules, "policies allow_team_guardrail_config access_group_ids guardrails"),
  organization_id: keyRemarks["org_id"] as Remark,
  ...sameRemarkFor(keptField("keys are those of --keys", page), "keys keys_count"),
};

/** Remarks on fields of LiteLLM's customers, the end users of requests. */
export const customerRemarks: Remarks = {
  ...sameRemarkFor(spent, "spend"),
  ...sameRemarkFor(
    untakenField("budgets belong to keys: give this end user a key of its own", budgets),
    "litellm_budget_table budget_id",
  ),
  alias: note,
  ...sameRemarkFor(rules, "allowed_model_region default_model"),
  ...sameRemarkFor(note, "object_permission object_permission_id"),
};

export const unknownUser = untakenField(
  "people have no budgets and keys of their own, and sign in to the console by rules",
  signIn,
);
