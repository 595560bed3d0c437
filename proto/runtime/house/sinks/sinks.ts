/** Sections of the configuration file with secrets that only admin-svc knows: those of sinks, and the key of captured content. */
import { z } from "zod";
import { ConfigError, problemsOf } from "../../config.ts";
import { signInVariables, withSignIn } from "../console/sign-in.ts";
import { capture } from "./capture.ts";
import { expand, filesOf, variablesOf } from "../variables.ts";
import { parseYaml } from "../yaml.ts";
import { alerts } from "./alerts.ts";
import { exportSections } from "./exports.ts";

export const sinkSections = { alerts, exports: exportSections, capture };

const sinksSchema = z.object(sinkSections);

export type SinkSettings = z.infer<typeof sinksSchema>;

export interface LoadedSinks {
  readonly settings: SinkSettings;
  /** Files that the settings refer to. */
  readonly files: readonly string[];
}

/** Settings of an installation that tells nobody anything. */
export const noSinks: SinkSettings = sinksSchema.parse({});

const pathOf = (problem: string): string => problem.split(": ", 1)[0] as string;

/** Reads these sections alone. @throws ConfigError with every problem and its path */
export function loadSinks(path: string, environment: NodeJS.ProcessEnv): LoadedSinks {
  const given = sinksOf(parseYaml(path));
  const unset: string[] = [];
  const unreadable: string[] = [];
  const result = sinksSchema.safeParse(expand(given, environment, "", { unset, unreadable }));
  // A reference without a value also makes its string wrong; that is not a second problem.
  const known = new Set([...unset, ...unreadable].map(pathOf));
  const wrong = result.success ? [] : problemsOf(result.error).filter((problem) => !known.has(pathOf(problem)));
  const problems = [...unset, ...unreadable, ...wrong];
  if (!result.success || problems.length > 0) throw new ConfigError(path, problems);
  return { settings: result.data, files: filesOf(given) };
}

const isSinkSection = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(sinkSections, name);

const sinksOf = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter(isSinkSection));

/** The sections of a file that the other services read. */
export const withoutSinks = (raw: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(raw).filter((section) => !isSinkSection(section)));

/** Names of the environment variables to which only sections refer that inference-svc does not read. */
export function secretVariables(path: string, environment: NodeJS.ProcessEnv): ReadonlySet<string> {
  const shared = new Set(variablesOf(withSignIn(withoutSinks(parseYaml(path)), undefined), environment).set);
  const named = [...sinkVariables(path, environment), ...signInVariables(path, environment)];
  return new Set(named.filter((name) => !shared.has(name)));
}

/** Names of the environment variables that these sections of the file refer to. */
export const sinkVariables = (path: string, environment: NodeJS.ProcessEnv): readonly string[] =>
  variablesOf(sinksOf(parseYaml(path)), environment).set.filter((name) => !name.startsWith("file:"));
