/**
 * Converts a gateway configuration of Portkey: targets become providers and models, strategies become advice for
 * requests.
 */
import { basename } from "node:path";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { Draft, type EndpointInput, type ProviderSettings, slugOf, variableName } from "./draft.ts";
import { type Finding, Findings, type Path, type Remark, sameRemarkFor, keptField, untakenField } from "./findings.ts";
import { readJsonObject } from "./json-file.ts";
import { Params } from "./litellm/params.ts";
import { type VendorId, isOfVendor, vendorOf } from "@sluice/proto/config/vendors.js";

const page = "docs/migrate/portkey.md";
const providersPage = "docs/providers/README.md";
const retriesPage = "docs/providers/routing.md#retries-and-fallback";
const sharingPage = "docs/providers/routing.md#which-endpoint-serves";
const guardrailsPage = "docs/guardrails/README.md";
const formatsPage = "docs/providers/formats.md";

const unknownField = untakenField("not known to the import, and not in the new file", page);

/** Sluice's vendor ids by Portkey's names. */
const vendorNames: Readonly<Record<string, VendorId>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  "mistral-ai": "mistral",
  groq: "groq",
  deepseek: "deepseek",
  "x-ai": "xai",
  moonshot: "moonshotai",
  cohere: "cohere",
  openrouter: "openrouter",
  "together-ai": "together",
  "fireworks-ai": "fireworks",
  "perplexity-ai": "perplexity",
  cerebras: "cerebras",
  sambanova: "sambanova",
  deepinfra: "deepinfra",
};

/** Providers with special settings. They are matched before the vendors whose names they contain. */
const cloudNames = ["azure-openai", "vertex-ai", "bedrock", "ollama"] as const;

const targetRemarks: Readonly<Record<string, Remark>> = {
  weight: untakenField(
    "endpoints with a price share the load by price: send provider.order or provider.sort",
    sharingPage,
  ),
  retry: keptField(
    "Sluice retries and moves on by rules of its own, within the time limit of the request",
    retriesPage,
  ),
  on_status_codes: keptField("every failure before the first token moves on", retriesPage),
  cache: untakenField("Sluice stores no answers; caches of prompts at the providers are used", formatsPage),
  api_version: keptField("Azure's address /openai/v1 has no versions", "docs/providers/azure.md"),
  ...sameRemarkFor(
    untakenField("admin guardrails create makes a guardrail, which holds for keys or workspaces", guardrailsPage),
    "input_guardrails output_guardrails before_request_hooks after_request_hooks default_input_guardrails default_output_guardrails",
  ),
  forward_headers: untakenField("headers of clients are not sent to providers", formatsPage),
  ...sameRemarkFor(
    untakenField("requests go to the default organization of the key", formatsPage),
    "openai_organization openai_project",
  ),
  strict_open_ai_compliance: keptField(
    "answers have the form of the door that was asked",
    "docs/clients/chat-completions.md",
  ),
  metadata: untakenField("requests have metadata of their own", "docs/clients/chat-completions.md"),
  ...sameRemarkFor(
    untakenField("the identity comes from the environment of inference-svc", `${providersPage}#identities-of-clouds`),
    "azure_auth_mode azure_ad_token azure_entra_client_id azure_entra_client_secret azure_entra_tenant_id aws_role_arn aws_auth_type",
  ),
  name: keptField("only conditions name targets", page),
};

interface PortkeyDraft {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
}

/** @throws CommandError unless the file holds a JSON object */
export function importPortkey(file: string): PortkeyDraft {
  const config = readJsonObject(file);
  const reader = new PortkeyReader(basename(file).replace(/\.[^.]*$/, ""));
  reader.target(config, [], {});
  return { draft: reader.draft, findings: reader.findings.of(config, unknownField) };
}

/** A target without nested targets: an endpoint of a model. */
interface Leaf {
  readonly endpoint: EndpointInput | undefined;
  readonly slug: string | undefined;
}

class PortkeyReader {
  readonly draft = new Draft();
  readonly findings = new Findings();
  readonly #name: string;

  /** @param name of the model made from a load-balanced configuration */
  constructor(name: string) {
    this.#name = name;
  }

  /**
   * Reads a target and its nested targets. @param inherited parameters set by the enclosing targets. @returns the
   * targets without nested targets
   */
  target(target: JsonObject, path: Path, inherited: JsonObject): Leaf[] {
    this.findings.addAll(path, target, targetRemarks);
    const own = isObject(target["override_params"]) ? target["override_params"] : {};
    const parameters = { ...inherited, ...own };
    const { targets } = target;
    if (!Array.isArray(targets)) return this.#leaf(target, path, parameters, own);
    this.findings.add([...path, "override_params"], untakenField("a provider sets them by extra_body", providersPage));
    if ("model" in own) this.findings.taken([...path, "override_params", "model"], "models of the targets");
    const leaves = targets.flatMap((each: unknown, index) =>
      isObject(each) ? this.target(each, [...path, "targets", index], parameters) : [],
    );
    this.#strategy(target["strategy"], [...path, "strategy"], leaves);
    return leaves;
  }

  #strategy(strategy: unknown, path: Path, leaves: readonly Leaf[]): void {
    const mode = isObject(strategy) ? strategy["mode"] : undefined;
    const slugs = leaves.flatMap(({ slug }) => slug ?? []);
    const list = `send "models": ${JSON.stringify(slugs)} instead of "model"`;
    this.findings.add(
      path,
      untakenField("a program names the model that it wants, and model_aliases give it other names", page),
    );
    if (mode === "single") this.findings.add([...path, "mode"], keptField("a request names one model", retriesPage));
    if (mode === "fallback") this.findings.add([...path, "mode"], untakenField(list, retriesPage));
    const status = keptField("every failure before the first token moves on", retriesPage);
    this.findings.add([...path, "on_status_codes"], status);
    const endpoints = leaves.flatMap(({ endpoint }) => endpoint ?? []);
    if (mode !== "loadbalance") return;
    const isWhole = path.length === 1 && endpoints.length === leaves.length && endpoints.length > 0;
    if (!isWhole)
      return this.findings.add(
        [...path, "mode"],
        untakenField(`the load is shared within a model: ${list}`, sharingPage),
      );
    const id = slugOf(this.#name);
    this.draft.models.push({
      id,
      endpoints: [...new Map(endpoints.map((each) => [JSON.stringify(each), each])).values()],
    });
    this.findings.taken([...path, "mode"], `models[${id}].endpoints, which share the load by price`, sharingPage);
  }

  #leaf(target: JsonObject, path: Path, parameters: JsonObject, own: JsonObject): Leaf[] {
    const params = new Params([{ values: target, path }], this.draft, this.findings);
    if (isObject(target["strategy"])) {
      this.findings.add([...path, "strategy"], keptField("a strategy without targets does nothing", page));
    }
    const kind = kindOf(params);
    if (kind === undefined) {
      if (params.has("provider") || params.has("virtual_key")) {
        this.findings.close(
          path,
          untakenField("the vendor is unknown to the import: add a provider by hand", providersPage),
        );
      }
      return [];
    }
    const planned = this.#plan(kind, params);
    const model = typeof parameters["model"] === "string" ? parameters["model"] : undefined;
    const upstream = params.text("deployment_id") ?? params.text("azure_deployment_name") ?? model;
    const settings = this.#withParameters(planned.settings, params, parameters, own, path);
    const id = this.draft.provider(planned.id, settings);
    for (const [name, setting] of Object.entries(planned.taken)) params.taken(name, `providers[${id}].${setting}`);
    for (const name of ["provider", "virtual_key"]) params.taken(name, `providers[${id}]`);
    const [key] = settings.api_keys ?? [];
    if (params.has("api_key")) params.taken("api_key", `providers[${id}].api_keys`);
    else if (key !== undefined) {
      const text = `providers[${id}].api_keys as ${key}: set this variable to the vendor's own key, which Portkey keeps`;
      params.add("virtual_key", { outcome: "taken", text });
    }
    if (upstream === undefined) return this.#withoutModel(kind, id, settings.base_url, path);
    const slug = slugOf(`${id}/${model ?? upstream}`);
    const endpoint = { provider: id, upstream_model: upstream };
    if (!this.draft.models.some((each) => each.id === slug))
      this.draft.models.push({ id: slug, endpoints: [endpoint] });
    for (const at of [
      ["override_params", "model"],
      ["deployment_id"],
      ["azure_deployment_name"],
      ["azure_model_name"],
    ]) {
      this.findings.taken([...path, ...at], `models[${slug}]`);
    }
    return [{ endpoint, slug }];
  }

  /** Adds a target that sets no model: it serves the model named by each request. */
  #withoutModel(kind: string, id: string, url: string | undefined, path: Path): Leaf[] {
    const vendor = Object.hasOwn(vendorNames, kind) ? vendorNames[kind] : undefined;
    if (vendor !== undefined && vendorOf(vendor).inCatalogue && isOfVendor(vendor, url)) {
      this.draft.serveCatalogue(id);
      this.findings.taken([...path, "provider"], `providers[${id}], with the models of the catalogue`);
    } else {
      this.findings.add(
        [...path, "provider"],
        untakenField(`providers[${id}] is made: list its models under models`, providersPage),
      );
    }
    return [{ endpoint: undefined, slug: undefined }];
  }

  /** Adds the timeouts and fixed parameters of a target to its provider's settings. */
  #withParameters(
    settings: ProviderSettings,
    params: Params,
    parameters: JsonObject,
    own: JsonObject,
    path: Path,
  ): ProviderSettings {
    const wait = params.number("request_timeout");
    const isWait = wait !== undefined && wait >= 1 && wait <= 3_600_000;
    if (isWait) params.taken("request_timeout", "timeouts.headers_ms of the provider");
    const { model: _model, ...fixed } = parameters;
    const isChat = settings.dialect === "chat";
    for (const name of Object.keys(own).filter((each) => each !== "model")) {
      const at = [...path, "override_params", name];
      if (isChat) this.findings.taken(at, "extra_body of the provider");
      else
        this.findings.add(
          at,
          untakenField(`extra_body of the provider, under the name of the format ${settings.dialect}`, providersPage),
        );
    }
    return {
      ...settings,
      ...(isWait && { timeouts: { headers_ms: Math.round(wait) } }),
      ...(isChat &&
        Object.keys(fixed).length > 0 && { extra_body: fixed as NonNullable<ProviderSettings["extra_body"]> }),
    };
  }

  #plan(kind: string, params: Params) {
    const host = params.address("custom_host", variableName(kind, "base_url"))?.replace(/\/+$/, "");
    const keys = (id: string) => {
      const key =
        params.secret("api_key", variableName(id, "key")) ?? params.secret("virtual_key", variableName(id, "key"));
      return key === undefined ? {} : { api_keys: [key] };
    };
    if (kind === "azure-openai") {
      const resource = params.text("resource_name") ?? this.draft.variable("AZURE_RESOURCE_NAME");
      const settings = { dialect: "chat", azure: { resource }, ...keys("azure") };
      return { id: "azure", settings, taken: { resource_name: "azure.resource" } };
    }
    if (kind === "vertex-ai") return this.#vertex(params);
    if (kind === "bedrock") return this.#bedrock(params);
    if (kind === "ollama") {
      const settings = { dialect: "chat", base_url: `${host ?? "http://localhost:11434"}/v1` };
      return { id: "ollama", settings, taken: { custom_host: "base_url" } };
    }
    const id = vendorNames[kind] as VendorId;
    const vendor = vendorOf(id);
    const fallback = { api_keys: [this.draft.variable(vendor.variable)] };
    const hasKey = params.has("api_key") || params.has("virtual_key");
    const own = hasKey ? keys(id) : fallback;
    // Servers in OpenAI's format, other than OpenAI's own, rarely have the Responses API.
    const dialect = host !== undefined && id === "openai" ? "chat" : vendor.dialect;
    return { id, settings: { dialect, base_url: host ?? vendor.base_url, ...own }, taken: { custom_host: "base_url" } };
  }

  #vertex(params: Params) {
    const advice = "store the credentials in a file and name it in google.credentials_file";
    params.add("vertex_service_account_json", untakenField(advice, "docs/providers/vertex.md#credentials"));
    const project = params.text("vertex_project_id") ?? this.draft.variable("VERTEXAI_PROJECT");
    const location = params.text("vertex_region") ?? this.draft.variable("VERTEXAI_LOCATION");
    const settings = { dialect: "gemini", google: { project, location } };
    return { id: "vertex", settings, taken: { vertex_project_id: "google.project", vertex_region: "google.location" } };
  }

  #bedrock(params: Params) {
    const region = params.text("aws_region") ?? this.draft.variable("AWS_REGION");
    const [id, secret] = ["aws_access_key_id", "aws_secret_access_key"].map((name) =>
      params.secret(name, variableName("bedrock", name)),
    );
    const keys = id !== undefined && secret !== undefined && { access_key_id: id, secret_access_key: secret };
    const taken = {
      aws_region: "aws.region",
      aws_access_key_id: "aws.access_key_id",
      aws_secret_access_key: "aws.secret_access_key",
    };
    return { id: "bedrock", settings: { dialect: "converse", aws: { region, ...keys } }, taken };
  }
}

/** The kind of a target's provider, from its name or from the slug of a key stored at Portkey. */
function kindOf(params: Params): string | undefined {
  const name = (params.text("provider") ?? params.text("virtual_key") ?? "").toLowerCase();
  if (Object.hasOwn(vendorNames, name) || (cloudNames as readonly string[]).includes(name)) return name;
  if (params.has("provider") && !name.startsWith("@")) return undefined;
  if (/azure/.test(name)) return "azure-openai";
  return [...cloudNames, ...Object.keys(vendorNames)].find((kind) => name.includes(kind.replace(/-ai$/, "")));
}
