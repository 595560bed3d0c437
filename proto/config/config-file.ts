/** Loads and checks the configuration file. */
import { ConfigError, zodProblems } from "../lib/process/environment.ts";
import { cloudAddress } from "./clouds.ts";
import { rawSignIn, signInPath, withSignIn } from "./console/sign-in.ts";
import { type LeftOut, type ConfigPart, type Section, splitByAvailability } from "./left-out.ts";
import { servedAliases } from "./model-aliases.ts";
import { findInvalidReferences } from "./references.ts";
import { type EdgeSettings, type ConfigFile, edgeSchema, configSchema } from "./schema.ts";
import type { Seed } from "./seed.ts";
import {
  type StoredProvider,
  additionsOf,
  hasModels,
  namedInFile,
  onlyModelsOfFile,
  problemsOfStored,
} from "./stored-providers.ts";
import { type AddedEntries, fillFromSeed, addEchoModel } from "./seeded.ts";
import { withoutSinks } from "./sinks/sinks.ts";
import { type Unresolved, expandVariables, filesOf } from "./variables.ts";
import { parseYaml } from "./yaml.ts";

export type { LeftOut } from "./left-out.ts";
export { edgeSchema, configSchema } from "./schema.ts";
export type {
  Compat,
  EdgeSettings,
  EndpointSettings,
  ConfigFile,
  InternalModels,
  Limits,
  ModelSettings,
  ProviderSettings,
} from "./schema.ts";

export interface LoadedConfig {
  readonly file: ConfigFile;
  /** Providers left out because every environment variable that they name is unset. */
  readonly leftOut: readonly LeftOut[];
  /** Paths of files referenced by the configuration; a change of any of them triggers a reload. */
  readonly files: readonly string[];
}

/** A configuration together with the providers stored in the database. */
export interface CombinedConfig extends LoadedConfig {
  /** Reasons why stored providers are not used, by their ids. */
  readonly refused: ReadonlyMap<string, string>;
}

export interface ReadConfig extends LoadedConfig {
  /**
   * Adds stored providers to the configuration. A provider with a problem is left out, so it never invalidates the
   * rest.
   */
  readonly combine: (stored: readonly StoredProvider[]) => CombinedConfig;
}

/**
 * Reads the file, replaces `${VAR}` and `${file:/path}` in every string, and checks all of it.
 * A provider whose variables are all unset is left out, together with the endpoints and models served only by it. Values missing in the file are filled in
 * from the built-in catalogue.
 * @throws ConfigError with every problem and its path
 */
export function loadConfig(path: string, environment: NodeJS.ProcessEnv, seed: Seed): ReadConfig {
  const { present, absent, leftOut } = splitByAvailability(readShared(path), environment);
  const served = { ...present, file: addEchoModel(present.file, environment) };
  const expanded = expand(served, environment);
  const unserved = idsOf(absent.file);
  const { file, unset, problems } = check(expanded, seed, unserved);
  if (file === undefined || unset.length + problems.length > 0) throw new ConfigError(path, [...unset, ...problems]);
  const loaded = { file, leftOut, files: filesOf(present.file) };
  return { ...loaded, combine: (stored) => ({ ...loaded, ...combine({ expanded, file, seed, unserved }, stored) }) };
}

interface Combinable {
  readonly expanded: ExpandedPart;
  /** The checked configuration file, without the providers stored in the database. */
  readonly file: ConfigFile;
  readonly seed: Seed;
  readonly unserved: readonly string[];
}

function combine(
  { expanded, file: alone, seed, unserved }: Combinable,
  stored: readonly StoredProvider[],
): Pick<CombinedConfig, "file" | "refused"> {
  const inFile = new Set(alone.providers.map(({ id }) => id));
  const refused = new Map(stored.filter(({ id }) => inFile.has(id)).map(({ id }) => [id, namedInFile]));
  const known = new Set<unknown>(alone.models.map(({ id }) => id));
  const together = (added: readonly StoredProvider[]) => {
    const { providers, models } = additionsOf(added, known);
    const { providers: own = [], models: listed = [] } = expanded.file as Record<string, unknown[]>;
    const file = { ...expanded.file, providers: [...own, ...providers], models: [...listed, ...models] };
    const entries = { providers: new Set<unknown>(added.map(({ id }) => id)), kept: known };
    return check({ ...expanded, file, asWritten: addedPlaces(own.length, listed.length) }, seed, unserved, entries);
  };
  const fitting = stored.filter((provider) => {
    if (refused.has(provider.id)) return false;
    const found = problemsOfStored(provider);
    const [problem] = found.length > 0 ? found : problemsOfCheck(together([provider]), provider);
    if (problem !== undefined) refused.set(provider.id, problem);
    return problem === undefined;
  });
  if (fitting.length === 0) return { file: alone, refused };
  const { file, problems } = together(fitting);
  if (file !== undefined && problems.length === 0) return { file, refused };
  for (const { id } of fitting) refused.set(id, problems[0] ?? "the configuration with it is not valid");
  return { file: alone, refused };
}

/**
 * Problems of the configuration with one stored provider added. A provider that serves nothing has a problem too: the
 * file defines all of its models.
 */
function problemsOfCheck({ file, problems }: Check, provider: StoredProvider): readonly string[] {
  if (file === undefined || problems.length > 0) return problems;
  const serves = file.models.some(({ endpoints }) => endpoints.some((each) => each.provider === provider.id));
  return serves || !hasModels(provider) ? [] : [onlyModelsOfFile];
}

/** Translates the path of a problem to the entry of the added provider. */
const addedPlaces =
  (providers: number, models: number) =>
  (problem: string): string =>
    problem
      .replace(/^providers\.(\d+)\.?/, (place, at) => (Number(at) < providers ? place : ""))
      .replace(/^models\.(\d+)/, (place, at) => (Number(at) < models ? place : `models.${Number(at) - models}`));

/**
 * Checks providers that were left out, and their models, as far as that is possible without the unset variables.
 * @returns every problem with its path
 * @throws ConfigError when the file cannot be read
 */
export function problemsOfLeftOut(path: string, environment: NodeJS.ProcessEnv, seed: Seed): readonly string[] {
  return check(expand(splitByAvailability(readShared(path), environment).absent, environment), seed).problems;
}

/** Reads the file without the sections whose secrets belong to another service. */
const readShared = (path: string): Record<string, unknown> => withSignIn(withoutSinks(parseYaml(path)), undefined);

const idsOf = ({ models }: Section): readonly string[] =>
  (models as readonly { readonly id?: unknown }[]).map(({ id }) => String(id));

interface Check {
  /** The parsed configuration; undefined when the file is invalid. */
  readonly file: ConfigFile | undefined;
  /** Problems of environment variables without a value. */
  readonly unset: readonly string[];
  readonly problems: readonly string[];
}

/** A part of the file after its variables were replaced, with the references that have no value. */
interface ExpandedPart extends ConfigPart {
  readonly unresolved: Unresolved;
}

function expand({ file, asWritten }: ConfigPart, environment: NodeJS.ProcessEnv): ExpandedPart {
  const unresolved = { unset: [], unreadable: [] };
  return { file: expandVariables(file, environment, "", unresolved) as Section, asWritten, unresolved };
}

/** Checks a part of the file. @param unserved slugs of models whose providers were left out */
function check(
  { file: raw, asWritten, unresolved }: ExpandedPart,
  seed: Seed,
  unserved: readonly string[] = [],
  entries?: AddedEntries,
): Check {
  const unknown: string[] = [];
  const complete = fillFromSeed(raw, seed, unknown, entries);
  const result = configSchema.safeParse(complete);
  const problems = [...unknown, ...(result.success ? findInvalidReferences(result.data) : zodProblems(result.error))];
  const withoutProvider = new Set([...unserved, ...seed.models.map(({ id }) => id)]);
  const file = result.success ? withServedAliases(withAddresses(result.data), withoutProvider, problems) : undefined;
  // An unresolved reference also makes its string invalid, which is not reported a second time.
  const known = new Set([...unresolved.unset, ...unresolved.unreadable].map(pathOf));
  const others = problems.filter((problem) => !known.has(pathOf(problem)) && !known.has(urlOfVendor(problem)));
  return {
    file,
    unset: unresolved.unset.map(asWritten),
    problems: [...unresolved.unreadable, ...new Set(others)].map(asWritten),
  };
}

/**
 * Sets the base URL of providers whose address follows from cloud settings, because all other code uses the base URL.
 */
const withAddresses = (file: ConfigFile): ConfigFile => ({
  ...file,
  providers: file.providers.map((entry) => {
    const base_url = entry.base_url ?? cloudAddress(entry);
    return base_url === undefined ? entry : { ...entry, base_url };
  }),
});

function withServedAliases(file: ConfigFile, unserved: ReadonlySet<string>, problems: string[]): ConfigFile {
  if (file.model_aliases.length === 0) return file;
  const served = new Set(file.models.map(({ id }) => id));
  return { ...file, model_aliases: servedAliases(file.model_aliases, served, unserved, problems) };
}

/**
 * Removes providers found unusable after the file was read, with the endpoints and models served only by them.
 * @param unusable reasons by provider id
 * @throws ConfigError when the rest of the file refers to a removed entry
 */
export function leaveOut(loaded: LoadedConfig, unusable: ReadonlyMap<string, string>, path: string): LoadedConfig {
  if (unusable.size === 0) return loaded;
  const { file, leftOut } = loaded;
  const providers = file.providers.filter(({ id }) => !unusable.has(id));
  const models = file.models.flatMap((model) => {
    const endpoints = model.endpoints.filter(({ provider }) => !unusable.has(provider));
    return endpoints.length === 0 ? [] : [{ ...model, endpoints }];
  });
  const known = new Set(file.models.map(({ id }) => id));
  const rest = withServedAliases({ ...file, providers, models }, known, []);
  const added = [...unusable].map(([provider, problem]): LeftOut => ({ provider, unset: [], problem }));
  const problems = findInvalidReferences(rest);
  const reasons = added.map(({ provider, problem }) => `provider ${provider}: ${problem}`);
  if (problems.length > 0) throw new ConfigError(path, [...reasons, ...problems]);
  return { ...loaded, file: rest, leftOut: [...leftOut, ...added] };
}

const pathOf = (problem: string): string => problem.split(": ", 1)[0] as string;

/** Path of the base URL for a problem of `known_models`: an unresolved address also makes the vendor unknown. */
const urlOfVendor = (problem: string): string => pathOf(problem).replace(/\.known_models$/, ".base_url");

/**
 * Reads the sections needed by a process without providers. Other sections are checked by the processes that use them.
 * @throws ConfigError with every problem and its path
 */
export function loadEdge(path: string, environment: NodeJS.ProcessEnv): EdgeSettings {
  const raw = parseYaml(path);
  const unresolved = { unset: [], unreadable: [] };
  const signIn = expandVariables(rawSignIn(raw), environment, signInPath, unresolved);
  const result = edgeSchema.safeParse(withSignIn(raw, signIn));
  const missing = [...unresolved.unset, ...unresolved.unreadable];
  // An unresolved reference also makes its string invalid, which is not reported a second time.
  const known = new Set(missing.map(pathOf));
  const wrong = result.success ? [] : zodProblems(result.error).filter((problem) => !known.has(pathOf(problem)));
  if (!result.success || missing.length > 0) throw new ConfigError(path, [...missing, ...wrong]);
  return result.data;
}

/** Paths of the files that the settings of the console's sign-in reference. */
export const edgeFiles = (path: string): string[] => filesOf(rawSignIn(parseYaml(path)));
