/** service:shell, and shell with a container: runs commands one after the other in a container of the sandbox. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { array, described, integer, nullable, object, string } from "@sluice/proto/lib/validation/shape.js";
import type { InputItem } from "../../turn/request.ts";
import {
  type OpenTool,
  type ServerTool,
  type ToolCall,
  errorOutput,
  isForRestoredCalls,
} from "../../agent-loop/tool.ts";
import type { CommandOutput } from "./sandbox-answer.ts";
import { type ContainerSettings, type SandboxTarget, type SandboxDeps, findSandbox } from "./container.ts";
import { describeOutputs, parseEarlierOutputs } from "./run-output.ts";
import { describeProgram, maxProgramLength, runCall } from "./run-call.ts";

/** Maximum commands per call: each may print up to the call's output limit. */
const maxCommands = 20;

const args = object(
  {
    commands: described(
      array(string({ min: 1, max: maxProgramLength }), { min: 1, max: maxCommands, entry: "command" }),
      "Commands, which run one after another.",
    ),
    timeout_ms: described(
      nullable(integer({ min: 0 })),
      "Milliseconds for all commands, after which they are ended; 50000 at most.",
    ),
    max_output_length: described(nullable(integer({ min: 0 })), "Characters of each output that are needed."),
  },
  { required: ["commands"], strict: true },
);

const description = describeProgram("Runs commands with sh");

const isContainer = (environment: unknown): boolean => isObject(environment) && environment["type"] !== "local";

/** The tool under Sluice's own type, with its settings in `parameters`. */
export const shellTool = (parts: SandboxDeps): ServerTool => ({
  kinds: ["service:shell"],
  hasEffect: true,
  takes: ({ parameters }, isNative) => (isObject(parameters) && parameters["engine"] === "service") || !isNative(),
  open(settings) {
    const { environment: container, sleep_after_seconds: sleepAfterSeconds } = settings.parameters;
    const given = { container, sleepAfterSeconds, path: `${settings.path}.parameters.environment` };
    const place = isForRestoredCalls(settings) ? undefined : findSandbox(settings, given, parts);
    return {
      description,
      arguments: args,
      async run(callArguments, call) {
        const { error, outputs } = await runCommands(callArguments, place as SandboxTarget, call);
        const item = { action: actionOf(callArguments), output: outputs, container_id: place?.container.id };
        if (error === undefined) return { output: describeOutputs(outputs), item };
        return { output: errorOutput(error), item: { ...item, error }, failed: true };
      },
      recall: (item) => ({ args: argsOf(item), output: outputOf(item) }),
    };
  },
});

/**
 * The tool under its type in the Responses format. Without a container, the client runs it; with one, the provider runs
 * it if it can. A call has two items of the Responses format.
 */
export const hostedShell = (parts: SandboxDeps): ServerTool => ({
  kinds: ["shell"],
  items: {
    type: "shell_call",
    idPrefix: "sh_",
    failedStatus: "incomplete",
    output: { type: "shell_call_output", idPrefix: "sho_" },
  },
  hasEffect: true,
  takes: ({ environment }, isNative) => isContainer(environment) && !isNative(),
  open(settings) {
    const { environment } = settings.entry;
    if (!isContainer(environment)) return undefined;
    const given: ContainerSettings = { container: environment, path: `${settings.path}.environment` };
    const place = findSandbox(settings, given, parts);
    return {
      description,
      arguments: args,
      blank: { action: { commands: [] }, environment },
      async run(callArguments, call) {
        const { error, outputs } = await runCommands(callArguments, place, call);
        const item = { action: actionOf(callArguments), environment };
        const limit = callArguments["max_output_length"] ?? null;
        const ran = { output: outputs, max_output_length: limit, container_id: place.container.id };
        if (error === undefined) return { output: describeOutputs(outputs), item, outputItem: ran };
        return { output: errorOutput(error), item, outputItem: { ...ran, error }, failed: true };
      },
      recall: (item) => (item.type === "shell_call" ? { args: argsOf(item) } : { output: outputOf(item) }),
    } satisfies OpenTool;
  },
});

interface ShellOutputs {
  readonly outputs: readonly CommandOutput[];
  /** Why the call has no outputs. */
  readonly error?: string;
}

async function runCommands(callArguments: JsonObject, place: SandboxTarget, call: ToolCall): Promise<ShellOutputs> {
  const { commands, timeout_ms: timeoutMs, max_output_length: maxLength } = callArguments;
  const wish = { language: "shell", commands: commands as readonly string[], timeoutMs, maxLength } as const;
  const outputs = await runCall(place, wish, call);
  return typeof outputs === "string" ? { outputs: [], error: outputs } : { outputs };
}

const actionOf = ({ commands, timeout_ms = null, max_output_length = null }: JsonObject): JsonObject => ({
  commands,
  timeout_ms,
  max_output_length,
});

const argsOf = ({ action }: InputItem): JsonObject => {
  const { commands }: JsonObject = isObject(action) ? action : {};
  return { commands: Array.isArray(commands) ? commands : [] };
};

const outputOf = ({ output, error }: InputItem): string =>
  typeof error === "string" ? errorOutput(error) : describeOutputs(parseEarlierOutputs(output));
