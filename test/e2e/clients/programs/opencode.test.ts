/** opencode as it is installed: `opencode run` completes a task with three tool calls, by the AI SDK packages of the three formats. */
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { ModelDialect, ToolStep } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import {
  type ProgramStage,
  contextLength,
  expectResults,
  maxOutputTokens,
  testInstalledProgram,
  testLimitMs,
} from "../../../support/programs/stage.ts";

const done = "All three steps are done.";
const formats: readonly [npm: string, dialect: ModelDialect][] = [
  ["@ai-sdk/openai-compatible", "chat"],
  ["@ai-sdk/anthropic", "messages"],
  ["@ai-sdk/openai", "responses"],
];

function configure(stage: ProgramStage, npm: string, model: string): void {
  const provider = {
    npm,
    options: { baseURL: stage.installation.baseUrl, apiKey: "{env:SLUICE_KEY}" },
    models: { [model]: { limit: { context: contextLength, output: maxOutputTokens } } },
  };
  const config = { provider: { sluice: provider }, autoupdate: false, share: "disabled" };
  stage.write("home/.config/opencode/opencode.json", JSON.stringify(config));
}

await testInstalledProgram(programs.opencode, (stage) => ({
  "a task with three tool calls": () => {
    test.each(formats)(
      "OpenCode completes a task with three tool calls by %s, with a provider of dialect %s",
      async (npm, dialect) => {
        const path = join(stage.project, "note.txt");
        const steps: readonly ToolStep[] = [
          { name: "write", input: { filePath: path, content: "from-the-file" } },
          { name: "read", input: { filePath: path } },
          { name: "bash", input: { command: "echo from-$((40 + 2))-shells", description: "Says a word" } },
        ];
        configure(stage, npm, `far/${dialect}`);
        stage.script(steps, done);
        const task = "Write a note, read it, say a word in the shell.";
        const { code, stdout, stderr, requests } = await stage.run(["run", "-m", `sluice/far/${dialect}`, task], {
          SLUICE_KEY: stage.installation.apiKey,
          OPENCODE_DISABLE_AUTOUPDATE: "1",
          OPENCODE_DISABLE_MODELS_FETCH: "1",
        });
        expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.stringContaining(done)]);
        expect(stage.read("note.txt")).toBe("from-the-file");
        // The request without tools is for the title of the session.
        const ofTask = requests.filter(({ json }) => json["tools"] !== undefined);
        expectResults(ofTask, ["Wrote file successfully", "1: from-the-file", "from-42-shells"]);
      },
      testLimitMs,
    );
  },
}));
