/** Vendors of models, with the address and the format of each. */

export interface Vendor {
  readonly dialect: string;
  readonly base_url: string;
  /** Variable with its key, under the name that other gateways use. */
  readonly variable: string;
  /** Whether the built-in catalogue has its models. */
  readonly inCatalogue?: true;
}

/** Vendors with a dialect of their own here, by the id of their provider in the new file. */
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
  },
  groq: { dialect: "chat", base_url: "https://api.groq.com/openai/v1", variable: "GROQ_API_KEY", inCatalogue: true },
  deepseek: {
    dialect: "chat",
    base_url: "https://api.deepseek.com/v1",
    variable: "DEEPSEEK_API_KEY",
    inCatalogue: true,
  },
  xai: { dialect: "chat", base_url: "https://api.x.ai/v1", variable: "XAI_API_KEY", inCatalogue: true },
  moonshotai: {
    dialect: "chat",
    base_url: "https://api.moonshot.ai/v1",
    variable: "MOONSHOT_API_KEY",
    inCatalogue: true,
  },
  cohere: { dialect: "cohere", base_url: "https://api.cohere.com", variable: "COHERE_API_KEY", inCatalogue: true },
  openrouter: { dialect: "chat", base_url: "https://openrouter.ai/api/v1", variable: "OPENROUTER_API_KEY" },
  together: { dialect: "chat", base_url: "https://api.together.xyz/v1", variable: "TOGETHERAI_API_KEY" },
  fireworks: { dialect: "chat", base_url: "https://api.fireworks.ai/inference/v1", variable: "FIREWORKS_API_KEY" },
  perplexity: { dialect: "chat", base_url: "https://api.perplexity.ai", variable: "PERPLEXITYAI_API_KEY" },
  nvidia: { dialect: "chat", base_url: "https://integrate.api.nvidia.com/v1", variable: "NVIDIA_NIM_API_KEY" },
  cerebras: { dialect: "chat", base_url: "https://api.cerebras.ai/v1", variable: "CEREBRAS_API_KEY" },
  sambanova: { dialect: "chat", base_url: "https://api.sambanova.ai/v1", variable: "SAMBANOVA_API_KEY" },
  deepinfra: { dialect: "chat", base_url: "https://api.deepinfra.com/v1/openai", variable: "DEEPINFRA_API_KEY" },
} as const satisfies Readonly<Record<string, Vendor>>;

export type VendorId = keyof typeof vendors;

/** Vendors whose models the built-in catalogue has. */
export const catalogueVendors = Object.entries<Vendor>(vendors)
  .filter(([, { inCatalogue }]) => inCatalogue)
  .map(([id]) => id);

export const vendorOf = (id: VendorId): Vendor => vendors[id];

/** Whether an address is the vendor's own, also a regional one such as eu.api.openai.com. */
export function isOfVendor(id: VendorId, url: string | undefined): boolean {
  if (url === undefined || !URL.canParse(url)) return false;
  const host = new URL(vendorOf(id).base_url).hostname;
  const { hostname } = new URL(url);
  return hostname === host || hostname.endsWith(`.${host}`);
}
