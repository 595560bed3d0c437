/** Configuration files of the installations: one with every service, and one with only providers. */
import { rowDialects } from "./row.ts";

/** Names of upstream models by format. They decide about vendor rules: Claude, Gemini and others accept different requests. */
const upstreamModels = {
  chat: "large-1",
  responses: "gpt-5",
  messages: "claude-sonnet-4-6",
  gemini: "gemini-3.6-flash",
  converse: "eu.anthropic.claude-sonnet-4-6",
} as const;

const engines = ["searxng", "tavily", "brave", "exa", "firecrawl", "perplexity", "parallel"] as const;
export const rowEngines: readonly string[] = engines;

const basePath = { chat: "/v1", responses: "/v1", messages: "/v1", gemini: "/v1beta", converse: "" } as const;

const pricing = { prompt: "1", completion: "2" };
const everything = ["text", "image", "file", "audio", "video"];

const providers = (origin: string): readonly object[] => [
  ...rowDialects.map((dialect) => ({
    id: dialect,
    dialect,
    base_url: `${origin}/${dialect}${basePath[dialect]}`,
    api_keys: ["provider-key"],
  })),
  { id: "echo", dialect: "echo" },
  { id: "other", dialect: "chat", base_url: `${origin}/other/v1`, api_keys: ["other-key"] },
  { id: "moderator", dialect: "chat", base_url: `${origin}/moderation/v1`, api_keys: ["moderation-key"] },
];

const models: readonly object[] = [
  ...rowDialects.map((dialect) => ({
    id: `t/${dialect}`,
    input_modalities: everything,
    output_modalities: ["text", "image"],
    endpoints: [{ provider: dialect, upstream_model: upstreamModels[dialect], pricing }],
  })),
  { id: "sluice/echo", endpoints: [{ provider: "echo" }] },
  { id: "t/text-only", endpoints: [{ provider: "chat", upstream_model: "text-only", pricing }] },
  { id: "t/small-window", context_length: 2_000, endpoints: [{ provider: "chat", upstream_model: "small", pricing }] },
  { id: "t/window", context_length: 16_000, endpoints: [{ provider: "chat", upstream_model: "window", pricing }] },
  { id: "t/other", input_modalities: ["text", "file"], endpoints: [{ provider: "other", pricing }] },
  {
    id: "t/painter",
    output_modalities: ["text", "image"],
    endpoints: [{ provider: "other", pricing: { ...pricing, image_output: "0.04" } }],
  },
  // A model with two endpoints, the first of which is cheaper.
  {
    id: "t/twins",
    endpoints: [
      { provider: "chat", upstream_model: "twin", pricing },
      { provider: "other", upstream_model: "twin", pricing: { prompt: "10", completion: "20" } },
    ],
  },
  // Ten models for the routers, from cheap and weak to dear and strong.
  ...Array.from({ length: 10 }, (_, n) => {
    const score = 0.3 + n * 0.06;
    const names = ["coding", "agentic", "math", "knowledge", "writing", "vision", "general"];
    return {
      id: `r${n}/m${n}`,
      scores: Object.fromEntries(names.map((name) => [name, score])),
      endpoints: [
        {
          provider: "chat",
          upstream_model: `m${n}`,
          pricing: { prompt: String(0.1 * 2 ** n), completion: String(0.4 * 2 ** n) },
        },
      ],
    };
  }),
];

const bareFile = (origin: string) => ({
  providers: providers(origin),
  models,
  fetch: { allow_private_origins: [origin] },
});

/** Models that each preset of fusion uses. */
const panel = { analysis_models: ["t/chat", "t/messages"], model: "t/responses" };

/** The configuration file as JSON, which is also YAML. */
export const bareConfiguration = (origin: string): string => JSON.stringify(bareFile(origin));

export function fullConfiguration(origin: string): string {
  const keyed = (name: string) => ({
    base_url: `${origin}/search/${name}`,
    ...(name !== "searxng" && { api_key: "engine-key" }),
  });
  return JSON.stringify({
    ...bareFile(origin),
    search: { default: "searxng", engines: Object.fromEntries(engines.map((name) => [name, keyed(name)])) },
    file_search: { stores: { handbook: { base_url: `${origin}/search/files` } } },
    internal_models: {
      alignment_judge: { model: "t/other" },
      switchyard_judge: { model: "t/other" },
      moderation: { provider: "moderator" },
      ocr: { model: "t/other" },
      advisor: { model: "t/other" },
      image: { model: "t/painter" },
      router_classifier: { model: "t/other" },
      jev_decider: { model: "t/other" },
    },
    fusion: { presets: { "general-high": panel, "general-budget": panel, "general-fast": panel } },
    mcp: { allow: [origin] },
    sandbox: { base_url: `${origin}/sandbox`, api_key: "sandbox-key" },
  });
}
