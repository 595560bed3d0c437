/** The configuration file of the house, one section a file in house/. One schema for every process. */
import { z } from "zod";
import { ConfigError, problemsOf, readSettings } from "./config.ts";
import { alignment } from "./house/alignment.ts";
import { compat, cors, host } from "./house/edge.ts";
import { detector, namedDetector } from "./house/detectors.ts";
import { endUsers } from "./house/end-users.ts";
import { fusion } from "./house/fusion.ts";
import { internalModels } from "./house/internal-models.ts";
import { limits } from "./house/limits.ts";
import { model } from "./house/model.ts";
import { provider } from "./house/provider.ts";
import { type LeftOut, type Part, type Section, partition } from "./house/left-out.ts";
import { dangling } from "./house/references.ts";
import type { Seed } from "./house/seed.ts";
import { seeded } from "./house/seeded.ts";
import { tools } from "./house/tools.ts";
import { search, webFetch } from "./house/web.ts";
import { parseYaml } from "./house/yaml.ts";
import { expand, filesOf } from "./house/variables.ts";

export const houseSchema = z.strictObject({
  host,
  providers: z.array(provider).default([]),
  models: z.array(model).default([]),
  internal_models: internalModels.prefault({}),
  detectors: z.array(detector).default([]),
  alignment: alignment.prefault({}),
  fusion: fusion.prefault({}),
  search: search.prefault({}),
  fetch: webFetch.prefault({}),
  tools: tools.prefault({}),
  limits: limits.prefault({}),
  end_users: endUsers.prefault({}),
  compat: compat.prefault({}),
  cors: cors.prefault({}),
});

/** What the gateway reads of the file. */
const edgeSchema = z.object({
  host,
  limits: limits.prefault({}),
  compat: compat.prefault({}),
  cors: cors.prefault({}),
  detectors: z.array(namedDetector).default([]),
});

export type HouseFile = z.infer<typeof houseSchema>;
export type ProviderSettings = HouseFile["providers"][number];
export type ModelSettings = HouseFile["models"][number];
export type EndpointSettings = ModelSettings["endpoints"][number];
export type InternalModels = HouseFile["internal_models"];
export type Limits = HouseFile["limits"];
export type Compat = HouseFile["compat"];
export type EdgeSettings = z.infer<typeof edgeSchema>;

export interface LoadedHouse {
  readonly file: HouseFile;
  /** Providers that were left out because every variable they name is unset. */
  readonly leftOut: readonly LeftOut[];
  /** Those that it reads: their change changes what was loaded. */
  readonly files: readonly string[];
}

export type { LeftOut } from "./house/left-out.ts";

/**
 * Reads the file, replaces `${VAR}` and `${file:/path}` in every string, and checks all of it.
 * A provider whose variables are all unset is left out, together with the endpoints and models that only it serves. What the file leaves
 * unsaid and the seed knows is filled in.
 * @throws ConfigError with every problem and its path
 */
export function loadHouse(path: string, environment: NodeJS.ProcessEnv, seed: Seed): LoadedHouse {
  const { present, leftOut } = partition(parseYaml(path), environment);
  const { file, unset, problems } = check(present, environment, seed);
  if (file === undefined || unset.length + problems.length > 0) throw new ConfigError(path, [...unset, ...problems]);
  return { file, leftOut, files: filesOf(present.file) };
}

/**
 * Checks the definitions of providers that are left out, and of their models, as far as they do not depend on the unset variables.
 * @returns every problem with its path
 * @throws ConfigError when the file cannot be read
 */
export function problemsOfLeftOut(path: string, environment: NodeJS.ProcessEnv, seed: Seed): readonly string[] {
  return check(partition(parseYaml(path), environment).absent, environment, seed).problems;
}

interface Check {
  /** Undefined when a problem keeps it from being read. */
  readonly file: HouseFile | undefined;
  /** Variables without a value. */
  readonly unset: readonly string[];
  readonly problems: readonly string[];
}

function check({ file: raw, asWritten }: Part, environment: NodeJS.ProcessEnv, seed: Seed): Check {
  const unresolved = { unset: [], unreadable: [] };
  const unknown: string[] = [];
  const complete = seeded(expand(raw, environment, "", unresolved) as Section, seed, unknown);
  const result = houseSchema.safeParse(complete);
  const problems = [...unknown, ...(result.success ? dangling(result.data) : problemsOf(result.error))];
  // A reference without a value makes its string wrong as well: that is no second problem.
  const known = new Set([...unresolved.unset, ...unresolved.unreadable].map(pathOf));
  const others = problems.filter((problem) => !known.has(pathOf(problem)) && !known.has(urlOfVendor(problem)));
  return {
    file: result.success ? result.data : undefined,
    unset: unresolved.unset.map(asWritten),
    problems: [...unresolved.unreadable, ...new Set(others)].map(asWritten),
  };
}

/**
 * Leaves out providers that were found unusable after the file was read, together with the endpoints and models that only they serve.
 * @param unusable reasons by provider id
 * @throws ConfigError when the rest of the file refers to what is gone
 */
export function leaveOut(loaded: LoadedHouse, unusable: ReadonlyMap<string, string>, path: string): LoadedHouse {
  if (unusable.size === 0) return loaded;
  const { file, leftOut } = loaded;
  const providers = file.providers.filter(({ id }) => !unusable.has(id));
  const models = file.models.flatMap((model) => {
    const endpoints = model.endpoints.filter(({ provider }) => !unusable.has(provider));
    return endpoints.length === 0 ? [] : [{ ...model, endpoints }];
  });
  const rest: HouseFile = { ...file, providers, models };
  const added = [...unusable].map(([provider, problem]): LeftOut => ({ provider, unset: [], problem }));
  const problems = dangling(rest);
  const reasons = added.map(({ provider, problem }) => `provider ${provider}: ${problem}`);
  if (problems.length > 0) throw new ConfigError(path, [...reasons, ...problems]);
  return { ...loaded, file: rest, leftOut: [...leftOut, ...added] };
}

const pathOf = (problem: string): string => problem.split(": ", 1)[0] as string;

/** A vendor is known by its address, so nothing is known of one whose address is not. */
const urlOfVendor = (problem: string): string => pathOf(problem).replace(/\.known_models$/, ".base_url");

/** Sections that a process without providers reads. The others are checked by the process that uses them. */
export const loadEdge = (path: string): EdgeSettings => readSettings(edgeSchema, parseYaml(path), path);
