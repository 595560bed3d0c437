/** aider as it is installed: it edits a file in two turns, the second with the output of a command that failed, and commits. */
import { execFileSync } from "node:child_process";
import { expect, test } from "@jest/globals";
import { replyInText } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import { type ProgramStage, testInstalledProgram, testLimitMs } from "../../../support/programs/stage.ts";

const edit = (text: string): string => `I change the note.\n\nnote.txt\n\`\`\`\n${text}\n\`\`\`\n`;
const quiet = [
  "--yes-always",
  "--no-check-update",
  "--analytics-disable",
  "--no-show-model-warnings",
  "--no-gitignore",
];
const flags = [...quiet, "--edit-format", "whole", "--auto-test", "--test-cmd", "cat note.txt; grep -q three note.txt"];
const author = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };

/** The two formats in which aider calls Sluice: the name of the model in aider, and the variables of the format. */
const formats: readonly [model: string, variables: (stage: ProgramStage) => NodeJS.ProcessEnv][] = [
  [
    "openai/far/chat",
    ({ installation: { baseUrl, apiKey } }) => ({ OPENAI_API_BASE: baseUrl, OPENAI_API_KEY: apiKey }),
  ],
  [
    "anthropic/far/messages",
    ({ installation: { baseUrl, apiKey } }) => ({
      ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: apiKey,
    }),
  ],
];

await testInstalledProgram(programs.aider, (stage) => ({
  "a file that it edits until a command succeeds": () => {
    test.each(formats)(
      "aider completes a task through the door of %s",
      async (model, variables) => {
        const git = (...args: string[]) =>
          execFileSync("git", args, { cwd: stage.project, encoding: "utf8", env: { ...process.env, ...author } });
        stage.write("project/note.txt", "one\n");
        git("init", "--quiet");
        git("add", ".");
        git("commit", "--quiet", "--message", "first");
        const edits = [edit("two"), edit("three")];
        stage.upstream.script((request) =>
          replyInText(
            request,
            /commit message/i.test(request.body) ? "Change the note" : (edits.shift() ?? "There is no more."),
          ),
        );
        const { code, stdout, stderr, requests } = await stage.run(
          ["--model", model, ...flags, "--message", "Make it three.", "note.txt"],
          { ...author, ...variables(stage) },
        );
        expect([code, stderr, stdout]).toEqual([
          0,
          expect.any(String),
          expect.stringContaining("Applied edit to note.txt"),
        ]);
        expect(stage.read("note.txt")).toBe("three\n");
        const turns = requests.filter(({ body }) => !/commit message/i.test(body));
        expect(turns).toHaveLength(2);
        expect(turns[1]?.body).toContain("two");
        expect(git("log", "--format=%s")).toBe("Change the note\nChange the note\nfirst\n");
      },
      testLimitMs,
    );
  },
}));
