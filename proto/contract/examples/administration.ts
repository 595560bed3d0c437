/** Examples of administration in the OpenAPI document. A test checks each against its schema. */
import { guardrailRecord, toGuardrailJson } from "../records/guardrail-record.ts";
import { unsetGuardrail } from "../records/guardrails.ts";

const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Titan.", annotations: [], logprobs: [] }],
} as const;

const weather = {
  type: "function",
  name: "get_weather",
  description: "Current weather of a town",
  parameters: {
    type: "object",
    properties: { town: { type: "string" } },
    required: ["town"],
    additionalProperties: false,
  },
  strict: true,
} as const;

export const requestExamples = {
  text: {
    summary: "A question",
    value: { model: "acme/large", input: "Name the largest moon of Saturn.", max_output_tokens: 64 },
  },
  stream: {
    summary: "The same as a stream, from the first model that can",
    value: {
      models: ["acme/large", "borealis/large"],
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Count to three." }] }],
      stream: true,
    },
  },
  function_output: {
    summary: "The result of a function, with the conversation so far",
    value: {
      model: "acme/large",
      tools: [weather],
      input: [
        { type: "message", role: "user", content: "Weather in Oslo?" },
        {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: "get_weather",
          arguments: '{"town":"Oslo"}',
          status: "completed",
        },
        { type: "function_call_output", call_id: "call_1", output: '{"celsius":-3,"sky":"clear"}' },
      ],
    },
  },
} as const;

export const responseExample = {
  id: "resp_1",
  object: "response",
  created_at: 1_790_000_000,
  completed_at: 1_790_000_002,
  status: "completed",
  error: null,
  incomplete_details: null,
  instructions: null,
  model: "acme/large",
  output: [message],
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
  max_output_tokens: 64,
  max_tool_calls: null,
  metadata: null,
  temperature: null,
  top_p: null,
  frequency_penalty: null,
  presence_penalty: null,
  top_logprobs: 0,
  truncation: "disabled",
  text: { format: { type: "text" } },
  reasoning: { effort: null, summary: null },
  service_tier: "default",
  store: false,
  background: false,
  user: null,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  usage: {
    input_tokens: 14,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 17,
    is_byok: false,
    cost: 0.0000095,
    cost_details: {
      upstream_inference_cost: 0.0000095,
      upstream_inference_input_cost: 0.0000035,
      upstream_inference_output_cost: 0.000006,
    },
  },
} as const;

export const dryRunExample = {
  object: "response.dry_run",
  blocked: false,
  error: null,
  guardrails: [
    {
      guardrail_id: "550e8400-e29b-41d4-a716-446655440000",
      guardrail_scope: "api-key",
      decision: "allowed",
    },
  ],
  candidates: [
    {
      model: "acme/large",
      provider: "Acme",
      service_tier: "default",
      quantization: "unknown",
      not_sent: [],
      estimate: {
        input_tokens: 14,
        max_output_tokens: 64,
        input_cost: 0.0000035,
        max_output_cost: 0.000128,
        max_cost: 0.0001315,
        held: 0.000163,
      },
    },
  ],
  service_metadata: {
    attempt: 0,
    endpoints: {
      available: [{ model: "acme/large", provider: "Acme", selected: false }],
      total: 1,
      excluded_by: { "data_policy:zdr": 2 },
    },
    is_byok: false,
    params: { policy_generation: 7 },
    pipeline: [],
    region: "local",
    requested: "acme/large",
    strategy: "direct",
    summary: "available=1",
  },
} as const;

export const eventExample = {
  type: "response.output_text.delta",
  sequence_number: 4,
  item_id: "msg_1",
  output_index: 0,
  content_index: 0,
  delta: "One, ",
  logprobs: [],
} as const;

export const keyHashesExample = {
  key_hashes: ["c56454edb818d6b14bc0d61c46025f1450b0f4012d12304ab40aacb519fcbc93"],
} as const;

export const endUserExample = {
  data: {
    user: "employee_123",
    is_active: false,
    created_at: "2026-09-16T12:00:00.000000Z",
    updated_at: "2026-11-20T19:30:00.001234Z",
  },
} as const;

const account = {
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_requests: null,
} as const;

const workspace = "00000000-0000-4000-8000-000000000001";

export const keyExample = {
  hash: "c56454edb818d6b14bc0d61c46025f1450b0f4012d12304ab40aacb519fcbc93",
  name: "billing",
  external_id: null,
  label: "sk-sl-Xy12...9aBc",
  disabled: false,
  expires_at: null,
  external_user: "employee_123",
  model_limits: [{ models: ["openai/*"], requests_per_minute: 60, tokens_per_day: 2_000_000 }],
  permissions: null,
  capture_content: false,
  trace_content: false,
  tags: { team: "search" },
  allowed_networks: ["10.0.0.0/8", "2001:db8::/32"],
  further_guardrails: null,
  ...account,
  creator_user_id: null,
  workspace_id: workspace,
  created_at: "2026-09-16T12:00:00.000000Z",
  updated_at: null,
  last_used_at: "2026-09-17T08:30:00.000000Z",
} as const;

export const createdKeyExample = { data: keyExample, key: `sk-sl-Xy12${"0".repeat(41)}9aBc` } as const;

export const currentKeyExample = {
  label: "sk-sl-Xy12...9aBc",
  is_management_key: false,
  is_provisioning_key: false,
  is_free_tier: false,
  expires_at: null,
  model_limits: null,
  permissions: null,
  capture_content: false,
  trace_content: false,
  tags: null,
  allowed_networks: null,
  further_guardrails: null,
  ...account,
  creator_user_id: null,
  organization_id: null,
  workspace_id: workspace,
  allowed_data_regions: ["global"],
  free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
  rate_limit: { requests: -1, interval: "10s", note: "Out of use." },
} as const;

const guardrailId = "550e8400-e29b-41d4-a716-446655440000";
const createdAt = new Date("2026-09-16T12:00:00Z");

export const guardrailExample = toGuardrailJson(
  guardrailRecord({
    ...unsetGuardrail,
    id: guardrailId,
    name: "no-secrets",
    content_filters: [{ pattern: "BEGIN [A-Z ]*PRIVATE KEY", action: "block", label: "private-key" }],
    content_filter_builtins: [{ slug: "email", action: "redact" }],
    judge_rules: [{ rule: "Never promises a refund.", action: "flag", threshold: 0.7, label: "refunds" }],
    detectors: [{ detector: "names", category: "person-name", action: "redact" }],
    routing_policy: { enforce_zdr_anthropic: true, enable_paid_model_training: false },
    workspace_id: workspace,
    created_at: createdAt,
    updated_at: createdAt,
  }),
);

export const guardrailTrialExample = {
  decision: "blocked",
  text: null,
  error: {
    code: 403,
    message: "Response blocked by content filter: private-key",
    metadata: { error_type: "permission_denied", patterns: ["private-key"] },
  },
  matches: [{ rule: "private-key", action: "block", engine: "regex", start: 5, end: 26 }],
  pipeline: [
    {
      type: "guardrail",
      name: "content-filter",
      guardrail_id: "",
      guardrail_scope: "api-key",
      summary: "Blocked: 1 pattern",
      data: { action: "blocked", detected: true, engines: ["regex"], patterns: ["private-key"], applies_to: "output" },
    },
  ],
} as const;

export const assignmentExample = {
  id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  guardrail_id: guardrailId,
  key_hash: keyExample.hash,
  key_name: keyExample.name,
  key_label: keyExample.label,
  assigned_by: null,
  created_at: "2026-09-16T12:00:00.000000Z",
} as const;

export const configuredProviderExample = {
  id: "acme",
  source: "database",
  problem: null,
  models: 1,
  api_key_ends: ["x7Qd"],
  settings: {
    dialect: "chat",
    base_url: "https://api.acme.example/v1",
    models: [{ id: "acme/large", endpoints: [{ upstream_model: "large-2" }] }],
  },
  created_at: "2026-09-16T12:00:00.000Z",
  updated_at: "2026-09-16T12:00:00.000Z",
} as const;

export const localServerExample = {
  id: "ollama",
  name: "Ollama",
  base_url: "http://127.0.0.1:11434/v1",
  models: ["llama3.2:3b", "qwen3:8b"],
  provider: null,
} as const;

export const providerTestExample = {
  ok: false,
  provider: "acme",
  model: "acme/large",
  upstream_model: "large-2",
  latency_ms: 48,
  outcome: null,
  usage: null,
  cause: {
    kind: "refused",
    status: 401,
    message:
      "provider answered 401; the key is not valid there: check `api_keys` and the variables that they name, or the identity",
  },
} as const;

export const viewExample = {
  name: "Failures of acme/large",
  query: "tab=errors&last=24h&model=acme%2Flarge",
  created_by: "ada@example.com",
  created_at: "2026-09-16T12:00:00.000Z",
  updated_at: "2026-09-16T12:00:00.000Z",
} as const;

export const alertRuleExample = {
  name: "Failures of acme/large",
  filters: { model: "acme/large" },
  condition: "error_rate",
  threshold: 5,
  window_minutes: 15,
  min_requests: 20,
  channels: ["ops"],
  is_firing: true,
  firing_since: "2026-09-16T12:00:00.000Z",
  value: 12.5,
  checked_at: "2026-09-16T12:03:00.000Z",
  last_error: null,
  created_by: "ada@example.com",
  created_at: "2026-09-15T12:00:00.000Z",
  updated_at: "2026-09-15T12:00:00.000Z",
} as const;
