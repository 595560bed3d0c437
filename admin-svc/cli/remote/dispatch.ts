/** Runs the commands against another Sluice installation: their help is the same, but they send requests over HTTP. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { type Command, CommandError } from "@sluice/proto/lib/process/cli.js";
import type { AdminTerminal } from "../terminal.ts";
import { RemoteSluice, type RemoteOptions } from "./client.ts";
import { remoteCommands } from "./commands.ts";
import type { Profiles } from "./profiles.ts";
import { findRemoteWorkspace } from "./references.ts";

/** Commands that need neither a database nor another installation. */
const offline: ReadonlySet<string> = new Set([
  "keys mint",
  "completion",
  "login",
  "logout",
  "profiles",
  "import litellm",
  "import portkey",
  "import openrouter",
]);

/** The chosen installation, and the way to undo the choice. */
export interface ChosenRemote extends RemoteOptions {
  /** Advice on how to use the database instead, such as "unset SLUICE_URL". */
  readonly remedy: string;
}

/** Settings from which a command line chooses its installation. */
export interface RemoteChoice {
  /** Value of the option `--profile`. */
  readonly named: string | undefined;
  /** The installation named by SLUICE_URL. */
  readonly remote: RemoteOptions | undefined;
  /** Value of the variable SLUICE_PROFILE. */
  readonly profile: string | undefined;
  readonly profiles: Profiles;
}

/**
 * The installation for a command: from `--profile`, else from SLUICE_URL, else from SLUICE_PROFILE; undefined for the
 * database.
 * @throws CommandError when there is no such profile
 */
export function chooseRemote({ named, remote, profile, profiles }: RemoteChoice): ChosenRemote | undefined {
  if (named !== undefined) return { ...profiles.get(named), remedy: "leave out --profile" };
  if (remote !== undefined) return { ...remote, remedy: "unset SLUICE_URL" };
  return profile === undefined ? undefined : { ...profiles.get(profile), remedy: "unset SLUICE_PROFILE" };
}

/**
 * Wraps a command so it runs on the database or at an installation, chosen at each run.
 * @param name noun and verb, or the name of a single-word command
 * @param choose returns undefined for the database
 */
export function placeCommand(
  name: string,
  command: Command<AdminTerminal>,
  choose: () => ChosenRemote | undefined,
): Command<AdminTerminal> {
  if (offline.has(name)) return command;
  const [noun = "", verb = ""] = name.split(" ");
  return {
    ...command,
    async run(args, terminal) {
      const options = choose();
      if (options === undefined) return command.run(args, terminal);
      const run = remoteCommands[noun]?.[verb];
      if (!run) throw new CommandError(`${name} works on the database alone: ${options.remedy}`);
      (await run(args, await connectRemote(options))).forEach(terminal.print);
    },
  };
}

/**
 * A client for the installation, in the workspace of `--workspace`. @throws CommandError when no workspace has this
 * name
 */
async function connectRemote(options: RemoteOptions): Promise<RemoteSluice> {
  const { workspace } = options;
  const sluice = new RemoteSluice(options);
  if (workspace === undefined) return sluice;
  // An id is used without a look-up, because lists lack deleted workspaces, whose records can still be read by id.
  return new RemoteSluice(options, uuidForm.test(workspace) ? workspace : await findRemoteWorkspace(sluice, workspace));
}
