/** Runs the commands against another Sluice installation: their help is the same, but they send requests over HTTP. */
import { type Command, CommandError } from "@sluice/proto/lib/process/cli.js";
import type { AdminTerminal } from "../terminal.ts";
import { RemoteSluice, type RemoteOptions } from "./client.ts";
import { remoteCommands } from "./commands.ts";

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
      (await run(args, new RemoteSluice(options))).forEach(print);
    },
  };
}
