/** The shape of a command, and what it is given. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Kysely } from "kysely";
import type { Author } from "../store/audit.ts";
import type { Database } from "../store/database.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What was asked for cannot be done: exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

export interface Terminal {
  /** The database, migrated; opened on first use, because some commands need none. */
  readonly database: () => Promise<Kysely<Database>>;
  /** Writes to the workspace that `--workspace` names, or the default one. @throws CommandError when there is none of that name */
  readonly author: () => Promise<Author>;
  /** The one that the operator chose for the first start. */
  readonly managementKey: string | undefined;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

export interface Command {
  /** What follows the verb. */
  readonly usage: string;
  /** One sentence. */
  readonly summary: string;
  /** Further lines of help. */
  readonly details?: readonly string[];
  readonly run: (args: string[], terminal: Terminal) => Promise<void>;
}

/** One noun: its commands by verb. */
export type Commands = Readonly<Record<string, Command>>;

/** The arguments by their names. @throws UsageError when there are fewer or more */
export function exactly<Name extends string>(given: readonly string[], ...names: Name[]): Record<Name, string> {
  const extra = given[names.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`);
  const missing = names[given.length];
  if (missing !== undefined) throw new UsageError(`missing argument: ${missing}`);
  return Object.fromEntries(names.map((name, index) => [name, given[index]])) as Record<Name, string>;
}

/** A required option. @throws UsageError */
export function required(option: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`missing option: ${option}`);
  return value;
}

/** Runs a check of admin-svc's rules; what it refuses is a wrong command line. @throws UsageError */
export async function asUsage<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Fault && error.reason === FaultReason.INVALID_REQUEST) throw new UsageError(error.message);
    throw error;
  }
}
