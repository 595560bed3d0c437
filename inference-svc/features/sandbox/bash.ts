/** service:bash, bash: runs a command in a container of the sandbox. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { described, integer, nullable, object, string } from "@sluice/proto/lib/validation/shape.js";
import type { InputItem } from "../../turn/request.ts";
import {
  type RestoredCall,
  type ServerTool,
  type ToolResult,
  type ToolSettings,
  errorOutput,
  isForRestoredCalls,
} from "../../agent-loop/tool.ts";
import { type SandboxTarget, type SandboxDeps, findSandbox } from "./container.ts";
import { describeOutputs, parseEarlierOutput } from "./run-output.ts";
import { describeProgram, maxProgramLength, runProgram } from "./run-call.ts";

const args = object(
  {
    command: described(string({ min: 1, max: maxProgramLength }), "The command, or a script of several lines."),
    timeout_ms: described(nullable(integer({ min: 1 })), "Milliseconds after which it is ended; 50000 at most."),
  },
  { required: ["command"], strict: true },
);

/** The tool's settings: `bash` has them in the entry itself, `service:bash` in `parameters`. */
const settingsOf = ({ entry, parameters }: Pick<ToolSettings, "entry" | "parameters">): JsonObject =>
  entry["type"] === "bash" ? entry : parameters;

export const bashTool = (parts: SandboxDeps): ServerTool => ({
  kinds: ["service:bash", "bash"],
  hasEffect: true,
  takes(entry, isNative) {
    const parameters = isObject(entry["parameters"]) ? entry["parameters"] : {};
    const { engine = "auto" } = settingsOf({ entry, parameters });
    return engine === "service" || (engine !== "native" && !isNative());
  },
  open(settings) {
    const place = isForRestoredCalls(settings) ? undefined : placeOf(settings, parts);
    return {
      description: describeProgram("Runs a command with sh"),
      arguments: args,
      async run({ command, timeout_ms: timeoutMs }, call): Promise<ToolResult> {
        const fields = { command, container_id: place?.container.id };
        const wish = { language: "shell", command: String(command), timeoutMs } as const;
        const output = await runProgram(place as SandboxTarget, wish, call);
        if (typeof output === "string") return failed(fields, output);
        const { stdout, stderr, outcome } = output;
        const item = { ...fields, stdout, stderr };
        if (outcome.type === "exit")
          return { output: describeOutputs([output]), item: { ...item, exitCode: outcome.exit_code } };
        return { output: describeOutputs([output]), item: { ...item, error: "its time was over" }, failed: true };
      },
      recall,
    };
  },
});

function placeOf(settings: ToolSettings, parts: SandboxDeps): SandboxTarget {
  const within = settings.entry["type"] === "bash" ? settings.path : `${settings.path}.parameters`;
  const { environment: container } = settingsOf(settings);
  return findSandbox(settings, { container, path: `${within}.environment` }, parts);
}

const failed = (fields: JsonObject, error: string): ToolResult => ({
  output: errorOutput(error),
  item: { ...fields, error },
  failed: true,
});

function recall(item: InputItem): RestoredCall {
  const { command, error, stdout } = item;
  const fields = { command: typeof command === "string" ? command : "" };
  if (typeof error === "string" && typeof stdout !== "string") return { args: fields, output: errorOutput(error) };
  return { args: fields, output: describeOutputs([parseEarlierOutput(item)]) };
}
