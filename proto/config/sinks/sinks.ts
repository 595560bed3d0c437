/**
 * Sections of the configuration file that only admin-svc reads: sinks, the encryption key for captured content, and
 * retention.
 */
import { z } from "zod";
import { ConfigError, zodProblems } from "../../lib/process/environment.ts";
import { signInVariables, withSignIn } from "../console/sign-in.ts";
import { capture } from "./capture.ts";
import { expandVariables, filesOf, variablesOf } from "../variables.ts";
import { parseYaml } from "../yaml.ts";
import { alerts } from "./alerts.ts";
import { exportSections } from "./exports.ts";
import { retention } from "./retention.ts";

export const sinkSections = { alerts, exports: exportSections, capture, retention };

const sinksSchema = z.object(sinkSections);

export type SinkSettings = z.infer<typeof sinksSchema>;

export interface LoadedSinks {
  readonly settings: SinkSettings;
  /** Paths of the files referenced by the settings. */
  readonly files: readonly string[];
}

/** Settings when the configuration file has none of these sections. */
export const noSinks: SinkSettings = sinksSchema.parse({});

const pathOf = (problem: string): string => problem.split(": ", 1)[0] as string;

/** Reads only the sections for admin-svc. @throws ConfigError with every problem and its path */
export function loadSinks(path: string, environment: NodeJS.ProcessEnv): LoadedSinks {
  const given = sinksOf(parseYaml(path));
  const unset: string[] = [];
  const unreadable: string[] = [];
  const result = sinksSchema.safeParse(expandVariables(given, environment, "", { unset, unreadable }));
  // An unresolved reference also makes its string invalid, which is not reported a second time.
  const known = new Set([...unset, ...unreadable].map(pathOf));
  const wrong = result.success ? [] : zodProblems(result.error).filter((problem) => !known.has(pathOf(problem)));
  const problems = [...unset, ...unreadable, ...wrong];
  if (!result.success || problems.length > 0) throw new ConfigError(path, problems);
  return { settings: result.data, files: filesOf(given) };
}

const isSinkSection = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(sinkSections, name);

const sinksOf = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter(isSinkSection));

/** Removes the sections for admin-svc from a file. */
export const withoutSinks = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter((section) => !isSinkSection(section)));

/** Names of the environment variables that only sections not read by inference-svc reference. */
export function secretVariables(path: string, environment: NodeJS.ProcessEnv): ReadonlySet<string> {
  const shared = new Set(variablesOf(withSignIn(withoutSinks(parseYaml(path)), undefined), environment).set);
  const named = [...sinkVariables(path, environment), ...signInVariables(path, environment)];
  return new Set(named.filter((name) => !shared.has(name)));
}

/** Names of the environment variables that the sections for admin-svc reference. */
export const sinkVariables = (path: string, environment: NodeJS.ProcessEnv): readonly string[] =>
  variablesOf(sinksOf(parseYaml(path)), environment).set.filter((name) => !name.startsWith("file:"));
