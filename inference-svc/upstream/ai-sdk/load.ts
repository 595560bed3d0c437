/**
 * Packages of the AI SDK that a configuration names as `ai-sdk:<package>`: for vendors whose format is none of the house's own. They are
 * no dependencies of the house: the operator installs them, and they are loaded once, at start.
 */
import type { LanguageModelV3, ProviderV3 } from "@ai-sdk/provider";
import { ConfigError } from "@sluice/proto/runtime/config.js";
import type { ProviderSettings } from "@sluice/proto/runtime/house-file.js";

/** The model of that name, asked with that key. */
export type ModelOf = (upstreamModel: string, key: string | undefined) => LanguageModelV3;

/** What the packages' factories have in common. */
interface FactorySettings {
  readonly name: string;
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

type Factory = (settings: FactorySettings) => ProviderV3;

/** By the name of the package. */
export type SdkPackages = ReadonlyMap<string, Factory>;

export const noPackages: SdkPackages = new Map();

const prefix = "ai-sdk:";

export const isSdk = ({ dialect }: ProviderSettings): boolean => dialect.startsWith(prefix);

const packageOf = ({ dialect }: ProviderSettings): string => dialect.slice(prefix.length);

/**
 * @param source of the configuration, which opens the message
 * @throws ConfigError with every package that is not there, or speaks another version of the interface
 */
export async function loadSdkPackages(providers: readonly ProviderSettings[], source: string): Promise<SdkPackages> {
  const packages = new Map<string, Factory>();
  const problems: string[] = [];
  for (const provider of providers) {
    if (!isSdk(provider)) continue;
    try {
      const name = packageOf(provider);
      const create = factoryIn(name, await importOf(name));
      requireVersion(name, create(settingsOf(provider, provider.api_keys?.[0], "")));
      packages.set(name, create);
    } catch (error) {
      problems.push(`provider ${provider.id}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(source, problems);
  return packages;
}

/**
 * @param version of the house, for the user agent
 * @throws ConfigError when the package is not among those that were loaded
 */
export function modelsOf(provider: ProviderSettings, packages: SdkPackages, version: string): ModelOf {
  const name = packageOf(provider);
  const create = packages.get(name);
  if (!create)
    throw new ConfigError(`provider ${provider.id}`, [`package ${name} is loaded at the start: restart the house`]);
  const byKey = new Map(
    // Without one, packages look for a variable of their own.
    [undefined, ...(provider.api_keys ?? [])].map((key) => [key, create(settingsOf(provider, key, version))]),
  );
  return (upstreamModel, key) => (byKey.get(key) as ProviderV3).languageModel(upstreamModel);
}

const settingsOf = ({ id, base_url }: ProviderSettings, key: string | undefined, version: string): FactorySettings => ({
  name: id,
  ...(key !== undefined && { apiKey: key }),
  ...(base_url !== undefined && { baseURL: base_url }),
  headers: { "user-agent": `sluice/${version}` },
  fetch: withoutRedirects,
});

async function importOf(name: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(name)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (!String((cause as { code?: unknown }).code).endsWith("MODULE_NOT_FOUND")) {
      throw new Error(`package ${name} cannot be loaded: ${(cause as Error).message}`, { cause });
    }
    throw new Error(`package ${name} is not installed; npm install ${name}`, { cause });
  }
}

/** Some export it under an older name as well. */
function factoryIn(name: string, exported: Readonly<Record<string, unknown>>): Factory {
  const names = Object.keys(exported).filter((key) => /^create[A-Z]/.test(key) && typeof exported[key] === "function");
  const [only, ...others] = new Set(names.map((key) => exported[key]));
  if (only !== undefined && others.length === 0) return only as Factory;
  throw new Error(`package ${name} cannot be asked: it exports ${names.length} functions called create…, not one`);
}

function requireVersion(name: string, provider: ProviderV3): void {
  const version: unknown = (provider as { specificationVersion?: unknown }).specificationVersion;
  if (version === "v3") return;
  if (typeof version !== "string") throw new Error(`package ${name} is no provider of the AI SDK`);
  throw new Error(
    `package ${name} speaks ${version} of the AI SDK's interface, the house v3; npm install another major version of it`,
  );
}

/** A redirect is never followed with credentials. */
const withoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
