/** Plans the Sluice provider for a LiteLLM deployment. */
import { type Draft, type ProviderSettings, variableName } from "../draft.ts";
import { untakenField } from "../findings.ts";
import { type VendorId, isOfVendor, vendorOf } from "@sluice/proto/config/vendors.js";
import { type Params, isVariable } from "./params.ts";

/** The planned provider of a deployment, with the parameters used for it. */
export interface PlannedProvider {
  readonly wantedId: string;
  readonly settings: ProviderSettings;
  /** Name of the model in requests to the provider. */
  readonly upstream: string;
  /** Names of used parameters, each with the resulting provider setting. */
  readonly taken: Readonly<Record<string, string>>;
}

/** Sluice's vendor ids by LiteLLM's vendor names. */
const vendorNames: Readonly<Record<string, VendorId>> = {
  openai: "openai",
  anthropic: "anthropic",
  gemini: "google",
  mistral: "mistral",
  groq: "groq",
  deepseek: "deepseek",
  xai: "xai",
  moonshot: "moonshotai",
  cohere: "cohere",
  cohere_chat: "cohere",
  openrouter: "openrouter",
  together_ai: "together",
  fireworks_ai: "fireworks",
  perplexity: "perplexity",
  nvidia_nim: "nvidia",
  cerebras: "cerebras",
  sambanova: "sambanova",
  deepinfra: "deepinfra",
};

/**
 * Servers with OpenAI's wire format at the user's own address, each with the environment variable from which LiteLLM
 * reads the address.
 */
const serverNames: Readonly<Record<string, string | undefined>> = {
  hosted_vllm: "HOSTED_VLLM_API_BASE",
  lm_studio: "LM_STUDIO_API_BASE",
  litellm_proxy: "LITELLM_PROXY_API_BASE",
  databricks: "DATABRICKS_API_BASE",
  llamafile: "LLAMAFILE_API_BASE",
  xinference: "XINFERENCE_API_BASE",
  openai_like: "OPENAI_LIKE_API_BASE",
  custom_openai: undefined,
};

/** Usual placeholders for the API key of a server that needs no key. */
const noKey = /^(?:none|empty|dummy|fake|fake-key|not-needed|no-key)$/i;

/** Prefixes of model names that LiteLLM accepts without a vendor before a slash. */
const bareNames: readonly (readonly [RegExp, string])[] = [
  [/^(?:ft:)?gpt-|^o\d|^chatgpt-|^text-embedding-(?:3|ada)/, "openai"],
  [/^claude-/, "anthropic"],
  [/^gemini-/, "vertex_ai"],
  [/^command|^embed-/, "cohere"],
];

/** Splits a model name into the vendor, as LiteLLM names it, and the name of the model at the vendor. */
export function splitModel(model: string, kind: string | undefined): { readonly kind: string; readonly name: string } {
  if (kind !== undefined) return { kind, name: model.startsWith(`${kind}/`) ? model.slice(kind.length + 1) : model };
  const bare = bareNames.find(([form]) => form.test(model));
  if (bare) return { kind: bare[1], name: model };
  const slash = model.indexOf("/");
  return slash < 0 ? { kind: "", name: model } : { kind: model.slice(0, slash), name: model.slice(slash + 1) };
}

/** Sluice's vendor for a vendor name of LiteLLM; undefined unless the built-in catalogue has the vendor. */
export const catalogueVendor = (kind: string): VendorId | undefined => {
  const id = Object.hasOwn(vendorNames, kind) ? vendorNames[kind] : undefined;
  return id !== undefined && vendorOf(id).inCatalogue ? id : undefined;
};

/** Plans the provider of a deployment; a returned text is the reason why Sluice cannot call it. */
export function planProvider(kind: string, name: string, params: Params, draft: Draft): PlannedProvider | string {
  const planned = planFor(kind, name, params, draft);
  return typeof planned === "string" ? planned : withTimeouts(planned, params);
}

function planFor(kind: string, name: string, params: Params, draft: Draft): PlannedProvider | string {
  if (kind === "azure") return planAzure(name, params, draft);
  if (kind === "azure_ai") return planFoundry(name, params, draft);
  if (kind === "bedrock") return planBedrock(name, params, draft);
  if (kind === "vertex_ai" || kind === "vertex_ai_beta") return planVertex(name, params, draft);
  if (kind === "ollama" || kind === "ollama_chat") return planOllama(name, params);
  if (Object.hasOwn(serverNames, kind)) return planServer(kind, name, params, draft);
  const vendor = Object.hasOwn(vendorNames, kind) ? vendorNames[kind] : undefined;
  if (vendor !== undefined) return planVendor(vendor, name, params, draft);
  const called = kind === "" ? "a name without its vendor" : `the vendor ${kind}`;
  return `${called} is unknown to the import: add a provider by hand if its server has one of the formats of Sluice`;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");

/**
 * The base URL for an address other than the vendor's. LiteLLM itself appends the API version for some vendors, so the
 * import does.
 */
function versioned(id: VendorId, base: string): string {
  const url = withoutSlash(base);
  if (id === "anthropic") return `${url.replace(/\/v1(?:\/messages)?$/, "")}/v1`;
  return id === "google" && !/\/v\d\w*$/.test(url) ? `${url}/v1beta` : url;
}

function planVendor(id: VendorId, name: string, params: Params, draft: Draft): PlannedProvider {
  const vendor = vendorOf(id);
  const given =
    params.address("api_base", variableName(id, "base_url")) ??
    params.address("base_url", variableName(id, "base_url"));
  const isOwn = given !== undefined && !isOfVendor(id, given);
  // Servers in OpenAI's format, other than OpenAI's own, rarely have the Responses API.
  const isCompatible = isOwn && id === "openai";
  const wantedId = isCompatible ? "openai-compatible" : id;
  const key = keyOf(params, wantedId, isOwn ? undefined : vendor.variable, draft);
  const settings = {
    dialect: isCompatible ? "chat" : vendor.dialect,
    base_url: given === undefined ? vendor.base_url : versioned(id, given),
    ...(key !== undefined && { api_keys: [key] }),
  };
  return {
    wantedId,
    settings,
    upstream: name,
    taken: { api_base: "base_url", base_url: "base_url", api_key: "api_keys" },
  };
}

/**
 * The API key as a reference to a variable. @param fallback environment variable that LiteLLM uses when the deployment
 * has no key
 */
function keyOf(params: Params, id: string, fallback: string | undefined, draft: Draft): string | undefined {
  const written = params.raw("api_key");
  if (typeof written === "string" && noKey.test(written)) return undefined;
  return (
    params.secret("api_key", variableName(id, "key")) ?? (fallback === undefined ? undefined : draft.variable(fallback))
  );
}

function planServer(kind: string, name: string, params: Params, draft: Draft): PlannedProvider | string {
  const wantedId = kind.replaceAll("_", "-");
  const variable = serverNames[kind];
  const base =
    params.address("api_base", variableName(kind, "base_url")) ??
    (variable === undefined ? undefined : draft.variable(variable, "address"));
  if (base === undefined) return "its api_base is missing, so the address of its server is unknown";
  const key = keyOf(params, wantedId, undefined, draft);
  const settings = { dialect: "chat", base_url: withoutSlash(base), ...(key !== undefined && { api_keys: [key] }) };
  return { wantedId, settings, upstream: name, taken: { api_base: "base_url", api_key: "api_keys" } };
}

function planOllama(name: string, params: Params): PlannedProvider {
  const base = withoutSlash(params.address("api_base", "OLLAMA_BASE_URL") ?? "http://localhost:11434");
  const key = params.secret("api_key", "OLLAMA_KEY");
  return {
    wantedId: "ollama",
    settings: {
      dialect: "chat",
      base_url: base.endsWith("/v1") ? base : `${base}/v1`,
      ...(key !== undefined && { api_keys: [key] }),
    },
    upstream: name,
    taken: { api_base: "base_url", api_key: "api_keys" },
  };
}

/** Plans a provider for Azure OpenAI at its address without API versions, which needs no api_version. */
function planAzure(name: string, params: Params, draft: Draft): PlannedProvider {
  const base = withoutSlash(
    params.address("api_base", "AZURE_BASE_URL") ?? draft.variable("AZURE_API_BASE", "address"),
  );
  const [, resource] = /^https:\/\/([\w-]+)\.openai\.azure\.com(?:\/openai(?:\/v1)?)?$/.exec(base) ?? [];
  const wantedId = resource === undefined ? "azure" : `azure-${resource}`;
  const [, series, upstream = name] = /^(o_series|gpt5_series|responses)\/(.+)$/.exec(name) ?? [];
  return {
    wantedId,
    settings: {
      dialect: series === "responses" ? "responses" : "chat",
      ...(resource === undefined && { base_url: `${base.replace(/\/openai(?:\/v1)?$/, "")}/openai/v1` }),
      azure: resource === undefined ? {} : { resource },
      ...azureKeys(params, wantedId, draft),
    },
    upstream,
    taken: { api_base: resource === undefined ? "base_url" : "azure.resource", api_key: "api_keys" },
  };
}

/** Plans a provider for Claude and other models of Azure AI Foundry. */
function planFoundry(name: string, params: Params, draft: Draft): PlannedProvider {
  const base = params.address("api_base", "AZURE_AI_BASE_URL") ?? draft.variable("AZURE_AI_API_BASE", "address");
  const isClaude = name.includes("claude");
  const origin = withoutSlash(base).replace(/(?<=[^/])\/(?:models|anthropic|openai|v1)(?:\/.*)?$/, "");
  const key = keyOf(params, "azure-ai", "AZURE_AI_API_KEY", draft);
  return {
    wantedId: isClaude ? "azure-claude" : "azure-ai",
    settings: {
      dialect: isClaude ? "messages" : "chat",
      base_url: `${origin}/${isClaude ? "anthropic" : "openai"}/v1`,
      azure: {},
      ...(key !== undefined && { api_keys: [key] }),
    },
    upstream: name,
    taken: { api_base: "base_url", api_key: "api_keys" },
  };
}

/** Keys of an Azure deployment; a deployment that signs in with Entra ID has none. */
function azureKeys(params: Params, id: string, draft: Draft): { readonly api_keys?: string[] } {
  const byIdentity = ["azure_ad_token", "tenant_id", "client_id"].some((name) => params.has(name));
  const key = keyOf(params, id, byIdentity ? undefined : "AZURE_API_KEY", draft);
  return key === undefined ? {} : { api_keys: [key] };
}

const awsRegion = /^[a-z]{2}(?:-[a-z]+)+-\d+$/;

function planBedrock(name: string, params: Params, draft: Draft): PlannedProvider {
  const parts = name.split("/");
  const isRoute = (part: string | undefined): boolean => /^(?:converse|converse_like|invoke)$/.test(part ?? "");
  if (isRoute(parts[0])) parts.shift();
  const pathRegion = awsRegion.test(parts[0] ?? "") ? parts.shift() : undefined;
  const region = params.text("aws_region_name") ?? pathRegion ?? draft.variable("AWS_REGION_NAME");
  const endpoint = params.address("aws_bedrock_runtime_endpoint", "BEDROCK_BASE_URL");
  const wantedId = awsRegion.test(region) ? `bedrock-${region}` : "bedrock";
  const token = params.secret("api_key", variableName(wantedId, "key"));
  return {
    wantedId,
    settings: {
      dialect: "converse",
      ...(endpoint !== undefined && { base_url: withoutSlash(endpoint) }),
      ...(token === undefined
        ? { aws: { region, ...awsKeys(params, wantedId, draft) } }
        : { base_url: endpoint ?? `https://bedrock-runtime.${region}.amazonaws.com`, api_keys: [token] }),
    },
    upstream: parts.join("/"),
    taken: {
      aws_region_name: "aws.region",
      aws_access_key_id: "aws.access_key_id",
      aws_secret_access_key: "aws.secret_access_key",
      aws_session_token: "aws.session_token",
      aws_bedrock_runtime_endpoint: "base_url",
      api_key: "api_keys",
    },
  };
}

function awsKeys(params: Params, id: string, draft: Draft) {
  if (!params.has("aws_access_key_id") && !params.has("aws_secret_access_key")) return {};
  const secret = (name: string, fallback: string): string =>
    params.secret(name, variableName(id, name)) ?? draft.variable(fallback);
  const session = params.secret("aws_session_token", variableName(id, "aws_session_token"));
  return {
    access_key_id: secret("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    secret_access_key: secret("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ...(session !== undefined && { session_token: session }),
  };
}

function planVertex(name: string, params: Params, draft: Draft): PlannedProvider {
  const isClaude = name.startsWith("claude");
  const isGemini = /^(?:gemini|text-embedding|textembedding|text-multilingual)/.test(name);
  const written = params.raw("vertex_credentials");
  const isFile = typeof written === "string" && !written.trimStart().startsWith("{");
  if (written !== undefined && !isFile) {
    const advice =
      "the credentials are in the file itself: store them in a file of their own and name it in google.credentials_file";
    params.add("vertex_credentials", untakenField(advice, "docs/providers/vertex.md#credentials"));
  }
  const file = isFile ? params.text("vertex_credentials") : undefined;
  return {
    wantedId: isClaude ? "vertex-claude" : isGemini ? "vertex" : "vertex-open",
    settings: {
      dialect: isClaude ? "messages" : isGemini ? "gemini" : "chat",
      google: {
        project: params.text("vertex_project") ?? draft.variable("VERTEXAI_PROJECT"),
        location: params.text("vertex_location") ?? draft.variable("VERTEXAI_LOCATION"),
        ...(file !== undefined && { credentials_file: file }),
      },
    },
    upstream: name,
    taken: {
      vertex_project: "google.project",
      vertex_location: "google.location",
      ...(isFile && {
        vertex_credentials: `google.credentials_file${isVariable(written) ? ", so the variable must name a file" : ""}`,
      }),
    },
  };
}

const maxWaitMs = 3_600_000;

/** Copies the timeouts and `extra_body` of a deployment to its provider. */
function withTimeouts(planned: PlannedProvider, params: Params): PlannedProvider {
  const headers = milliseconds(params.number("timeout"));
  const first = milliseconds(params.number("stream_timeout"));
  const body = params.raw("extra_body");
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  return {
    ...planned,
    settings: {
      ...planned.settings,
      ...((headers ?? first) !== undefined && {
        timeouts: {
          ...(headers !== undefined && { headers_ms: headers }),
          ...(first !== undefined && { first_event_ms: first }),
        },
      }),
      ...(isObject && { extra_body: body as NonNullable<ProviderSettings["extra_body"]> }),
    },
    taken: {
      ...planned.taken,
      ...(headers !== undefined && { timeout: "timeouts.headers_ms" }),
      ...(first !== undefined && { stream_timeout: "timeouts.first_event_ms" }),
      ...(isObject && { extra_body: "extra_body" }),
    },
  };
}

/** Converts seconds to whole milliseconds within the limits of the configuration file. */
export const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined || seconds <= 0 ? undefined : Math.min(maxWaitMs, Math.max(1, Math.round(seconds * 1_000)));
