/** service:code_interpreter, code_interpreter: runs Python in a container of the sandbox, when no provider of the model runs it. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { described, object, string } from "@sluice/proto/lib/validation/shape.js";
import type { InputItem } from "../../turn/request.ts";
import type { ItemEvent } from "../../turn/progress-buffer.ts";
import {
  type OpenTool,
  type RestoredCall,
  type ServerTool,
  type ToolCall,
  type ToolResult,
  errorOutput,
  isForRestoredCalls,
  resultNotStored,
} from "../../agent-loop/tool.ts";
import type { CommandOutput } from "./sandbox-answer.ts";
import {
  type ContainerSettings,
  type SandboxTarget,
  type SandboxDeps,
  findSandbox,
  findSandboxOrReason,
} from "./container.ts";
import { describeOutputs, parseEarlierOutput } from "./run-output.ts";
import { describeProgram, maxProgramLength, runProgram } from "./run-call.ts";

const args = object(
  { code: described(string({ min: 1, max: maxProgramLength }), "The program. Only what it prints is seen.") },
  { required: ["code"], strict: true },
);

const description = describeProgram("Runs Python");

/** The tool under Sluice's own type, with its settings in `parameters`. */
export const codeInterpreter = (parts: SandboxDeps): ServerTool => ({
  kinds: ["service:code_interpreter"],
  hasEffect: true,
  open(settings) {
    const { environment: container, sleep_after_seconds: sleepAfterSeconds } = settings.parameters;
    const given = { container, sleepAfterSeconds, path: `${settings.path}.parameters.environment` };
    const place = isForRestoredCalls(settings) ? undefined : findSandbox(settings, given, parts);
    return {
      description,
      arguments: args,
      run: ({ code }, call) => runCode(String(code), place as SandboxTarget, call, ownFields),
      recall: recallOwn,
    };
  },
});

/** The tool under its type in the Responses format: the container is in the entry itself, and its calls become items of the Responses format. */
export const hostedCodeInterpreter = (parts: SandboxDeps): ServerTool => ({
  kinds: ["code_interpreter"],
  items: { type: "code_interpreter_call", idPrefix: "ci_", failedStatus: "failed" },
  hasEffect: true,
  open(settings) {
    const given: ContainerSettings = { container: settings.entry["container"], path: `${settings.path}.container` };
    const place = isForRestoredCalls(settings) ? undefined : findSandboxOrReason(settings, given, parts);
    const containerId = typeof place === "object" ? place.container.id : "";
    const hasOutputs = settings.request.include.includes("code_interpreter_call.outputs");
    const fields: DescribeRun = ({ stdout, stderr }) => ({ outputs: hasOutputs ? logsOf(stdout, stderr) : null });
    return {
      description,
      arguments: args,
      blank: { code: null, container_id: containerId, outputs: null },
      ending: ({ status }) => (status === "completed" ? [event("completed")] : []),
      async run({ code }, call) {
        for (const step of ["in_progress", "interpreting"]) call.sendProgress(event(step));
        if (typeof place === "string") return failedRun(String(code), "", place, fields);
        return runCode(String(code), place as SandboxTarget, call, fields);
      },
      recall: recallHosted,
    } satisfies OpenTool;
  },
});

const event = (step: string): ItemEvent => ({ name: `response.code_interpreter_call.${step}`, payload: {} });

/** Converts a run's output to fields of its item. */
type DescribeRun = (output: CommandOutput) => JsonObject;

async function runCode(code: string, place: SandboxTarget, call: ToolCall, describe: DescribeRun): Promise<ToolResult> {
  const { id } = place.container;
  const output = await runProgram(place, { language: "python", command: code }, call);
  if (typeof output === "string") return failedRun(code, id, output, describe);
  const item = { code, container_id: id, ...describe(output) };
  if (output.outcome.type === "exit") return { output: describeOutputs([output]), item };
  return { output: describeOutputs([output]), item: { ...item, error: "its time was over" }, failed: true };
}

function failedRun(code: string, containerId: string, error: string, describe: DescribeRun): ToolResult {
  const fields = describe({ stdout: "", stderr: "", outcome: { type: "timeout" } });
  return { output: errorOutput(error), item: { code, container_id: containerId, ...fields, error }, failed: true };
}

const ownFields: DescribeRun = ({ stdout, stderr, outcome }) => ({
  language: "python",
  stdout,
  stderr,
  ...(outcome.type === "exit" && { exitCode: outcome.exit_code }),
});

const logsOf = (...texts: readonly string[]): readonly JsonObject[] =>
  texts.filter((text) => text !== "").map((logs) => ({ type: "logs", logs }));

const codeOf = ({ code }: InputItem): JsonObject => ({ code: typeof code === "string" ? code : "" });

function recallOwn(item: InputItem): RestoredCall {
  const { error, stdout = "" } = item;
  if (typeof error === "string" && stdout === "") return { args: codeOf(item), output: errorOutput(error) };
  return { args: codeOf(item), output: describeOutputs([parseEarlierOutput(item)]) };
}

/** Restores a call. Items contain outputs only if the client requested them. */
function recallHosted(item: InputItem): RestoredCall {
  const { outputs, error } = item;
  if (typeof error === "string") return { args: codeOf(item), output: errorOutput(error) };
  if (!Array.isArray(outputs)) return { args: codeOf(item), output: resultNotStored };
  const logs = (outputs as readonly JsonObject[]).map(({ logs: text }) => (typeof text === "string" ? text : ""));
  const outcome = { type: "exit", exit_code: item["status"] === "failed" ? 1 : 0 } as const;
  return { args: codeOf(item), output: describeOutputs([{ stdout: logs.join("\n"), stderr: "", outcome }]) };
}
