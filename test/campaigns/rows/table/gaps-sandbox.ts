/** Rows of tools that run commands and code in the operator's sandbox. */
import { type Row, type RowCase, rowDialects } from "../row.ts";
import { repliesWithCall, expectOutput, requestWithServiceTool, requestWithTool } from "./asks.ts";

const functionsOnly = ["chat", "messages", "gemini", "converse"];

/** A row of a tool that runs in the sandbox, for every model that cannot run it itself. */
const sandboxed = (
  type: string,
  sendRequest: NonNullable<RowCase["ask"]>,
  [name, args]: readonly [name: string, args: object],
  { run, items, on = rowDialects }: { run: object; items: readonly object[]; on?: readonly string[] },
): Row => ({
  name: `2.5 tool ${type}`,
  cases: [
    {
      ask: sendRequest,
      on,
      says: repliesWithCall(name, args),
      to: { sandbox: run },
      sent: /Ran in the sandbox/,
      back: expectOutput(...items, { type: "message" }),
    },
    ...(on === rowDialects
      ? []
      : [{ ask: sendRequest, on: ["responses"], sent: { tools: [{ type: type.split(",", 1)[0] }] } }]),
    { ask: sendRequest, on: ["chat"], bare: true, refused: [400, /sandbox\.base_url/] as const },
  ],
});
const command = ["service_bash", { command: "ls" }] as const;
const commands = { commands: ["ls", "pwd"] };
const code = { code: "print(1)" };
const printed = { stdout: "Ran in the sandbox" };
const shellRun = { language: "shell", commands: ["ls"] };
const pythonRun = { language: "python", commands: ["print(1)"] };

export const sandboxGaps: readonly Row[] = [
  sandboxed("bash", requestWithTool("bash"), command, {
    run: shellRun,
    items: [{ type: "service:bash", command: "ls", ...printed, exitCode: 0 }],
  }),
  sandboxed(
    "shell, in a container",
    requestWithTool("shell", { environment: { type: "container_auto" } }),
    ["shell", commands],
    {
      run: { language: "shell", ...commands },
      items: [
        { type: "shell_call", action: commands },
        { type: "shell_call_output", output: [printed] },
      ],
      on: functionsOnly,
    },
  ),
  sandboxed(
    "code_interpreter",
    {
      ...requestWithTool("code_interpreter", { container: { type: "auto" } }),
      include: ["code_interpreter_call.outputs"],
    },
    ["code_interpreter", code],
    {
      run: pythonRun,
      items: [{ type: "code_interpreter_call", ...code, outputs: [{ logs: "Ran in the sandbox" }] }],
      on: functionsOnly,
    },
  ),
  sandboxed("service:bash", requestWithServiceTool("bash"), command, {
    run: shellRun,
    items: [{ type: "service:bash", command: "ls", ...printed, exitCode: 0 }],
  }),
  sandboxed("service:shell", requestWithServiceTool("shell"), ["service_shell", commands], {
    run: { language: "shell", ...commands },
    items: [{ type: "service:shell", action: commands, output: [printed] }],
  }),
  sandboxed(
    "service:code_interpreter",
    requestWithServiceTool("code_interpreter"),
    ["service_code_interpreter", code],
    {
      run: pythonRun,
      items: [{ type: "service:code_interpreter", ...code, ...printed, exitCode: 0 }],
    },
  ),
];
