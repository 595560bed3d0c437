/** The forms of the console. They add only labels and special controls to the description of a record. */
import { records } from "../gen/records.ts";
import { type FormParts, type Values, recordForm } from "./edits.ts";

type Name = "Guardrail" | "Key" | "Workspace" | "EndUser";

const formOf = (name: Name, parts: Omit<FormParts, "created" | "changed" | "shown">) =>
  recordForm({ created: records[`New${name}`], changed: records[`${name}Change`], shown: records[name], ...parts });

export const guardrailForm = formOf("Guardrail", {
  closed: /^(?:detectors|limit_usd|reset_interval)$|^(?:allowed|enable|enforce|ignored)_/,
  labels: {
    content_filter_builtins: "Detectors",
    content_filters: "Patterns",
    judge_rules: "Judge rules",
    detectors: "External detectors",
    limit_usd: "Budget of each key in USD",
    reset_interval: "Resets",
  },
  kinds: { content_filter_builtins: "each", pattern: "code" },
  needs: { reset_interval: "limit_usd" },
});

const permissionLabels = { mcp_servers: "MCP servers", doors: "Formats" };

export const keyForm = formOf("Key", {
  closed:
    /^(?:allowed_networks|capture_content|external|further_guardrails|model_limits|permissions|tags|trace_content)$|_per_minute$|^concurrent_/,
  labels: {
    limit: "Budget in USD",
    limit_reset: "Resets",
    expires_at: "Expires",
    external: "End user",
    ...permissionLabels,
  },
  kinds: { expires_at: "time" },
  needs: { limit_reset: "limit" },
  from: { external: ({ external_user: user }: Values) => (user === null ? null : { user }) },
  leftOut: ["disabled"],
});

export const workspaceForm = formOf("Workspace", {
  closed: /^(?:model_limits|permissions|tag_budgets)$/,
  labels: { limit: "Budget in USD", limit_reset: "Resets", ...permissionLabels },
  needs: { limit_reset: "limit" },
});

/** The form of an end user. The name cannot be changed later, and another control changes the state. */
export const endUserForm = recordForm({
  created: records["NewEndUser"],
  changed: records["NewEndUser"],
  shown: records["EndUser"],
  labels: { user: "Name" },
});
