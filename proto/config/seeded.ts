/** Fills in values of the built-in catalogue for unset values of the configuration file, before the file is checked. */
import { cloudAddress } from "./clouds.ts";
import { type VendorId, catalogueVendors, vendorOf as vendorOfId } from "./vendors.ts";
import { type SeedFacts, type Seed, type SeedEndpoint, findCloudOffer, findOffer } from "./seed.ts";

type Section = Record<string, unknown>;
const isSection = (value: unknown): value is Section =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const sections = (value: unknown): Section[] => (Array.isArray(value) ? value.filter(isSection) : []);

/** Which entries of a configuration come from the database. */
export interface AddedEntries {
  /** Ids of the providers stored in the database. */
  readonly providers: ReadonlySet<unknown>;
  /** Ids of the models defined in the file. Providers of the database add no endpoints to them. */
  readonly kept: ReadonlySet<unknown>;
}

const noneAdded: AddedEntries = { providers: new Set(), kept: new Set() };

/**
 * Fills in values from the built-in catalogue. Values of the file are never changed, and its models keep their order.
 * @param file configuration with its variables replaced, including entries of the database
 * @param problems receives a problem for each value that the catalogue lacks
 */
export function fillFromSeed(file: Section, seed: Seed, problems: string[], entries = noneAdded): Section {
  const vendors = new Map<unknown, string>();
  for (const [index, provider] of sections(file.providers).entries()) {
    const vendor = vendorOf(provider, seed);
    if (vendor !== undefined) vendors.set(provider.id, vendor);
    else if (provider.vendor !== undefined || provider.known_models === true) {
      const field = provider.vendor === undefined ? "known_models" : "vendor";
      problems.push(`providers.${index}.${field}: ${unknown(seed)}`);
    }
  }
  const { providers, models } = file;
  const known: Known = { vendors, providers: new Map(sections(providers).map((provider) => [provider.id, provider])) };
  const offering = { serving: sections(providers).filter(({ known_models: all }) => all === true), vendors, entries };
  const added = unlisted(file, offering, seed);
  const whole = (model: unknown) => completed(withOffers(model, offering, seed), known, seed);
  return {
    ...file,
    ...(Array.isArray(providers) && { providers: providers.map((provider) => named(provider, vendors, seed)) }),
    ...(Array.isArray(models) && { models: [...models.map(whole), ...added] }),
    ...(models === undefined && { models: added }),
  };
}

const unknown = ({ vendors }: Seed): string =>
  `the catalogue does not know this provider; it knows ${Object.keys(vendors).join(", ")}`;

/** Vendor of a provider: the one that it names, else the vendor with its host. */
function vendorOf(provider: Section, { vendors }: Seed): string | undefined {
  const { vendor, base_url: url = cloudAddress(provider) } = provider;
  if (typeof vendor === "string") return Object.hasOwn(vendors, vendor) ? vendor : undefined;
  const host = typeof url === "string" && URL.canParse(url) ? new URL(url).hostname : "";
  // Regional hosts have the region as a prefix, such as eu.api.openai.com.
  const isOf = (own: string): boolean => host === own || host.endsWith(`.${own}`);
  return Object.keys(vendors).find((id) => vendors[id]?.hosts.some(isOf));
}

type Vendors = ReadonlyMap<unknown, string>;

/** The providers of the file by their ids, and the vendors found for them. */
interface Known {
  readonly vendors: Vendors;
  readonly providers: ReadonlyMap<unknown, Section>;
}

function named(provider: unknown, vendors: Vendors, seed: Seed): unknown {
  if (!isSection(provider)) return provider;
  const { hosts: _, ...facts } = seed.vendors[vendors.get(provider.id) ?? ""] ?? { hosts: [] };
  return { ...facts, ...ownService(provider), ...provider };
}

/**
 * Address and wire format of the vendor's own service, for a provider that names its vendor but neither address nor
 * format.
 */
function ownService({ vendor, dialect, base_url: url, aws, google, azure }: Section): Section {
  if (typeof vendor !== "string" || !catalogueVendors.includes(vendor)) return {};
  if ([dialect, url, aws, google, azure].some((setting) => setting !== undefined)) return {};
  const { dialect: own, base_url } = vendorOfId(vendor as VendorId);
  return { dialect: own, base_url };
}

function completed(model: unknown, known: Known, seed: Seed): unknown {
  if (!isSection(model) || !Array.isArray(model.endpoints)) return model;
  const offers = model.endpoints.map((endpoint) => offerOf(model, endpoint, known, seed));
  const { endpoints: _, ...facts } = seed.models.find(({ id }) => id === model.id) ?? offeredAbilities(offers, seed);
  const priced = model.endpoints.every((endpoint, index) => hasPrice(endpoint, offers[index]));
  return {
    ...facts,
    ...model,
    endpoints: model.endpoints.map((endpoint, index) => filled(endpoint, offers[index], priced)),
  };
}

/**
 * Catalogue facts that also hold for a model with another id; its name and scores hold only for the id in the
 * catalogue.
 */
const abilities: ReadonlySet<string> = new Set([
  "tokenizer",
  "context_length",
  "max_output_tokens",
  "input_modalities",
  "output_modalities",
]);

/**
 * Catalogue facts for a model whose id is not in the catalogue, if all of its endpoints serve one known model; none
 * otherwise.
 */
function offeredAbilities(offers: readonly (SeedFacts | undefined)[], { models }: Seed): SeedFacts {
  const offered = models.find(({ endpoints }) =>
    offers.every((offer) =>
      endpoints.some(
        ({ vendor, upstream_model: name }) => offer?.["vendor"] === vendor && offer["upstream_model"] === name,
      ),
    ),
  );
  return Object.fromEntries(Object.entries(offered ?? {}).filter(([fact]) => abilities.has(fact)));
}

/**
 * Whether an endpoint has a price, in the file or in the catalogue. The catalogue only has prices of the default tier.
 */
const hasPrice = (endpoint: unknown, offer: SeedFacts | undefined): boolean =>
  isSection(endpoint) &&
  (endpoint.pricing !== undefined ||
    (offer !== undefined && (endpoint.tier === undefined || endpoint.tier === "default")));

/**
 * Fills in an endpoint. @param priced whether all endpoints of the model have a price. If one has none, endpoints are
 * tried in the order of the file, which a price from the catalogue would change
 */
function filled(endpoint: unknown, offer: SeedFacts | undefined, priced: boolean): unknown {
  if (!isSection(endpoint) || offer === undefined) return endpoint;
  const { vendor: _, pricing, ...rest } = offer;
  return { ...rest, ...(priced && { pricing }), ...endpoint };
}

/** What the vendor of an endpoint offers, found by the endpoint's model name, else by the model's slug. */
function offerOf(model: Section, endpoint: unknown, { vendors, providers }: Known, seed: Seed): SeedFacts | undefined {
  if (!isSection(endpoint)) return undefined;
  const { provider, upstream_model: name } = endpoint;
  const vendor = vendors.get(provider);
  if (name === undefined) {
    const offers = seed.models.find(({ id }) => id === model.id)?.endpoints;
    return offers?.find((offer) => offer.vendor === vendor);
  }
  if (typeof name !== "string") return undefined;
  return findOffer(seed, vendor, name) ?? findCloudOffer(seed, providers.get(provider) ?? {}, name);
}

interface Offering {
  /** Providers that set `known_models`. */
  readonly serving: readonly Section[];
  readonly vendors: Vendors;
  readonly entries: AddedEntries;
}

/** Models that the catalogue lists for providers with `known_models`, except models listed in the file. */
function unlisted(file: Section, { serving, vendors, entries }: Offering, seed: Seed): Section[] {
  const own = new Set(sections(file.models).map(({ id }) => id));
  return seed.models.flatMap(({ endpoints, ...model }) => {
    const adding = entries.kept.has(model.id) ? serving.filter(({ id }) => !entries.providers.has(id)) : serving;
    const offers = adding.flatMap(({ id }) => offersOf(endpoints, vendors.get(id), id));
    return offers.length === 0 || own.has(model.id) ? [] : [{ ...model, endpoints: offers }];
  });
}

/** Adds to a model of the database, after its own endpoints, those of other providers in the database. */
function withOffers(model: unknown, { serving, vendors, entries }: Offering, seed: Seed): unknown {
  if (entries.providers.size === 0 || !isSection(model) || entries.kept.has(model.id)) return model;
  const { endpoints } = model;
  const offered = seed.models.find(({ id }) => id === model.id)?.endpoints;
  if (offered === undefined || !Array.isArray(endpoints)) return model;
  const listing = new Set(sections(endpoints).map(({ provider }) => provider));
  const others = serving.filter(({ id }) => entries.providers.has(id) && !listing.has(id));
  const offers = others.flatMap(({ id }) => offersOf(offered, vendors.get(id), id));
  // All other values are filled in as for any listed endpoint.
  const named = offers.map(({ provider, upstream_model }) => ({ provider, upstream_model }));
  return { ...model, endpoints: [...(endpoints as unknown[]), ...named] };
}

const offersOf = (endpoints: readonly SeedEndpoint[], vendor: string | undefined, provider: unknown): Section[] =>
  endpoints.flatMap(({ vendor: offering, ...offer }) => (offering === vendor ? [{ provider, ...offer }] : []));

/** Slug of the built-in model that echoes its input. */
export const echoModel = "sluice/echo";

const echoProvider = {
  id: "sluice",
  name: "Sluice",
  dialect: "echo",
  region: "local",
  data_policy: { retention: "none", training: false },
};

const echoEntry = {
  id: echoModel,
  name: "Sluice Echo",
  context_length: 128_000,
  max_output_tokens: 16_384,
  input_modalities: ["text", "image", "file"],
  endpoints: [
    {
      provider: echoProvider.id,
      pricing: { prompt: "0", completion: "0" },
      supported_parameters: ["max_output_tokens", "stop", "reasoning", "tools", "tool_choice", "structured_outputs"],
    },
  ],
};

/**
 * Adds the built-in echo model after the models of the file. It needs no provider and its answers are reproducible. A
 * provider or model of the file with the same name takes precedence.
 * @param environment the variable SLUICE_ECHO decides when the file does not
 */
export function addEchoModel(file: Section, environment: NodeJS.ProcessEnv): Section {
  const { echo: isEchoRequested = environment["SLUICE_ECHO"] === "true", providers = [], models = [] } = file;
  if (isEchoRequested !== true || !Array.isArray(providers) || !Array.isArray(models)) return file;
  if (has(providers, echoProvider.id) || has(models, echoEntry.id)) return file;
  return {
    ...file,
    providers: [...(providers as unknown[]), echoProvider],
    models: [...(models as unknown[]), echoEntry],
  };
}

const has = (entries: readonly unknown[], id: string): boolean =>
  entries.some((entry) => (entry as { readonly id?: unknown } | null)?.id === id);
