/**
 * Providers stored in the database, in the form of the configuration file: an entry of `providers` with its models.
 * They are checked together with the file as one configuration. References to environment variables and files are not
 * replaced in them, and they may not use an identity of the machine.
 */
import { BlockList, isIP } from "node:net";
import { type JsonObject, isObject } from "../lib/validation/fields.ts";
import type { Section } from "./left-out.ts";

export interface StoredProvider {
  readonly id: string;
  /**
   * An entry of `providers`, with its models in `models`: as entries like those of the file, or as names of models at
   * the provider.
   */
  readonly settings: JsonObject;
}

/** Why a stored provider is not used when the file has a provider with its id. */
export const namedInFile = "the configuration file names this provider, too, and the file is in force";

/** Why a stored provider serves nothing when the file defines all models that it would serve. */
export const onlyModelsOfFile = "models: the configuration file serves all of them, and keeps its definitions";

/** Whether a provider is configured to serve models. */
export const hasModels = ({ settings }: StoredProvider): boolean =>
  modelsIn(settings).length > 0 || settings["known_models"] === true;

/**
 * Settings that use privileges of the machine or load code. Only the configuration file may have them, because to edit
 * it needs access to the machine.
 */
const onlyInFile = ["aws", "google", "azure", "trace_context"] as const;

/** Problems of a stored provider for which the same entry in the file would be valid. */
export function problemsOfStored({ id, settings }: StoredProvider): string[] {
  const problems: string[] = [];
  for (const name of onlyInFile) {
    if (settings[name] !== undefined) problems.push(`${name}: only for providers of the configuration file`);
  }
  const { dialect, base_url: url, models } = settings;
  if (typeof dialect === "string" && (dialect.startsWith("ai-sdk:") || dialect === "echo")) {
    problems.push(`dialect: ${dialect.slice(0, 64)} is only for providers of the configuration file`);
  }
  if (typeof url === "string" && URL.canParse(url)) problems.push(...problemsOfAddress(new URL(url)));
  if (models !== undefined && !Array.isArray(models)) problems.push("models: must be a list");
  for (const [index, entry] of modelsIn(settings).entries()) {
    const endpoints = isObject(entry) && Array.isArray(entry["endpoints"]) ? (entry["endpoints"] as unknown[]) : [];
    const isOther = (endpoint: unknown) => isObject(endpoint) && (endpoint["provider"] ?? id) !== id;
    if (endpoints.some(isOther)) problems.push(`models.${index}.endpoints: only endpoints of ${id}`);
    if (typeof entry !== "string" && !isObject(entry)) problems.push(`models.${index}: a name or an object`);
  }
  return problems;
}

/**
 * Addresses refused for stored providers: link-local addresses, and the metadata services of clouds, which reveal
 * credentials of the machine. Any other address may be private.
 */
const refusedAddresses = new BlockList();
refusedAddresses.addSubnet("169.254.0.0", 16);
refusedAddresses.addAddress("100.100.100.200"); // Alibaba Cloud
refusedAddresses.addAddress("168.63.129.16"); // Azure
refusedAddresses.addAddress("192.0.0.192"); // Oracle Cloud
refusedAddresses.addSubnet("fe80::", 10, "ipv6");
refusedAddresses.addSubnet("fd00:ec2::", 32, "ipv6"); // AWS
refusedAddresses.addAddress("fd20:ce::254", "ipv6"); // Google Cloud
const refusedNames: ReadonlySet<string> = new Set(["metadata", "metadata.goog", "metadata.google.internal"]);

function problemsOfAddress({ hostname, username, password, search, hash }: URL): string[] {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const family = isIP(host);
  const isRefused =
    family === 0 ? refusedNames.has(host) : refusedAddresses.check(host, family === 6 ? "ipv6" : "ipv4");
  if (isRefused) return ["base_url: link-local addresses and metadata services are refused"];
  if (username !== "" || password !== "" || search !== "" || hash !== "")
    return ["base_url: without user, password, query and fragment"];
  return [];
}

/**
 * Where a provider's API keys are sent, as a text for comparison: the origin of its address, its vendor and its wire
 * format. An address that follows from the vendor is represented by the vendor, because a later catalogue may have
 * another one.
 */
export function destinationOf({ id, settings: { base_url: url, vendor, dialect } }: StoredProvider): string {
  const origin = typeof url === "string" && URL.canParse(url) ? new URL(url).origin : url;
  return JSON.stringify([id, origin ?? null, vendor ?? null, dialect ?? null]);
}

const modelsIn = ({ models }: JsonObject): readonly unknown[] => (Array.isArray(models) ? (models as unknown[]) : []);

export interface StoredAdditions {
  readonly providers: readonly Section[];
  readonly models: readonly Section[];
}

/**
 * Entries for providers and models that stored providers add to a file.
 * @param known ids of models in the file, whose definitions stay unchanged
 */
export function additionsOf(stored: readonly StoredProvider[], known: ReadonlySet<unknown>): StoredAdditions {
  const models = new Map<unknown, Section>();
  for (const { id, settings } of stored) {
    for (const entry of modelsIn(settings)) {
      const model = modelOf(entry, id);
      const earlier = models.get(model["id"]);
      if (known.has(model["id"])) continue;
      const endpoints = [...listIn(earlier, "endpoints"), ...listIn(model, "endpoints")];
      models.set(model["id"], { ...model, ...earlier, endpoints });
    }
  }
  const providers = stored.map(({ id, settings }) => {
    const { models: _, ...others } = settings;
    return { ...others, id };
  });
  return { providers, models: [...models.values()] };
}

const listIn = (section: Section | undefined, name: string): readonly unknown[] => {
  const list = section?.[name];
  return Array.isArray(list) ? (list as unknown[]) : [];
};

/** A model of a stored provider. A model given only by its name gets a slug made of the provider's id and the name. */
function modelOf(entry: unknown, provider: string): Section {
  if (typeof entry === "string")
    return { id: slugOf(provider, entry), endpoints: [{ provider, upstream_model: entry }] };
  const { endpoints = [{}], ...model } = entry as Section;
  if (!Array.isArray(endpoints)) return { ...model, endpoints };
  return {
    ...model,
    endpoints: (endpoints as unknown[]).map((each) => (isObject(each) ? { provider, ...each } : each)),
  };
}

/**
 * Slug of a model given by its name at a provider. A name that begins with the provider's id, such as `openai/gpt-5`,
 * stays unchanged.
 */
export const slugOf = (provider: string, name: string): string =>
  name.startsWith(`${provider}/`) ? name : `${provider}/${name.replaceAll(/[^\w.:/@-]/g, "-")}`;
