/**
 * Providers of the database in the form of the configuration file: an entry of `providers` with its models. Together with the file they are checked as
 * one configuration. Nothing in them is replaced by variables or files of the process, and none may use an identity of its machine.
 */
import { BlockList, isIP } from "node:net";
import { type JsonObject, isObject } from "../lib/validation/fields.ts";
import type { Section } from "./left-out.ts";

export interface StoredProvider {
  readonly id: string;
  /** An entry of `providers`, and `models`: entries of `models` in the file, or names of models at the provider. */
  readonly settings: JsonObject;
}

/** Why a provider of the database is not in force, where the file has one with its id. */
export const namedInFile = "the configuration file names this provider, too, and the file is in force";

/** Why a provider of the database serves nothing, where the file has all models that it would serve. */
export const onlyModelsOfFile = "models: the configuration file serves all of them, and keeps its definitions";

/** Whether a provider is to serve models. */
export const hasModels = ({ settings }: StoredProvider): boolean =>
  modelsIn(settings).length > 0 || settings["known_models"] === true;

/** Settings that act with rights of the machine or load code, so they need access to the machine. */
const onlyInFile = ["aws", "google", "azure", "trace_context"] as const;

/** Problems of a provider that the same entry of the file does not have. */
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

/** Link-local addresses and those of the metadata services of clouds, which give away the identity of the machine; every other address may be private. */
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
 * The destination of a provider's keys, as a text for comparison: the origin of its address, its vendor and its format. An address that follows
 * from the vendor counts as the vendor, because a later catalogue may have another one.
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
 * The entries that providers of the database add to a file.
 * @param known ids of the file's models, which keep their definition
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

/** A model of the provider; one that is only named gets a slug of the provider's id and its name. */
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

/** The slug of a model that is given by its name at the provider: `openai/gpt-5` stays at a provider of that id. */
export const slugOf = (provider: string, name: string): string =>
  name.startsWith(`${provider}/`) ? name : `${provider}/${name.replaceAll(/[^\w.:/@-]/g, "-")}`;
