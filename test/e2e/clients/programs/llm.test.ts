/** `llm` as it is installed: a prompt with three functions of Python, each of which the model calls once. */
import { expect, test } from "@jest/globals";
import type { ToolStep } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import {
  type ProgramStage,
  expectResults,
  testInstalledProgram,
  testLimitMs,
} from "../../../support/programs/stage.ts";

const done = "All three steps are done.";
const functions = `
import subprocess

def write_note(text: str) -> str:
    "Writes the note."
    with open("note.txt", "w") as file:
        return f"{file.write(text)} characters"

def read_note() -> str:
    "Reads the note."
    with open("note.txt") as file:
        return "the note is " + file.read()

def run_command(command: str) -> str:
    "Runs a command of the shell."
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout
`;
const steps: readonly ToolStep[] = [
  { name: "write_note", input: { text: "from-the-file" } },
  { name: "read_note", input: {} },
  { name: "run_command", input: { command: "echo from-$((40 + 2))-shells" } },
];

const modelFile = (stage: ProgramStage) => `- model_id: sluice-chat
  model_name: far/chat
  api_base: "${stage.installation.baseUrl}"
  api_key_name: sluice
  supports_tools: true
  supports_schema: true
`;

await testInstalledProgram(programs.llm, (stage) => ({
  "a task with three tool calls": () => {
    test.each([["streamed"], ["whole"]])(
      "the program llm completes a task with three tool calls, with its answers %s",
      async (manner) => {
        stage.write("home/.config/io.datasette.llm/extra-openai-models.yaml", modelFile(stage));
        const key = await stage.run(["keys", "set", "sluice", "--value", stage.installation.apiKey], {});
        expect([key.code, key.stderr]).toEqual([0, ""]);
        stage.script(steps, done);
        const flags = manner === "whole" ? ["--no-stream"] : [];
        const tools = ["--functions", functions];
        const { code, stdout, stderr, requests } = await stage.run(
          ["-m", "sluice-chat", ...flags, ...tools, "Write a note, read it, say a word in the shell."],
          {},
        );
        expect([code, stderr, stdout]).toEqual([0, "", expect.stringContaining(done)]);
        expect(stage.read("note.txt")).toBe("from-the-file");
        expectResults(requests, ["13 characters", "the note is from-the-file", "from-42-shells"]);
      },
      testLimitMs,
    );
  },
}));
