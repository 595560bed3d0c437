/** Sections of the configuration file for admin-svc only: sinks, the key of captured content, and retention. */
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
  /** Files referenced by the settings. */
  readonly files: readonly string[];
}

/** Settings of an installation without sinks. */
export const noSinks: SinkSettings = sinksSchema.parse({});

const pathOf = (problem: string): string => problem.split(": ", 1)[0] as string;

/** Reads only these sections. @throws ConfigError with every problem and its path */
export function loadSinks(path: string, environment: NodeJS.ProcessEnv): LoadedSinks {
  const given = sinksOf(parseYaml(path));
  const unset: string[] = [];
  const unreadable: string[] = [];
  const result = sinksSchema.safeParse(expandVariables(given, environment, "", { unset, unreadable }));
  // An unresolved reference also makes its string invalid; this is not reported a second time.
  const known = new Set([...unset, ...unreadable].map(pathOf));
  const wrong = result.success ? [] : zodProblems(result.error).filter((problem) => !known.has(pathOf(problem)));
  const problems = [...unset, ...unreadable, ...wrong];
  if (!result.success || problems.length > 0) throw new ConfigError(path, problems);
  return { settings: result.data, files: filesOf(given) };
}

const isSinkSection = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(sinkSections, name);

const sinksOf = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter(isSinkSection));

/** The sections of a file for the other services. */
export const withoutSinks = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter((section) => !isSinkSection(section)));

/** Names of the environment variables referenced only by sections that inference-svc does not read. */
export function secretVariables(path: string, environment: NodeJS.ProcessEnv): ReadonlySet<string> {
  const shared = new Set(variablesOf(withSignIn(withoutSinks(parseYaml(path)), undefined), environment).set);
  const named = [...sinkVariables(path, environment), ...signInVariables(path, environment)];
  return new Set(named.filter((name) => !shared.has(name)));
}

/** Names of the environment variables referenced by these sections. */
export const sinkVariables = (path: string, environment: NodeJS.ProcessEnv): readonly string[] =>
  variablesOf(sinksOf(parseYaml(path)), environment).set.filter((name) => !name.startsWith("file:"));
