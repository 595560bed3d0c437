/** Loads the configuration file for the operator's commands, exactly as the service loads it. */
import type { Command, Terminal } from "@sluice/proto/lib/process/cli.js";
import { type LoadedConfig, loadEdge, loadConfig, problemsOfLeftOut } from "@sluice/proto/config/config-file.js";
import { type SinkSettings, loadSinks } from "@sluice/proto/config/sinks/sinks.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { seedFile } from "../seed-file.ts";

export interface OperatorTerminal extends Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** Path of the configuration file if the command names none. */
  readonly config: string;
  /** Version of Sluice, for the user agent. */
  readonly version: string;
}

/** A command of the operator. It resolves to its exit code, 0 for success. @throws ConfigError */
export type OperatorCommand = Command<OperatorTerminal>;

/** @throws ConfigError with every problem of the sections read by the gateway */
export function checkEdgeSettings(file: string, { environment }: OperatorTerminal): void {
  loadEdge(file, environment);
}

/** @throws ConfigError with every problem of the sections read by admin-svc */
export const checkSinks = (file: string, { environment }: OperatorTerminal): SinkSettings =>
  loadSinks(file, environment).settings;

/** @throws ConfigError with every problem of the file */
export const loadConfiguration = (file: string, { environment }: OperatorTerminal): LoadedConfig =>
  loadConfig(file, environment, readSeed(seedFile));

/** Problems of the providers excluded in this environment. @throws ConfigError for an unreadable file */
export const leftOutProblems = (file: string, { environment }: OperatorTerminal): readonly string[] =>
  problemsOfLeftOut(file, environment, readSeed(seedFile));

/** The date of the built-in prices. */
export const seedDate = (): string => readSeed(seedFile).date;
