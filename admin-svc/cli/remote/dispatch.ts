/** Runs the commands against another Sluice installation: their help is the same, but they send requests over HTTP. */
import { type Command, CommandError } from "@sluice/proto/lib/process/cli.js";
import type { AdminTerminal } from "../terminal.ts";
import { RemoteSluice, type RemoteOptions } from "./client.ts";
import { remoteCommands } from "./commands.ts";
import { findRemoteWorkspace } from "./references.ts";

/** Commands without a database or another Sluice installation. */
const offline: ReadonlySet<string> = new Set([
  "keys mint",
  "completion",
  "import litellm",
  "import portkey",
  "import openrouter",
]);

/** @param name noun and verb, or the name of a single command */
export function toRemoteCommand(
  name: string,
  command: Command<AdminTerminal>,
  options: RemoteOptions,
): Command<AdminTerminal> {
  if (offline.has(name)) return command;
  const [noun = "", verb = ""] = name.split(" ");
  const run = remoteCommands[noun]?.[verb];
  return {
    ...command,
    async run(args, { print }) {
      if (!run) throw new CommandError(`${name} works on the database alone: unset SLUICE_URL`);
      (await run(args, await connectRemote(options))).forEach(print);
    },
  };
}

const idForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The installation, in the workspace of `--workspace`. @throws CommandError when there is none with this name */
async function connectRemote(options: RemoteOptions): Promise<RemoteSluice> {
  const { workspace } = options;
  const sluice = new RemoteSluice(options);
  if (workspace === undefined) return sluice;
  // Lists lack a deleted workspace, whose records can be read by its id.
  return new RemoteSluice(options, idForm.test(workspace) ? workspace : await findRemoteWorkspace(sluice, workspace));
}
