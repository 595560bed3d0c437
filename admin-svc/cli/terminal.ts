/** The context of an admin-svc command: its database, and the workspace given by `--workspace`. */
import { type Command, CommandError, type Terminal, UsageError } from "@sluice/proto/lib/process/cli.js";
import { requestTime } from "@sluice/proto/contract/records/record-shapes.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Kysely } from "kysely";
import type { Author } from "../store/audit.ts";
import { type Database, defaultWorkspaceId } from "../store/database.ts";
import { findWorkspace, listWorkspaces } from "../store/workspaces.ts";
import { noRecord, workspaceNoun } from "./reference.ts";
import type { Profiles } from "./remote/profiles.ts";

/** The program that runs the commands, such as `npm run admin`. */
export interface Program {
  readonly name: string;
  /** Nouns of this program's commands that admin-svc lacks. */
  readonly further: readonly string[];
}

export interface AdminTerminal extends Terminal {
  /**
   * Opens the database, migrated to this build's schema. Opened on first use, because some commands need no database.
   */
  readonly database: () => Promise<Kysely<Database>>;
  /**
   * The author for the audit log, in the workspace given by `--workspace`, or in the default workspace. @throws
   * CommandError when no workspace has that name
   */
  readonly author: () => Promise<Author>;
  readonly program: Program;
  /** Management key chosen by the operator for the first start. */
  readonly managementKey: string | undefined;
  /** Folder with the spools of the processes of this machine. */
  readonly spoolDirectory: string | undefined;
  /** Installations kept by `login`. */
  readonly profiles: Profiles;
  /** Value of the option `--profile`. */
  readonly profile: string | undefined;
  /** Reads the key for `login` from standard input or the environment. @throws CommandError without a key */
  readonly readManagementKey: () => Promise<string>;
}

/** The commands of one noun, by verb. */
export type Commands = Readonly<Record<string, Command<AdminTerminal>>>;

export const textOption = { type: "string" } as const;
export const flagOption = { type: "boolean" } as const;
export const jsonOption = { json: flagOption } as const;

/** Options that every command has, with their meaning. */
const commonOptions = { "--workspace": "the name or id of a workspace", "--profile": "the name of a profile" } as const;

/**
 * Removes a common option, such as `--workspace`, from a command line. @throws UsageError for an option without a value
 */
export function takeOption(
  option: keyof typeof commonOptions,
  argv: readonly string[],
): { value: string | undefined; rest: readonly string[] } {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const at = argv.findIndex((word, index) => index < end && (word === option || word.startsWith(`${option}=`)));
  if (at < 0) return { value: undefined, rest: argv };
  const isOptionWithValue = argv[at] !== option;
  const value = isOptionWithValue ? argv[at]?.slice(option.length + 1) : argv.slice(0, end)[at + 1];
  // A word that starts with a hyphen is the next option; a value with a hyphen needs the form `--workspace=-name`.
  if (value === undefined || value === "" || (!isOptionWithValue && value.startsWith("-")))
    throw new UsageError(`${option}: ${commonOptions[option]}`);
  return { value, rest: argv.toSpliced(at, isOptionWithValue ? 1 : 2) };
}

/**
 * Finds the workspace, even a deleted one, because its records can still be read. @throws CommandError when there is no
 * such workspace
 */
export async function findAuthor(database: Kysely<Database>, workspace: string | undefined): Promise<Author> {
  if (workspace === undefined) return { ...commandLine, workspaceId: defaultWorkspaceId, ofAccount: true };
  const row = await findWorkspace(database, workspace, { deleted: true });
  if (!row) throw await noWorkspace(database, workspace);
  return { ...commandLine, workspaceId: row.id, ofAccount: row.id === defaultWorkspaceId };
}

/** The error for an argument matching no workspace. */
export async function noWorkspace(database: Kysely<Database>, text: string): Promise<CommandError> {
  const names = (await listWorkspaces(database)).map(({ name }) => name);
  return noRecord(text, workspaceNoun, names);
}

export const commandLine: Omit<Author, "workspaceId"> = { keyHash: null, program: "cli", requestId: null };

/** Runs a check of admin-svc's rules; refused input becomes a command-line error. @throws UsageError */
export async function throwAsUsageError<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Fault && error.reason === FaultReason.INVALID_REQUEST) throw new UsageError(error.message);
    throw error;
  }
}

/** Parses the time given by an option; a day means its beginning in UTC. @throws UsageError for another form */
export function parseTimeOption(name: string, given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : given;
  checkedTime(name, at);
  return at;
}

function checkedTime(name: string, at: string): void {
  const problems = new Problems();
  requestTime.check(at, name, problems);
  if (!problems.empty) throw new UsageError(`${name}: a day or a time with its zone, for example 2026-11-21T12:00:00Z`);
}

/** Formats a time to the second; a dash for none. */
export const formatTime = (date: Date | null): string =>
  date === null ? "-" : date.toISOString().replace(/\.\d+Z$/, "Z");
