/** Worked examples of catalogue lists. A test checks each against its schema. */

const architecture = {
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
  modality: "text+image->text",
  tokenizer: "Other",
  instruct_type: null,
} as const;

const pricing = { prompt: "0.00000025", completion: "0.000002", input_cache_read: "0.000000025" } as const;

const parameters = ["max_tokens", "reasoning", "tools", "tool_choice"] as const;

export const modelExample = {
  id: "acme/large",
  object: "model",
  canonical_slug: "acme/large",
  name: "Acme Large",
  created: 1_767_312_000,
  owned_by: "acme",
  description: "",
  context_length: 400_000,
  architecture,
  pricing,
  top_provider: { context_length: 400_000, max_completion_tokens: 64_000, is_moderated: false },
  per_request_limits: null,
  supported_parameters: parameters,
  default_parameters: null,
  supported_voices: null,
  links: { details: "/api/v1/models/acme/large/endpoints" },
};

export const modelCountExample = { data: { count: 1 } };

export const modelListExample = {
  object: "list",
  data: [modelExample],
  total_count: 1,
  links: { next: null },
};

export const endpointsExample = {
  data: {
    id: "acme/large",
    name: "Acme Large",
    created: 1_767_312_000,
    description: "",
    architecture,
    endpoints: [
      {
        name: "Acme | acme/large",
        model_id: "acme/large",
        model_name: "Acme Large",
        provider_name: "Acme",
        tag: "acme",
        service_tier: "default",
        region: "us",
        quantization: "unknown",
        context_length: 400_000,
        max_completion_tokens: 64_000,
        max_prompt_tokens: null,
        pricing,
        supported_parameters: parameters,
        supports_tool_choice: { auto: true, function: true, none: true, required: true },
        supports_implicit_caching: true,
        supports_voice_cloning: false,
        data_policy: { zero_retention: false },
        distillable: false,
        status: 0,
        uptime_last_5m: null,
        uptime_last_30m: null,
        uptime_last_1d: null,
        latency_last_30m: { p50: 410, p75: 520, p90: 800, p99: 1_900 },
        throughput_last_30m: null,
      },
    ],
  },
};

export const providerListExample = {
  data: [
    {
      slug: "acme",
      name: "Acme",
      region: "us",
      tiers: ["default"],
      models: 1,
      data_policy: { retention: "none", training: false },
      status: "operational",
      headquarters: "US",
      datacenters: null,
      privacy_policy_url: "https://acme.example/privacy",
      terms_of_service_url: null,
      status_page_url: null,
    },
  ],
};
