/** Examples of the audit log and of workspaces in the OpenAPI document. */
const workspace = "00000000-0000-4000-8000-000000000001";
const hash = "c56454edb818d6b14bc0d61c46025f1450b0f4012d12304ab40aacb519fcbc93";

export const auditEntryExample = {
  sequence: 12,
  workspace_id: workspace,
  at: "2026-09-16T12:00:00.000000Z",
  actor: "5f2d1b0c8a7e6d5c4b3a29180716f5e4d3c2b1a0998877665544332211009f8e",
  action: "keys.update",
  target: hash,
  actor_name: "terraform",
  target_name: "billing-team",
  before: { disabled: false },
  after: { disabled: true },
  request_id: "req_5dRt1QwErTyUiOpAsDfGhJ",
  address: "203.0.113.7",
  generation: 41,
  hash: "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
  erased_at: null,
} as const;

export const auditStateExample = {
  workspace_id: workspace,
  name: "default",
  entries: 12,
  erased: 0,
  sequence: 12,
  head: auditEntryExample.hash,
  wrong: [],
  unverifiable: [],
} as const;

export const workspaceExample = {
  id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  name: "research",
  limit: 500,
  limit_reset: "monthly",
  model_limits: null,
  tag_budgets: [{ tag: "project", value: "apollo", limit: 100, limit_reset: "monthly" }],
  permissions: { models: ["anthropic/*", "openai/gpt-*"] },
  limit_remaining: 438.75,
  usage: 61.25,
  required_tags: ["team"],
  external_id: null,
  created_at: "2026-09-16T12:00:00.000000Z",
} as const;
