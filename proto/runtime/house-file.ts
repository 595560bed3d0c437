/** The configuration file of the house, one section a file in house/. One schema for every process. */
import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { z } from "zod";
import { ConfigError, problemsOf, readSettings } from "./config.ts";
import { alignment } from "./house/alignment.ts";
import { compat, cors } from "./house/edge.ts";
import { detector, namedDetector } from "./house/detectors.ts";
import { fusion } from "./house/fusion.ts";
import { internalModels } from "./house/internal-models.ts";
import { limits } from "./house/limits.ts";
import { model } from "./house/model.ts";
import { provider } from "./house/provider.ts";
import { dangling, prune } from "./house/references.ts";
import type { Seed } from "./house/seed.ts";
import { seeded } from "./house/seeded.ts";
import { search, webFetch } from "./house/web.ts";
import { expand, filesOf, variablesOf } from "./house/variables.ts";

export const houseSchema = z.strictObject({
  providers: z.array(provider).default([]),
  models: z.array(model).default([]),
  internal_models: internalModels.prefault({}),
  detectors: z.array(detector).default([]),
  alignment: alignment.prefault({}),
  fusion: fusion.prefault({}),
  search: search.prefault({}),
  fetch: webFetch.prefault({}),
  limits: limits.prefault({}),
  compat: compat.prefault({}),
  cors: cors.prefault({}),
});

/** What the gateway reads of the file. */
const edgeSchema = z.object({
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

export interface LeftOut {
  /** Id of the provider. */
  readonly provider: string;
  readonly unset: readonly string[];
}

/**
 * Reads the file, replaces `${VAR}` and `${file:/path}` in every string, and checks all of it.
 * A provider whose variables are all unset is left out, together with the endpoints and models that only it serves. What the file leaves
 * unsaid and the seed knows is filled in.
 * @throws ConfigError with every problem and its path
 */
export function loadHouse(path: string, environment: NodeJS.ProcessEnv, seed: Seed): LoadedHouse {
  const raw = parse(path);
  const { present, leftOut } = withoutUnset(raw, environment);
  const problems: string[] = [];
  const complete = seeded(expand(present, environment, "", problems) as Record<string, unknown>, seed, problems);
  const result = houseSchema.safeParse(complete);
  // What a variable that is not set makes of a value is no second problem.
  const told = new Set(problems.map((problem) => problem.split(": ", 1)[0]));
  const others = result.success ? dangling(result.data) : problemsOf(result.error);
  problems.push(...others.filter((problem) => !told.has(problem.split(": ", 1)[0])));
  if (problems.length > 0 || !result.success) throw new ConfigError(path, problems);
  return { file: result.data, leftOut, files: filesOf(present) };
}

function withoutUnset(
  raw: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
): { present: Record<string, unknown>; leftOut: readonly LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const present = { ...raw };
  if (Array.isArray(raw.providers)) {
    present.providers = raw.providers.filter((entry: unknown) => {
      const { unset, set } = variablesOf(entry, environment);
      const unusable = unset.length > 0 && set.length === 0;
      if (unusable) leftOut.push({ provider: String((entry as { id?: unknown }).id), unset: [...new Set(unset)] });
      return !unusable;
    });
  }
  const gone = new Set(leftOut.map(({ provider }) => provider));
  if (Array.isArray(raw.models)) present.models = prune(raw.models, gone);
  return { present, leftOut };
}

/** What a process without providers reads of the file. Other sections are checked by the process that uses them. */
export const loadEdge = (path: string): EdgeSettings => readSettings(edgeSchema, parse(path), path);

function parse(path: string): Record<string, unknown> {
  const document = parseDocument(read(path), { prettyErrors: true });
  if (document.errors.length > 0) {
    // Without the line itself, which may hold a secret.
    const problems = document.errors.map(({ message }) => message.split("\n", 1)[0]?.replace(/:$/, "") ?? "");
    throw new ConfigError(path, problems);
  }
  return (document.toJS({ maxAliasCount: 100 }) ?? {}) as Record<string, unknown>;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(path, [`cannot be read: ${(error as NodeJS.ErrnoException).code}`]);
  }
}
