/**
 * The built-in catalogue of providers and models: names, context windows, prices and modalities. It fills in unset values of the configuration file, and
 * never overrides it.
 */
import { readFileSync } from "node:fs";

/** Facts under the names that they have in the configuration file, so they can be copied into it. */
export type SeedFacts = Readonly<Record<string, unknown>>;

/** An offer of a model by one vendor. */
export interface SeedEndpoint extends SeedFacts {
  readonly vendor: string;
  readonly upstream_model: string;
  readonly pricing: SeedFacts;
  readonly supported_parameters: readonly string[];
}

interface SeedModel extends SeedFacts {
  readonly id: string;
  readonly endpoints: readonly SeedEndpoint[];
}

export interface Seed {
  /** Date of the prices. */
  readonly date: string;
  /** Vendors by id, with the hosts of their addresses. */
  readonly vendors: Readonly<Record<string, SeedFacts & { readonly hosts: readonly string[] }>>;
  readonly models: readonly SeedModel[];
}

/** An empty catalogue. */
export const emptySeed: Seed = { date: "1970-01-01", vendors: {}, models: [] };

/** @param path of the seed.json written by `npm run catalogue` */
export const readSeed = (path: string | URL): Seed => JSON.parse(readFileSync(path, "utf8")) as Seed;

/** The date at the end of a dated model name, such as claude-haiku-4-5-20251001 or gpt-4o-2024-08-06. */
const snapshot = /-(?:\d{8}|\d{4}-\d\d-\d\d)$/;

/** Finds what a vendor offers under its name for a model; the name may have a date at its end. */
export function findOffer({ models }: Seed, vendor: string | undefined, name: string): SeedEndpoint | undefined {
  const own = models.flatMap(({ endpoints }) => endpoints.filter((offer) => offer.vendor === vendor));
  const named = (wanted: string) => own.find((offer) => offer.upstream_model === wanted);
  return named(name) ?? named(name.replace(snapshot, ""));
}

/** Settings of a provider that identify its cloud. */
export interface CloudService {
  readonly dialect?: unknown;
  readonly base_url?: unknown;
  readonly aws?: unknown;
  readonly google?: unknown;
  readonly azure?: unknown;
}

/**
 * Claude models' names on Bedrock, such as us.anthropic.claude-haiku-4-5-20251001-v1:0, also at the end of an ARN
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html).
 */
const bedrockName = /^(?:.*\/)?(?:([a-z-]+)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+(?::\w+)?)?$/;
/** The version at the end of a name on Vertex AI, as in claude-haiku-4-5@20251001 and gemini-2.5-flash-001. */
const vertexVersion = /@\w+$|-00\d$/;

/** Facts that hold only for Anthropic's own API and not on clouds. */
const ownApiOnly: ReadonlySet<string> = new Set([
  "anthropic_betas",
  "context_management",
  "message.system",
  "thinking.updates",
]);

/**
 * Price of a regional endpoint on a cloud relative to a global one
 * (https://platform.claude.com/docs/en/about-claude/pricing).
 */
const regionalFactor = 1.1;

/**
 * Catalogue facts about a model of Anthropic or Google by its name on a cloud; undefined for other models and services.
 */
export function findCloudOffer(seed: Seed, provider: CloudService, name: string): SeedFacts | undefined {
  const { dialect, google, azure } = provider;
  const [, region, onBedrock] = (dialect === "converse" && bedrockName.exec(name)) || [];
  const isOnCloud = google !== undefined || azure !== undefined || /@\w+$/.test(name) || isVertex(provider);
  const maker = dialect === "gemini" ? "google" : "anthropic";
  if (onBedrock === undefined && !(isOnCloud && (dialect === "messages" || dialect === "gemini"))) return undefined;
  const offer = findOffer(seed, maker, onBedrock ?? name.replace(vertexVersion, ""));
  if (offer === undefined) return undefined;
  const isRegional = onBedrock === undefined ? isVertexRegion(provider) : region !== "global";
  const factor = maker === "anthropic" && isRegional ? regionalFactor : 1;
  const parameters = offer.supported_parameters.filter((parameter) => !ownApiOnly.has(parameter));
  return { ...offer, pricing: scaled(offer.pricing, factor), supported_parameters: parameters };
}

const isVertex = ({ base_url: url }: CloudService): boolean =>
  typeof url === "string" && /^https:\/\/([\w-]+[-.])?aiplatform\.([\w-]+\.rep\.)?googleapis\.com\//.test(url);

function isVertexRegion({ google, base_url: url, azure }: CloudService): boolean {
  if (azure !== undefined) return false;
  if (typeof url === "string") return !url.includes("/locations/global/");
  return (google as { readonly location?: unknown } | undefined)?.location !== "global";
}

const tokenRates: ReadonlySet<string> = new Set([
  "prompt",
  "completion",
  "cache_read",
  "cache_write",
  "cache_write_1h",
]);

/** Multiplies prices per token by a factor; other prices are the same everywhere. */
function scaled(pricing: SeedFacts, factor: number): SeedFacts {
  const rate = (value: unknown): unknown => String(Number((Number(value) * factor).toPrecision(12)));
  return Object.fromEntries(
    Object.entries(pricing).map(([name, value]) => {
      if (name === "above") return [name, (value as readonly SeedFacts[]).map((step) => scaled(step, factor))];
      return [name, tokenRates.has(name) ? rate(value) : value];
    }),
  );
}
