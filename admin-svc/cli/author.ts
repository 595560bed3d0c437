/** For whom a command works: the workspace that `--workspace` names, wherever it stands. */
import type { Kysely } from "kysely";
import type { Author } from "../store/audit.ts";
import { type Database, defaultWorkspaceId } from "../store/database.ts";
import { findWorkspace } from "../store/workspaces.ts";
import { CommandError, UsageError } from "./command.ts";

const option = "--workspace";

/** Takes the option out of a command line. @throws UsageError */
export function takeWorkspace(argv: readonly string[]): { workspace: string | undefined; rest: readonly string[] } {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const at = argv.findIndex((word, index) => index < end && (word === option || word.startsWith(`${option}=`)));
  if (at < 0) return { workspace: undefined, rest: argv };
  const joined = argv[at] !== option;
  const workspace = joined ? argv[at]?.slice(option.length + 1) : argv.slice(0, end)[at + 1];
  if (workspace === undefined || workspace === "") throw new UsageError(`${option}: the name or id of a workspace`);
  return { workspace, rest: argv.toSpliced(at, joined ? 1 : 2) };
}

/** @throws CommandError when there is no such workspace */
export async function authorIn(database: Kysely<Database>, workspace: string | undefined): Promise<Author> {
  if (workspace === undefined) return { ...commandLine, workspaceId: defaultWorkspaceId, ofAccount: true };
  const row = await findWorkspace(database, workspace);
  if (!row) throw new CommandError("no such workspace");
  return { ...commandLine, workspaceId: row.id, ofAccount: row.id === defaultWorkspaceId };
}

export const commandLine: Omit<Author, "workspaceId"> = { keyHash: null, program: "cli", requestId: null };
