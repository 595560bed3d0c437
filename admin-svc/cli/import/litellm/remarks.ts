/** Remarks on settings of LiteLLM that the configuration file of Sluice lacks: how to get the same effect. */
import { type Remark, sameRemarkFor, keptField, untakenField } from "../findings.ts";

type Remarks = Readonly<Record<string, Remark>>;

const routing = "docs/providers/routing.md";
const retries = `${routing}#retries-and-fallback`;
const ejection = `${routing}#which-endpoint-serves`;
const limits = "docs/budgets/rate-limits.md";
const exportsPage = "docs/operate/exports.md";
const guardrails = "docs/guardrails/README.md";
const identities = "docs/providers/README.md#identities-of-clouds";
const workspaces = "docs/operate/administration.md#workspaces";
const gaps = "docs/reference/gaps.md";
const variables = "docs/reference/variables.md";
const observability = "docs/operate/observability.md";
const alerts = "docs/operate/alerts.md";
const formats = "docs/providers/formats.md";
const signIn = "docs/console/README.md#sign-in-to-the-console";

const inRequest = untakenField(
  "no defaults of requests: send it in the request, or fix it for all with extra_body of the provider",
  formats,
);
const ownRetries = keptField(
  "Sluice retries and moves on by rules of its own, within the time limit of the request",
  retries,
);
const ownEjection = keptField("failing endpoints are put last and tried again by rules of its own", ejection);
const sharedState = untakenField(
  "no Redis is needed; REDIS_URL makes several processes count limits together",
  variables,
);
const noCache = untakenField("Sluice stores no answers; caches of prompts at the providers are used", formats);
const logging = untakenField(
  "records of requests go out by exports, content with capture, metrics at /metrics",
  exportsPage,
);
const unseen = untakenField("nothing in Sluice has this effect", "docs/migrate/litellm.md");

export const unknownField = untakenField("not known to the import, and not in the new file", "docs/migrate/litellm.md");

/** Remarks on parameters of deployments; imported parameters get more specific remarks. */
export const paramRemarks: Remarks = {
  ...sameRemarkFor(
    untakenField("limits belong to keys; an endpoint that answers 429 is passed over until it has room again", limits),
    "rpm tpm itpm otpm max_parallel_requests default_api_key_tpm_limit default_api_key_rpm_limit",
  ),
  weight: untakenField(
    "endpoints with a price share the load by price: send provider.order or provider.sort",
    ejection,
  ),
  order: {
    outcome: "taken",
    text: "order of the endpoints, which decides while one of them has no price; otherwise send provider.order",
    page: ejection,
  },
  ...sameRemarkFor(inRequest, "temperature max_tokens max_completion_tokens top_p seed stop n user"),
  ...sameRemarkFor(inRequest, "presence_penalty frequency_penalty reasoning_effort thinking tools tool_choice"),
  ...sameRemarkFor(inRequest, "response_format web_search_options service_tier dimensions verbosity"),
  ...sameRemarkFor(ownRetries, "max_retries num_retries"),
  api_version: keptField("Azure's address /openai/v1 has no versions", "docs/providers/azure.md"),
  organization: untakenField("requests go to the default organization of the key: use a key of the right one", formats),
  ...sameRemarkFor(untakenField("headers of your own are not sent to providers", formats), "extra_headers headers"),
  region_name: untakenField(
    "set region of the provider, which guardrails and requests can ask for",
    "docs/providers/README.md",
  ),
  ...sameRemarkFor(
    untakenField(
      "the identity comes from the environment of inference-svc, in the order of the vendor's library",
      identities,
    ),
    "aws_profile_name aws_role_name aws_session_name aws_web_identity_token aws_sts_endpoint",
    "aws_external_id azure_ad_token azure_username azure_password tenant_id client_id client_secret",
  ),
  azure_scope: untakenField("set azure.scope of the provider", "docs/providers/azure.md#without-a-key"),
  tags: untakenField(
    "no routing by tags: give models names of their own, and keys a guardrail with allowed_models",
    guardrails,
  ),
  ...sameRemarkFor(untakenField("give the key or the workspace a limit", workspaces), "max_budget budget_duration"),
  drop_params: keptField("parameters that an endpoint does not take are left out, and the receipt names them", formats),
  additional_drop_params: untakenField("list supported_parameters of the endpoint", formats),
  allowed_openai_params: untakenField(
    "list passes of the provider, or supported_parameters of the endpoint",
    "docs/providers/README.md",
  ),
  litellm_credential_name: untakenField("credential_list has no such credential", "docs/providers/README.md"),
  ...sameRemarkFor(
    untakenField("no prices by time: state pricing of the endpoint", "docs/reference/configuration.md"),
    "input_cost_per_second output_cost_per_second input_cost_per_character output_cost_per_character",
    "input_cost_per_audio_token output_cost_per_audio_token output_cost_per_reasoning_token",
    "input_cost_per_token_batches output_cost_per_token_batches tiered_pricing input_cost_per_pixel",
  ),
  search_context_cost_per_query: untakenField(
    "state pricing.web_search of the endpoint",
    "docs/reference/configuration.md",
  ),
  mock_response: untakenField(
    "the model sluice/echo gives fixed answers",
    "docs/providers/README.md#the-built-in-model",
  ),
  ...sameRemarkFor(unseen, "use_in_pass_through use_litellm_proxy merge_reasoning_content_in_choices mock_timeout"),
  configurable_clientside_auth_params: untakenField("clients cannot bring keys of providers", gaps),
};

const catalogueFact = keptField(
  "the catalogue knows it of known models; supported_parameters of an endpoint states it for others",
  formats,
);

/** Remarks on fields of a deployment's `model_info`. */
export const infoRemarks: Remarks = {
  id: keptField("endpoints have no ids: requests name the provider", ejection),
  base_model: untakenField(
    "state pricing, context_length and input_modalities of the model where the catalogue does not know it",
    "docs/providers/README.md",
  ),
  ...sameRemarkFor(catalogueFact, "supports_function_calling supports_parallel_function_calling supports_tool_choice"),
  ...sameRemarkFor(
    catalogueFact,
    "supports_response_schema supports_reasoning supports_prompt_caching supports_web_search",
  ),
  ...sameRemarkFor(catalogueFact, "supports_vision supports_pdf_input supports_audio_input supports_audio_output"),
  ...sameRemarkFor(
    catalogueFact,
    "supports_system_messages supported_openai_params litellm_provider supports_assistant_prefill",
  ),
  max_tokens: untakenField("state max_output_tokens of the model", "docs/reference/configuration.md"),
  access_groups: untakenField("give keys a guardrail with allowed_models", guardrails),
  supported_environments: untakenField(
    "give each environment a configuration file of its own",
    "docs/reference/configuration.md",
  ),
  ...sameRemarkFor(
    untakenField("model_aliases with workspace keep a name to one workspace", routing),
    "team_id team_public_model_name",
  ),
  custom_tokenizer: untakenField("state tokenizer of the model", "docs/reference/configuration.md"),
  ...sameRemarkFor(
    keptField("only a note", "docs/migrate/litellm.md"),
    "version created_at updated_at created_by updated_by",
  ),
  ...sameRemarkFor(
    unseen,
    "health_check_model health_check_timeout health_check_voice disable_background_health_check",
  ),
};

/** Remarks on fields of `router_settings`, most of which are also allowed in `litellm_settings`. */
export const routerRemarks: Remarks = {
  routing_strategy: untakenField(
    "endpoints with a price share the load by price; provider.sort asks for throughput or latency",
    ejection,
  ),
  ...sameRemarkFor(
    untakenField("provider.sort of a request asks for throughput or latency", ejection),
    "routing_strategy_args routing_groups",
  ),
  ...sameRemarkFor(
    ownRetries,
    "num_retries max_retries retry_after retry_policy model_group_retry_policy max_fallbacks",
  ),
  ...sameRemarkFor(ownEjection, "allowed_fails allowed_fails_policy cooldown_time disable_cooldowns"),
  ...sameRemarkFor(sharedState, "redis_host redis_port redis_password redis_url redis_db redis_ssl cache_kwargs"),
  ...sameRemarkFor(noCache, "cache_responses caching_groups"),
  ...sameRemarkFor(
    keptField("whether an input fits is known to the provider: a refusal moves on to the next of models", retries),
    "enable_pre_call_checks enable_pre_call_check",
  ),
  optional_pre_call_checks: keptField("a session stays at its endpoint, also for the cache of the prompt", ejection),
  ...sameRemarkFor(
    untakenField(
      "no routing by tags: give models names of their own, and keys a guardrail with allowed_models",
      guardrails,
    ),
    "enable_tag_filtering tag_filtering_match_any tag_routing_prefix",
  ),
  default_litellm_params: inRequest,
  default_max_parallel_requests: untakenField("limits belong to keys: concurrent_requests", limits),
  stream_timeout: untakenField(
    "set timeouts.first_event_ms of each provider; limits.stream_ms ends a whole stream",
    "docs/reference/limits.md",
  ),
  provider_budget_config: untakenField("budgets belong to keys, workspaces and guardrails", "docs/budgets/README.md"),
  ...sameRemarkFor(alerting(), "alerting_config"),
  search_tools: untakenField("configure search.engines", "docs/tools/web-search.md"),
  guardrail_list: untakenField("create guardrails, and detectors for services of your own", guardrails),
  ...sameRemarkFor(unseen, "client_ttl debug_level set_verbose ignore_invalid_deployments router_general_settings"),
  ...sameRemarkFor(unseen, "polling_interval default_priority deployment_affinity_ttl_seconds assistants_config"),
};

function alerting(): Remark {
  return untakenField(
    "alerts of the configuration file tell of budgets and guardrails; alarms on failures are made from metrics",
    alerts,
  );
}

/** Remarks on fields of `litellm_settings`. */
export const moduleRemarks: Remarks = {
  ...routerRemarks,
  drop_params: keptField("parameters that an endpoint does not take are left out, and the receipt names them", formats),
  modify_params: keptField("requests are fitted to each format, and the receipt names what was changed", formats),
  ...sameRemarkFor(
    noCache,
    "cache cache_params enable_caching_on_provider_specific_optional_params",
    "disable_anthropic_gemini_context_caching_transform",
  ),
  ...sameRemarkFor(
    logging,
    "success_callback failure_callback callbacks service_callback service_callbacks audit_log_callbacks",
  ),
  ...sameRemarkFor(
    logging,
    "langfuse_default_tags s3_callback_params datadog_params default_team_settings callback_settings",
  ),
  ...sameRemarkFor(
    keptField(
      "content is never logged, and captured or traced only for keys with capture_content or trace_content",
      "docs/operate/captured-content.md",
    ),
    "turn_off_message_logging redact_user_api_key_info redact_messages_in_exceptions",
  ),
  ...sameRemarkFor(
    untakenField("a guardrail for all keys of the workspace or of all workspaces", guardrails),
    "guardrails default_guardrails",
  ),
  ...sameRemarkFor(
    untakenField(
      "give each workspace a limit: admin workspaces update NAME --limit USD --limit-reset monthly",
      workspaces,
    ),
    "max_budget budget_duration max_internal_user_budget internal_user_budget_duration",
    "max_ui_session_budget",
  ),
  ...sameRemarkFor(
    untakenField("budgets belong to keys: give an end user a key of its own", "docs/budgets/README.md"),
    "max_end_user_budget max_end_user_budget_id default_internal_user_params default_team_params",
  ),
  ...sameRemarkFor(
    untakenField("management keys and roles of the console decide who makes keys", signIn),
    "key_generation_settings upperbound_key_generate_params default_key_generate_params",
  ),
  mcp_aliases: untakenField("name servers as requests call them, under mcp.servers", "docs/tools/mcp.md"),
  json_logs: keptField("logs are JSON", `${observability}#logs`),
  ...sameRemarkFor(
    keptField("the log never has content; SLUICE_LOG_LEVEL sets its level", `${observability}#logs`),
    "set_verbose log_raw_request_response",
  ),
  public_model_groups: untakenField("a guardrail with allowed_models says which models a key may ask", guardrails),
  ...sameRemarkFor(
    unseen,
    "telemetry force_ipv4 enable_preview_features enable_json_schema_validation",
    "disable_hf_tokenizer_download",
  ),
  ...sameRemarkFor(
    unseen,
    "disable_end_user_cost_tracking disable_end_user_cost_tracking_prometheus_only ssl_verify",
    "ssl_certificate",
  ),
  ...sameRemarkFor(unseen, "disable_add_transform_inline_image_block use_chat_completions_url_for_anthropic_messages"),
  ...sameRemarkFor(inRequest, "default_max_tokens"),
  ...sameRemarkFor(
    untakenField("prices are in pricing of endpoints", "docs/providers/README.md"),
    "custom_pricing model_cost_map_url",
  ),
};

const ownDatabase = untakenField(
  "Sluice has a database of its own: DATABASE_URL, which npm start sets up by itself",
  variables,
);
const retention = untakenField("admin retention deletes old records", "docs/operate/administration.md#retention");
/** Remarks on LiteLLM's callbacks with a counterpart in Sluice, by name. */
export const callbackRemarks: Remarks = {
  prometheus: keptField("every service has /metrics", `${observability}#metrics`),
  otel: untakenField(
    "traces by OTEL_EXPORTER_OTLP_ENDPOINT, records of requests by an export with otlp",
    `${observability}#traces`,
  ),
  ...sameRemarkFor(untakenField("an export with s3", `${exportsPage}#buckets`), "s3 s3_v2 gcs_bucket"),
  ...sameRemarkFor(untakenField("an export with webhook", `${exportsPage}#webhooks`), "generic generic_api"),
  ...sameRemarkFor(
    untakenField(
      "an export with otlp to a collector that passes records on",
      `${exportsPage}#collectors-of-opentelemetry`,
    ),
    "datadog langfuse langfuse_otel langsmith arize logfire newrelic",
  ),
};

const accounts = untakenField(
  "people sign in by OpenID Connect or a proxy, and have the role of the first rule that fits",
  signIn,
);
const network = untakenField(
  "addresses are checked in front of Sluice, by the proxy or the network",
  "docs/deploy/README.md",
);
const keySystem = untakenField(
  "${file:/path} in the configuration file reads a mounted secret",
  "docs/reference/configuration.md",
);

/** Remarks on fields of `general_settings`. */
export const generalRemarks: Remarks = {
  master_key: untakenField(
    "Sluice makes management keys of its own: admin bootstrap, or npm start",
    "docs/operate/administration.md",
  ),
  ...sameRemarkFor(
    ownDatabase,
    "database_url database_connection_pool_limit database_connection_timeout database_type",
  ),
  ...sameRemarkFor(
    ownDatabase,
    "allow_requests_on_db_unavailable disable_prisma_schema_update use_redis_transaction_buffer",
  ),
  ...sameRemarkFor(
    alerting(),
    "alert_types alerting_threshold alerting_args alert_to_webhook_url spend_report_frequency",
  ),
  ...sameRemarkFor(
    untakenField("limits belong to keys: concurrent_requests", limits),
    "max_parallel_requests global_max_parallel_requests",
  ),
  max_request_size_mb: untakenField("limits.body_bytes bounds a request", "docs/reference/limits.md"),
  max_response_size_mb: untakenField("answers are bounded by max_output_tokens", "docs/reference/limits.md"),
  ...sameRemarkFor(
    untakenField("requests name a model; model_aliases has other names", `${routing}#names-of-models`),
    "completion_model embedding_model image_generation_model moderation_model",
  ),
  ...sameRemarkFor(
    untakenField(
      "models are in the configuration file, which is read again when it changes",
      "docs/reference/configuration.md",
    ),
    "store_model_in_db supported_db_objects",
  ),
  store_prompts_in_spend_logs: untakenField(
    "capture, for keys with capture_content",
    "docs/operate/captured-content.md",
  ),
  ...sameRemarkFor(retention, "maximum_spend_logs_retention_period maximum_spend_logs_retention_interval"),
  ...sameRemarkFor(
    keptField("the ledger has a record of every request", "docs/budgets/ledger.md"),
    "disable_spend_logs disable_spend_updates proxy_batch_write_at proxy_batch_polling_interval",
    "disable_reset_budget",
  ),
  ...sameRemarkFor(
    keptField("budgets begin anew on time without a job", "docs/budgets/README.md"),
    "proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time",
  ),
  ...sameRemarkFor(
    keptField("endpoints are watched by their answers, and test-provider asks one", ejection),
    "background_health_checks health_check_interval health_check_details",
  ),
  ...sameRemarkFor(
    accounts,
    "enable_jwt_auth litellm_jwtauth enable_oauth2_auth enable_oauth2_proxy_auth oauth2_config_mappings",
  ),
  ...sameRemarkFor(
    accounts,
    "custom_auth custom_sso custom_key_generate ui_access_mode allow_user_auth default_team_disabled",
  ),
  ...sameRemarkFor(
    accounts,
    "admin_only_routes allowed_routes public_routes service_account_settings user_mcp_management_mode",
  ),
  ...sameRemarkFor(network, "allowed_ips use_x_forwarded_for"),
  ...sameRemarkFor(keySystem, "key_management_system key_management_settings use_azure_key_vault use_google_kms"),
  litellm_key_header_name: untakenField(
    "keys are sent as Authorization: Bearer or x-api-key",
    "docs/clients/README.md",
  ),
  ...sameRemarkFor(
    untakenField("there are no routes besides those of the contract", gaps),
    "pass_through_endpoints use_client_credentials_pass_through_routes",
  ),
  ...sameRemarkFor(
    untakenField("headers of clients are not sent to providers", formats),
    "forward_client_headers_to_llm_api forward_openai_org_id",
  ),
  ...sameRemarkFor(
    untakenField(
      "end_users.enforce refuses end users that are registered as inactive",
      "docs/operate/administration.md#end-users",
    ),
    "enforce_user_param enforced_params",
  ),
  ...sameRemarkFor(
    keptField("a policy change is in force at once", "docs/deploy/scaling.md"),
    "user_api_key_cache_ttl",
  ),
  ...sameRemarkFor(
    unseen,
    "infer_model_from_keys litellm_license disable_master_key_return disable_adding_master_key_hash_to_db",
  ),
  ...sameRemarkFor(
    unseen,
    "disable_responses_id_security disable_retry_on_max_parallel_request_limit_error",
    "reject_clientside_metadata_tags",
  ),
  allow_client_side_credentials: untakenField("clients cannot bring keys of providers", gaps),
};

/** Remarks on whole sections, for those without remarks by field. */
export const sectionRemarks: Remarks = {
  guardrails: untakenField(
    "admin guardrails create makes a guardrail; detectors call services of your own",
    guardrails,
  ),
  ...sameRemarkFor(
    untakenField("create guardrails, and assign them to keys or workspaces", guardrails),
    "policies policy_attachments",
  ),
  callback_settings: logging,
  ...sameRemarkFor(
    untakenField("files and jobs of providers are not served", gaps),
    "finetune_settings files_settings assistant_settings batch_settings",
  ),
  ...sameRemarkFor(
    untakenField("configure file_search.stores", "docs/reference/configuration.md#file_search"),
    "vector_store_registry vector_stores",
  ),
  search_tools: untakenField("configure search.engines", "docs/tools/web-search.md"),
  prompts: untakenField("prompts are not stored", gaps),
  ...sameRemarkFor(
    untakenField("MCP servers are under mcp.servers; local tools and agents are not run", "docs/tools/mcp.md"),
    "mcp_tools agents agent_list a2a_agents",
  ),
  worker_config: unseen,
};
