/** Vendors of models, with the address and the format of each. */

export interface Vendor {
  readonly dialect: string;
  readonly base_url: string;
  /** Environment variable for the vendor's API key, with the name used by other gateways. */
  readonly variable: string;
  /** Whether the built-in catalogue has models of the vendor. */
  readonly inCatalogue?: true;
  /**
   * Vendor-specific fields that a request may have; they are sent unchanged. None of them enables tools or searches,
   * because permissions do not check them.
   */
  readonly fields?: readonly string[];
}

/** Vendors that Sluice reaches by one of its own dialects, by the usual id of their provider. */
export const vendors = {
  openai: {
    dialect: "responses",
    base_url: "https://api.openai.com/v1",
    variable: "OPENAI_API_KEY",
    inCatalogue: true,
  },
  anthropic: {
    dialect: "messages",
    base_url: "https://api.anthropic.com/v1",
    variable: "ANTHROPIC_API_KEY",
    inCatalogue: true,
  },
  google: {
    dialect: "gemini",
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    variable: "GEMINI_API_KEY",
    inCatalogue: true,
  },
  mistral: {
    dialect: "chat",
    base_url: "https://api.mistral.ai/v1",
    variable: "MISTRAL_API_KEY",
    inCatalogue: true,
    // https://docs.mistral.ai/api/endpoint/chat
    fields: ["random_seed", "safe_prompt", "prompt_mode"],
  },
  groq: {
    dialect: "chat",
    base_url: "https://api.groq.com/openai/v1",
    variable: "GROQ_API_KEY",
    inCatalogue: true,
    // https://console.groq.com/docs/api-reference#chat-create
    fields: ["reasoning_format"],
  },
  deepseek: {
    dialect: "chat",
    base_url: "https://api.deepseek.com/v1",
    variable: "DEEPSEEK_API_KEY",
    inCatalogue: true,
    // https://api-docs.deepseek.com/api/create-chat-completion
    fields: ["thinking"],
  },
  xai: { dialect: "chat", base_url: "https://api.x.ai/v1", variable: "XAI_API_KEY", inCatalogue: true },
  moonshotai: {
    dialect: "chat",
    base_url: "https://api.moonshot.ai/v1",
    variable: "MOONSHOT_API_KEY",
    inCatalogue: true,
    // https://platform.moonshot.ai/docs/api/chat
    fields: ["thinking"],
  },
  cohere: { dialect: "cohere", base_url: "https://api.cohere.com", variable: "COHERE_API_KEY", inCatalogue: true },
  openrouter: {
    dialect: "chat",
    base_url: "https://openrouter.ai/api/v1",
    variable: "OPENROUTER_API_KEY",
    // https://openrouter.ai/docs/api-reference/parameters
    fields: ["min_p", "top_a", "repetition_penalty"],
  },
  together: {
    dialect: "chat",
    base_url: "https://api.together.xyz/v1",
    variable: "TOGETHERAI_API_KEY",
    // https://docs.together.ai/reference/chat-completions-1
    fields: ["min_p", "repetition_penalty", "context_length_exceeded_behavior"],
  },
  fireworks: {
    dialect: "chat",
    base_url: "https://api.fireworks.ai/inference/v1",
    variable: "FIREWORKS_API_KEY",
    // https://docs.fireworks.ai/api-reference/post-chatcompletions
    fields: ["min_p", "repetition_penalty", "context_length_exceeded_behavior"],
  },
  perplexity: {
    dialect: "chat",
    base_url: "https://api.perplexity.ai",
    variable: "PERPLEXITYAI_API_KEY",
    // https://docs.perplexity.ai/api-reference/chat-completions-post
    fields: [
      "search_mode",
      "search_recency_filter",
      "search_domain_filter",
      "disable_search",
      "return_images",
      "return_related_questions",
    ],
  },
  nvidia: { dialect: "chat", base_url: "https://integrate.api.nvidia.com/v1", variable: "NVIDIA_NIM_API_KEY" },
  cerebras: {
    dialect: "chat",
    base_url: "https://api.cerebras.ai/v1",
    variable: "CEREBRAS_API_KEY",
    // https://inference-docs.cerebras.ai/api-reference/chat-completions
    fields: ["disable_reasoning"],
  },
  sambanova: { dialect: "chat", base_url: "https://api.sambanova.ai/v1", variable: "SAMBANOVA_API_KEY" },
  deepinfra: { dialect: "chat", base_url: "https://api.deepinfra.com/v1/openai", variable: "DEEPINFRA_API_KEY" },
} as const satisfies Readonly<Record<string, Vendor>>;

export type VendorId = keyof typeof vendors;

/** Vendors with models in the built-in catalogue. */
export const catalogueVendors = Object.entries<Vendor>(vendors)
  .filter(([, { inCatalogue }]) => inCatalogue)
  .map(([id]) => id);

export const vendorOf = (id: VendorId): Vendor => vendors[id];

/** Whether an address is the vendor's own, including regional ones such as eu.api.openai.com. */
export function isOfVendor(id: VendorId, url: string | undefined): boolean {
  if (url === undefined || !URL.canParse(url)) return false;
  const host = new URL(vendorOf(id).base_url).hostname;
  const { hostname } = new URL(url);
  return hostname === host || hostname.endsWith(`.${host}`);
}
