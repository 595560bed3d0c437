/**
 * Converts a request or the account preferences of OpenRouter: models and vendors become providers; everything else
 * stays in requests.
 */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { Draft } from "./draft.ts";
import { type Finding, Findings, type Path, type Remark, sameRemarkFor, keptField, untakenField } from "./findings.ts";
import { readJsonObject } from "./json-file.ts";
import { type VendorId, vendorOf } from "@sluice/proto/config/vendors.js";

const page = "docs/migrate/openrouter.md";
const providersPage = "docs/providers/README.md";
const routingPage = "docs/providers/routing.md#which-endpoint-serves";
const guardrailsPage = "docs/guardrails/README.md";

/** Sluice's vendor ids by authors of models, and by slugs and names of OpenRouter's providers. */
const vendorNames: Readonly<Record<string, VendorId>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  "google-ai-studio": "google",
  mistralai: "mistral",
  mistral: "mistral",
  groq: "groq",
  deepseek: "deepseek",
  "x-ai": "xai",
  xai: "xai",
  moonshotai: "moonshotai",
  cohere: "cohere",
  together: "together",
  fireworks: "fireworks",
  perplexity: "perplexity",
  nvidia: "nvidia",
  cerebras: "cerebras",
  sambanova: "sambanova",
  deepinfra: "deepinfra",
};

const sameForm = keptField("requests to Sluice have this field in the same form", "docs/providers/routing.md");

const preferenceRemarks: Readonly<Record<string, Remark>> = {
  ...sameRemarkFor(
    sameForm,
    "order only ignore allow_fallbacks require_parameters sort preferred_min_throughput preferred_max_latency",
  ),
  max_price: keptField("requests have it in the same form; endpoints without a price are left out", routingPage),
  data_collection: untakenField(
    "requests have it in the same form: set data_policy of providers that do not train",
    providersPage,
  ),
  zdr: untakenField(
    "requests have it in the same form: set data_policy with retention none of providers that keep nothing",
    providersPage,
  ),
  enforce_distillable_text: untakenField(
    "requests have it in the same form: set distillable of endpoints",
    providersPage,
  ),
  quantizations: untakenField("requests have it in the same form: set quantization of endpoints", providersPage),
};

const inGuardrail = untakenField(
  "a guardrail of the workspace or of all workspaces has allowed_providers and ignored_providers",
  guardrailsPage,
);

const fieldRemarks: Readonly<Record<string, Remark>> = {
  preset: untakenField("there are no presets: programs send these settings, and guardrails hold for keys", page),
  route: keptField("models are tried in their order", "docs/providers/routing.md#retries-and-fallback"),
  plugins: keptField("requests have plugins in the same form", "docs/plugins/README.md"),
  transforms: untakenField("the plugin context-compression does this", "docs/plugins/context-compression.md"),
  ...sameRemarkFor(inGuardrail, "allowed_providers ignored_providers always_enforce_allowed"),
  ...sameRemarkFor(untakenField("requests send provider.sort", routingPage), "default_provider_sort"),
  default_model: untakenField(
    "requests name a model; model_aliases has other names",
    "docs/providers/routing.md#names-of-models",
  ),
  ...sameRemarkFor(
    untakenField("providers with a key of yours are all there is", providersPage),
    "byok byok_providers",
  ),
  ...sameRemarkFor(
    keptField("requests have it in the same form", "docs/clients/chat-completions.md"),
    "messages prompt temperature top_p top_k top_a min_p max_tokens max_completion_tokens stop seed stream tools tool_choice",
    "response_format reasoning usage user frequency_penalty presence_penalty repetition_penalty logit_bias verbosity metadata",
  ),
};

interface OpenRouterDraft {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
}

/** @throws CommandError unless the file holds a JSON object */
export function importOpenRouter(file: string): OpenRouterDraft {
  const request = readJsonObject(file);
  const findings = new Findings();
  const draft = new Draft();
  findings.addAll([], request, fieldRemarks);
  findings.addAll(["provider"], request["provider"], preferenceRemarks);
  const places: [Path, unknown][] = [[["model"], request["model"]], ...entries(request, "models")];
  for (const [path, model] of places) if (typeof model === "string") readModel(model, path, draft, findings);
  const { provider } = request;
  for (const list of ["order", "only"]) {
    const named = isObject(provider) ? entries(provider, list) : [];
    for (const [path, name] of named)
      if (typeof name === "string") readProvider(name, ["provider", ...path], draft, findings);
  }
  return {
    draft,
    findings: findings.of(request, untakenField("not known to the import, and not in the new file", page)),
  };
}

const entries = (section: JsonObject, list: string): [Path, unknown][] => {
  const value = section[list];
  return Array.isArray(value) ? value.map((entry: unknown, index) => [[list, index], entry]) : [];
};

/** Adds the vendor of a model to the draft, if the built-in catalogue may have the model. */
function readModel(model: string, path: Path, draft: Draft, findings: Findings): void {
  const author = model.split("/", 1)[0] as string;
  const vendor = Object.hasOwn(vendorNames, author) ? vendorNames[author] : undefined;
  if (vendor === undefined || !vendorOf(vendor).inCatalogue) {
    return findings.add(
      path,
      untakenField("list the model under models, with an endpoint at a vendor or server that has it", providersPage),
    );
  }
  const id = addVendor(vendor, draft);
  findings.taken(
    path,
    `providers[${id}].known_models, if the catalogue has the model; list it under models otherwise`,
    providersPage,
  );
}

/** Adds a provider named by the preferences, so `provider.order` of a request can name it. */
function readProvider(name: string, path: Path, draft: Draft, findings: Findings): void {
  const slug = name.split("/", 1)[0]?.toLowerCase().replaceAll(" ", "-") ?? "";
  const vendor = Object.hasOwn(vendorNames, slug) ? vendorNames[slug] : undefined;
  if (vendor === undefined) {
    return findings.add(path, untakenField("add a provider with this id, and list its models", providersPage));
  }
  const id = addVendor(vendor, draft);
  const other = id === name ? "" : `, so requests name ${id} instead`;
  findings.taken(
    path,
    vendorOf(vendor).inCatalogue
      ? `providers[${id}]${other}`
      : `providers[${id}]${other}; list its models under models`,
  );
}

function addVendor(vendor: VendorId, draft: Draft): string {
  const { dialect, base_url, variable, inCatalogue } = vendorOf(vendor);
  const id = draft.provider(vendor, { dialect, base_url, api_keys: [draft.variable(variable)] });
  if (inCatalogue) draft.serveCatalogue(id);
  return id;
}
