/**
 * Loads packages of the AI SDK, configured as `ai-sdk:<package>`, for vendors whose format Sluice does not support. The
 * operator installs the packages, and they are loaded once, at the start.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { type LoadedConfig, type ProviderSettings, leaveOut } from "@sluice/proto/config/config-file.js";
import type { LanguageModelV3, LanguageModelV4, ProviderV3, ProviderV4 } from "@ai-sdk/provider";
import { isObject } from "../json.ts";
import { packageFetch } from "./package-fetch.ts";
import { fromVersion3 } from "./version-3.ts";

/** Finds a model of a package, for calls with this API key. */
export type FindModel = (upstreamModel: string, key: string | undefined) => LanguageModelV4;

/** Settings the factories of all packages understand. */
interface FactorySettings {
  readonly name: string;
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

type Factory = (settings: FactorySettings) => ProviderV3 | ProviderV4;

/** Version of the AI SDK interface a package implements. */
export type SdkVersion = "v3" | "v4";

interface Loaded {
  readonly create: Factory;
  readonly version: SdkVersion;
}

/** Loaded packages by name, or the reason why a package cannot be used. */
export type SdkPackages = ReadonlyMap<string, Loaded | string>;

export const noPackages: SdkPackages = new Map();

const prefix = "ai-sdk:";

export const isSdk = ({ dialect }: ProviderSettings): boolean => dialect.startsWith(prefix);

const packageOf = ({ dialect }: ProviderSettings): string => dialect.slice(prefix.length);

/**
 * Loads the packages the providers need.
 * @param folder the operator's folder of packages
 */
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

/**
 * The configuration without the providers whose packages could not be loaded.
 * @throws ConfigError when nothing is left to serve
 */
export function leaveOutBrokenProviders(loaded: LoadedConfig, packages: SdkPackages, path: string): LoadedConfig {
  const broken = new Map<string, string>();
  for (const provider of loaded.file.providers) {
    const found = isSdk(provider) ? packages.get(packageOf(provider)) : undefined;
    if (typeof found === "string") broken.set(provider.id, found);
  }
  return leaveOut(loaded, broken, path);
}

/**
 * @param version version of Sluice, for the user agent
 * @throws ConfigError when the package was not loaded at the start
 */
export function openModels(
  provider: ProviderSettings,
  packages: SdkPackages,
  version: string,
): { readonly modelOf: FindModel; readonly version: SdkVersion } {
  const name = packageOf(provider);
  const found = packages.get(name);
  if (found === undefined || typeof found === "string") {
    const problem = found ?? `package ${name} is loaded at the start: restart Sluice`;
    throw new ConfigError(`provider ${provider.id}`, [problem]);
  }
  const byKey = new Map(
    // A package that gets no key reads it from an environment variable.
    [undefined, ...(provider.api_keys ?? [])].map((key) => [key, found.create(settingsOf(provider, key, version))]),
  );
  const modelOf: FindModel = (upstreamModel, key) => {
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
  fetch: packageFetch,
});

/** Finds the factory in a package's exports. Some packages export the same factory under an older name as well. */
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

/**
 * Imports a package from the operator's folder, else from Sluice's own modules.
 * @param folder folder given to `npm install --prefix`
 * @throws Error with the command that installs the package
 */
export async function importPackage(
  name: string,
  folder: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const entry = folder === undefined ? undefined : entryIn(folder, name);
  try {
    return (await import(entry?.href ?? name)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const isMissing = entry === undefined && String((cause as { code?: unknown }).code).endsWith("MODULE_NOT_FOUND");
    if (!isMissing) throw new Error(`package ${name} cannot be loaded: ${(cause as Error).message}`, { cause });
    const prefix = folder === undefined ? "" : `--prefix ${folder} `;
    throw new Error(`package ${name} is not installed; npm install ${prefix}${name}`, { cause });
  }
}

/** The file a module in this folder would load by importing the package. @returns undefined when the package is not installed there */
function entryIn(folder: string, name: string): URL | undefined {
  const home = pathToFileURL(`${join(folder, "node_modules", name)}/`);
  const manifest = readIfPresent(new URL("package.json", home));
  if (manifest === undefined) return undefined;
  const { exports, main } = JSON.parse(manifest) as { readonly exports?: unknown; readonly main?: unknown };
  const root = isObject(exports) && "." in exports ? exports["."] : exports;
  return new URL(targetOf(root) ?? (typeof main === "string" ? main : "index.js"), home);
}

/** Conditions in `exports` that Node's imports match, see https://nodejs.org/api/packages.html#conditional-exports. */
const conditions: ReadonlySet<string> = new Set(["import", "node", "module-sync", "default"]);

/** The first target in `exports` whose conditions match. */
function targetOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value)) return undefined;
  for (const [condition, inner] of Object.entries(value)) {
    const target = conditions.has(condition) ? targetOf(inner) : undefined;
    if (target !== undefined) return target;
  }
  return undefined;
}

function readIfPresent(file: URL): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
