/**
 * Packages of the AI SDK that a configuration names as `ai-sdk:<package>`, for vendors whose format Sluice does not speak. The operator
 * installs them, and they are loaded once, at start.
 */
import type { LanguageModelV3, LanguageModelV4, ProviderV3, ProviderV4 } from "@ai-sdk/provider";
import { ConfigError } from "@sluice/proto/runtime/config.js";
import { type LoadedHouse, type ProviderSettings, leaveOut } from "@sluice/proto/runtime/house-file.js";
import { importPackage } from "./packages.ts";
import { fromVersion3 } from "./version-3.ts";

/** Finds a model of a package; it is called with that key. */
export type ModelOf = (upstreamModel: string, key: string | undefined) => LanguageModelV4;

/** What the packages' factories have in common. */
interface FactorySettings {
  readonly name: string;
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

type Factory = (settings: FactorySettings) => ProviderV3 | ProviderV4;

/** Version of the interface that a package implements. */
export type SdkVersion = "v3" | "v4";

interface Loaded {
  readonly create: Factory;
  readonly version: SdkVersion;
}

/** Packages by name; a string says why the package cannot be used. */
export type SdkPackages = ReadonlyMap<string, Loaded | string>;

export const noPackages: SdkPackages = new Map();

const prefix = "ai-sdk:";

export const isSdk = ({ dialect }: ProviderSettings): boolean => dialect.startsWith(prefix);

const packageOf = ({ dialect }: ProviderSettings): string => dialect.slice(prefix.length);

/** Loads the packages that the providers name. @param folder where the operator installs them */
export async function loadSdkPackages(
  providers: readonly ProviderSettings[],
  folder: string | undefined,
): Promise<SdkPackages> {
  const packages = new Map<string, Loaded | string>();
  for (const provider of providers) {
    const name = packageOf(provider);
    if (!isSdk(provider) || packages.has(name)) continue;
    packages.set(name, await load(name, provider, folder).catch((error: unknown) => (error as Error).message));
  }
  return packages;
}

async function load(name: string, provider: ProviderSettings, folder: string | undefined): Promise<Loaded> {
  const create = factoryIn(name, await importPackage(name, folder));
  return { create, version: versionOf(name, create(settingsOf(provider, provider.api_keys?.[0], ""))) };
}

/** The configuration without the providers whose packages could not be loaded. @throws ConfigError as leaveOut does */
export function withoutBroken(house: LoadedHouse, packages: SdkPackages, path: string): LoadedHouse {
  const broken = new Map<string, string>();
  for (const provider of house.file.providers) {
    const found = isSdk(provider) ? packages.get(packageOf(provider)) : undefined;
    if (typeof found === "string") broken.set(provider.id, found);
  }
  return leaveOut(house, broken, path);
}

/**
 * @param version of Sluice, for the user agent
 * @throws ConfigError when the package is not among those that were loaded
 */
export function modelsOf(
  provider: ProviderSettings,
  packages: SdkPackages,
  version: string,
): { readonly modelOf: ModelOf; readonly version: SdkVersion } {
  const name = packageOf(provider);
  const found = packages.get(name);
  if (found === undefined || typeof found === "string") {
    const problem = found ?? `package ${name} is loaded at the start: restart the house`;
    throw new ConfigError(`provider ${provider.id}`, [problem]);
  }
  const byKey = new Map(
    // Without one, packages look for a variable of their own.
    [undefined, ...(provider.api_keys ?? [])].map((key) => [key, found.create(settingsOf(provider, key, version))]),
  );
  const modelOf: ModelOf = (upstreamModel, key) => {
    const model = (byKey.get(key) as ProviderV3 | ProviderV4).languageModel(upstreamModel);
    return model.specificationVersion === "v3" ? fromVersion3(model satisfies LanguageModelV3) : model;
  };
  return { modelOf, version: found.version };
}

const settingsOf = ({ id, base_url }: ProviderSettings, key: string | undefined, version: string): FactorySettings => ({
  name: id,
  ...(key !== undefined && { apiKey: key }),
  ...(base_url !== undefined && { baseURL: base_url }),
  headers: { "user-agent": `sluice/${version}` },
  fetch: withoutRedirects,
});

/** Some export it under an older name as well. */
function factoryIn(name: string, exported: Readonly<Record<string, unknown>>): Factory {
  const names = Object.keys(exported).filter((key) => /^create[A-Z]/.test(key) && typeof exported[key] === "function");
  const [only, ...others] = new Set(names.map((key) => exported[key]));
  if (only !== undefined && others.length === 0) return only as Factory;
  throw new Error(`package ${name} cannot be used: it exports ${names.length} functions called create…, not one`);
}

function versionOf(name: string, { specificationVersion: version }: { specificationVersion?: unknown }): SdkVersion {
  if (version === "v3" || version === "v4") return version;
  if (typeof version !== "string") throw new Error(`package ${name} is no provider of the AI SDK`);
  throw new Error(
    `package ${name} implements ${version} of the AI SDK's interface, and Sluice takes v3 and v4; npm install another major version of it`,
  );
}

/** A redirect is never followed with credentials. */
const withoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
