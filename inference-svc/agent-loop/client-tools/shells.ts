/** shell and local_shell: commands run by the client. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { array, described, integer, map, nullable, object, string } from "@sluice/proto/lib/validation/shape.js";
import type { ClientTool } from "./client-tool.ts";

const timeoutMs = described(nullable(integer({ min: 0 })), "Milliseconds after which the commands are ended.");

const commands = object(
  {
    commands: described(array(string(), { min: 1, entry: "command" }), "Commands, which run one after another."),
    timeout_ms: timeoutMs,
    max_output_length: described(
      nullable(integer({ min: 0 })),
      "Characters of the output of each command that are needed.",
    ),
  },
  { required: ["commands"] },
);

const runsInContainer = ({ environment }: JsonObject): boolean =>
  isObject(environment) && environment["type"] !== "local";

export const shell: ClientTool = {
  kinds: ["shell"],
  name: "shell",
  callType: "shell_call",
  outputType: "shell_call_output",
  idPrefix: "sh_",
  open: (settings) =>
    runsInContainer(settings)
      ? undefined
      : {
          description:
            "Runs commands in a shell on the user's computer. The output has stdout, stderr and the exit code or the timeout of each command.",
          arguments: commands,
          toFields: ({ commands, timeout_ms = null, max_output_length = null }) => ({
            action: { commands, timeout_ms, max_output_length },
            environment: { type: "local" },
          }),
        },
};

const command = object(
  {
    command: described(array(string(), { min: 1 }), 'The program and its arguments, such as ["ls", "-l"].'),
    env: described(nullable(map(string())), "Environment variables to set."),
    timeout_ms: timeoutMs,
    user: described(nullable(string()), "User to run the command as."),
    working_directory: described(nullable(string()), "Folder to run the command in."),
  },
  { required: ["command"] },
);

export const localShell: ClientTool = {
  kinds: ["local_shell"],
  name: "local_shell",
  callType: "local_shell_call",
  outputType: "local_shell_call_output",
  idPrefix: "lsh_",
  open: () => ({
    description: "Runs a command on the user's computer and gives its output.",
    arguments: command,
    toFields: ({ command, env, timeout_ms = null, user = null, working_directory = null }) => ({
      action: { type: "exec", command, env: env ?? {}, timeout_ms, user, working_directory },
    }),
  }),
};
