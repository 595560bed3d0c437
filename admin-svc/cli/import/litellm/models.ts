/** Converts LiteLLM's `model_list`: every deployment becomes an endpoint of a model at a provider. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { type Draft, type EndpointInput, type ModelInput, slugOf } from "../draft.ts";
import { type Findings, type Path, keptField, untakenField } from "../findings.ts";
import { isOfVendor } from "@sluice/proto/config/vendors.js";
import { infoRemarks, paramRemarks } from "./remarks.ts";
import { type Credential, Params } from "./params.ts";
import { readPricing } from "./pricing.ts";
import { type PlannedProvider, catalogueVendor, planProvider, splitModel } from "./providers.ts";

const providersPage = "docs/providers/README.md";
const routingPage = "docs/providers/routing.md";

/** Values of LiteLLM's `mode` for which Sluice has an operation. */
const servedModes: ReadonlySet<unknown> = new Set([undefined, "chat", "completion", "responses", "embedding"]);
const unservedNames = /dall-e|gpt-image|imagen|whisper|transcribe|\btts\b|rerank|moderation|\bveo\b|\bsora\b|-realtime/;
const embeddingNames = /embed|^bge-/;

interface Ordered {
  readonly endpoint: EndpointInput;
  readonly order: number;
}

interface Group {
  readonly facts: Partial<ModelInput>;
  readonly endpoints: Ordered[];
}

export class ModelList {
  readonly #draft: Draft;
  readonly #findings: Findings;
  readonly #credentials: readonly Credential[];
  readonly #groups = new Map<string, Group>();
  /** Prefixes of model names served from the built-in catalogue (`known_models`), such as openai/. */
  readonly #catalogues: string[] = [];
  /** Name patterns without a counterpart in the catalogue; they come after all other aliases. */
  readonly #patterns: { match: string; model: string }[] = [];

  constructor(draft: Draft, findings: Findings, credentials: readonly Credential[]) {
    this.#draft = draft;
    this.#findings = findings;
    this.#credentials = credentials;
  }

  /** Reads the `model_list` of one file. */
  read(list: unknown, path: Path): void {
    if (!Array.isArray(list)) return;
    for (const [index, entry] of list.entries()) this.#deployment(entry, [...path, index]);
  }

  /** Adds the models to the draft after every file is read. @returns model ids by the names used in requests */
  finish(): ReadonlyMap<string, string> {
    const ids = new Map<string, string>();
    for (const [name, { facts, endpoints }] of this.#groups) {
      const id = slugOf(name);
      ids.set(name, id);
      const inOrder = endpoints.toSorted((a, b) => a.order - b.order).map(({ endpoint }) => endpoint);
      this.#draft.models.push({ id, ...facts, endpoints: inOrder });
      if (id !== name) this.#draft.aliases.push({ match: name, model: id });
    }
    return ids;
  }

  /** Whether a model is in the catalogue of a vendor whose known models are served. */
  isOfCatalogue(name: string): boolean {
    return this.#catalogues.some((beginning) => name.startsWith(beginning) && !name.includes("*"));
  }

  /** Adds the aliases for name patterns, after all aliases for exact names. */
  addPatterns(): void {
    this.#draft.aliases.push(...this.#patterns);
  }

  #deployment(entry: unknown, path: Path): void {
    const given = isObject(entry) && isObject(entry["litellm_params"]) ? entry["litellm_params"] : {};
    const name = isObject(entry) ? entry["model_name"] : undefined;
    const { model } = given;
    if (typeof name !== "string" || typeof model !== "string") {
      return this.#leave(path, "an entry needs model_name and litellm_params.model");
    }
    const info = isObject(entry) && isObject(entry["model_info"]) ? entry["model_info"] : {};
    const params = this.#params(given, info, path);
    const { kind, name: upstream } = splitModel(model, params.text("custom_llm_provider"));
    if (upstream === "") return this.#leave(path, "litellm_params.model names a vendor without a model");
    if (upstream === "*") return this.#catalogue(name, kind, params, path);
    const problem = unservedReason(info["mode"], upstream);
    if (problem !== undefined) return this.#leave(path, problem, "docs/reference/gaps.md");
    const planned = planProvider(kind, upstream, params, this.#draft);
    if (typeof planned === "string") return this.#leave(path, planned);
    this.#endpoint(name, planned, params, path);
  }

  #leave(path: Path, why: string, page = providersPage): void {
    this.#findings.close(path, untakenField(`the deployment is left out: ${why}`, page));
  }

  /** Looks parameters up in a deployment, its credential and model_info, and remembers where each was found. */
  #params(given: Readonly<Record<string, unknown>>, info: Readonly<Record<string, unknown>>, path: Path): Params {
    const [own, facts] = [
      [...path, "litellm_params"],
      [...path, "model_info"],
    ];
    this.#findings.addAll(own, given, paramRemarks);
    this.#findings.addAll(facts, info, infoRemarks);
    const credential = this.#credentials.find((each) => each.name === given["litellm_credential_name"]);
    if (credential) this.#findings.taken([...own, "litellm_credential_name"], "the settings of the provider");
    if (credential) this.#findings.addAll(credential.path, credential.values, paramRemarks);
    const places = [{ values: given, path: own }, ...(credential ? [credential] : []), { values: info, path: facts }];
    return new Params(places, this.#draft, this.#findings);
  }

  /**
   * Handles a wildcard deployment. It becomes the models of the built-in catalogue, or is left out, because Sluice
   * needs a list of models.
   */
  #catalogue(name: string, kind: string, params: Params, path: Path): void {
    const vendor = catalogueVendor(kind);
    if (vendor === undefined) {
      const advice =
        kind === "" || kind === "*"
          ? "it stands for every vendor: add providers with known_models, as deploy/local/sluice.yaml has them"
          : `the catalogue has no list of the models of ${kind}: list them under models`;
      return this.#leave(path, advice);
    }
    if (name !== "*" && name !== `${kind}/*`) {
      const advice = `known_models gives models the names of the catalogue: add ${JSON.stringify(name)} to model_aliases, model by model`;
      return this.#leave(path, advice, `${routingPage}#names-of-models`);
    }
    const planned = planProvider(kind, "*", params, this.#draft);
    if (typeof planned === "string") return this.#leave(path, planned);
    if (!isOfVendor(vendor, planned.settings.base_url)) {
      return this.#leave(path, "the models at an address of one's own are unknown: list them under models");
    }
    const id = this.#provider(planned, params);
    this.#draft.serveCatalogue(id);
    this.#catalogues.push(`${kind}/`);
    const text = `providers[${id}].known_models: the models of ${vendor} in the catalogue; list others under models`;
    this.#findings.taken([...path, "model_name"], text, `${routingPage}#names-of-models`);
    this.#findings.taken([...path, "litellm_params", "model"], `providers[${id}].known_models`);
  }

  #provider({ wantedId, settings, taken }: PlannedProvider, params: Params): string {
    const id = this.#draft.provider(wantedId, settings);
    for (const [name, setting] of Object.entries(taken)) params.taken(name, `providers[${id}].${setting}`);
    if (settings.api_keys === undefined) params.add("api_key", keptField("the server needs no key", providersPage));
    return id;
  }

  #endpoint(name: string, planned: PlannedProvider, params: Params, path: Path): void {
    const id = this.#provider(planned, params);
    const model = name.includes("*") ? `${id}/${planned.upstream}` : name;
    const pricing = readPricing(params);
    const endpoint = { provider: id, upstream_model: planned.upstream, ...(pricing && { pricing }) };
    const group = this.#groups.get(model) ?? { facts: {}, endpoints: [] };
    this.#groups.set(model, group);
    Object.assign(group.facts, { ...readFacts(params, planned.upstream, slugOf(model)), ...group.facts });
    const order = params.number("order") ?? Number.POSITIVE_INFINITY;
    const same = group.endpoints.findIndex(
      (each) => each.endpoint.provider === id && each.endpoint.upstream_model === planned.upstream,
    );
    // Deployments differing only in limits or tags become one endpoint.
    if (same < 0) group.endpoints.push({ endpoint, order });
    else if (pricing) group.endpoints[same] = { endpoint, order };
    const slug = slugOf(model);
    const own = [...path, "litellm_params"];
    this.#findings.taken([...own, "model"], `models[${slug}].endpoints, at provider ${id} as ${planned.upstream}`);
    if (params.has("custom_llm_provider")) params.taken("custom_llm_provider", `provider ${id}`);
    this.#name(name, slug, path);
  }

  #name(name: string, slug: string, path: Path): void {
    if (name.includes("*")) {
      this.#patterns.push({ match: name, model: slug });
      return this.#findings.taken([...path, "model_name"], `model_aliases, for the model ${slug}`);
    }
    const alias = name === slug ? "" : ", with the name itself in model_aliases";
    this.#findings.taken([...path, "model_name"], `models[${slug}].id${alias}`);
  }
}

function unservedReason(mode: unknown, upstream: string): string | undefined {
  if (!servedModes.has(mode)) return `Sluice has no models of the mode ${JSON.stringify(mode)}`;
  return mode === undefined && unservedNames.test(upstream)
    ? "Sluice has no operation for images, sounds, rankings or moderation by such a model"
    : undefined;
}

const wholeFacts = { max_input_tokens: "context_length", max_output_tokens: "max_output_tokens" } as const;
const inputFlags = { supports_vision: "image", supports_pdf_input: "file", supports_audio_input: "audio" } as const;

function readFacts(params: Params, upstream: string, slug: string): Partial<ModelInput> {
  const facts: Partial<ModelInput> = {};
  const take = (name: string, setting: string): void => params.taken(name, `models[${slug}].${setting}`);
  for (const [name, setting] of Object.entries(wholeFacts)) {
    const number = params.number(name);
    if (number === undefined || !Number.isInteger(number) || number < 1) continue;
    facts[setting] = number;
    take(name, setting);
  }
  for (const [name, modality] of Object.entries(inputFlags)) {
    if (params.raw(name) !== true) continue;
    facts.input_modalities = [...(facts.input_modalities ?? ["text"]), modality];
    take(name, "input_modalities");
  }
  const mode = params.raw("mode");
  if (mode === "embedding" || (mode === undefined && embeddingNames.test(upstream))) {
    facts.output_modalities = ["embeddings"];
  }
  take("mode", "output_modalities");
  return facts;
}
