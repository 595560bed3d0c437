/** What the operator's commands are given, and how they end. */
import { fileURLToPath } from "node:url";
import { type LeftOut, type LoadedHouse, loadHouse, problemsOfLeftOut } from "@sluice/proto/runtime/house-file.js";
import { readSeed } from "@sluice/proto/runtime/house/seed.js";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What was asked for cannot be done: exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  /** House file where none is named. */
  readonly config: string;
  /** Of the house, for the user agent. */
  readonly version: string;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

export interface Command {
  /** What follows the name of the command. */
  readonly usage: string;
  /** One sentence. */
  readonly summary: string;
  /** Exit code: 0 all is well, 1 it is not. @throws UsageError, CommandError, ConfigError */
  readonly run: (args: string[], terminal: Terminal) => number | Promise<number>;
}

/** In inference-svc, from the dist/operator in which this file is. */
const seedFile = fileURLToPath(new URL("../../catalog/seed.json", import.meta.url));

/** As the service loads it. @throws ConfigError with every problem */
export const load = (file: string, { environment }: Terminal): LoadedHouse =>
  loadHouse(file, environment, readSeed(seedFile));

/** Problems of what the service leaves out in this environment. @throws ConfigError when the file cannot be read */
export const leftOutProblems = (file: string, { environment }: Terminal): readonly string[] =>
  problemsOfLeftOut(file, environment, readSeed(seedFile));

/** The day on which the prices held that are known without being stated. */
export const seedDate = (): string => readSeed(seedFile).date;

/** Why a provider is left out. */
export const leftOutWords = ({
  unset,
  problem,
}: Pick<LeftOut, "unset"> & { readonly problem?: string | undefined }): string =>
  problem ?? (unset.length === 1 ? `${unset[0]} is not set` : `none of ${unset.join(", ")} is set`);

/** Lines of aligned columns under their titles. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
