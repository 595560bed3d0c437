/** promptfoo as it is installed: `promptfoo eval` sends three questions in each format, and one that needs a tool call. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { replyInText, scriptedModel } from "../../../support/programs/model.ts";
import { programs } from "../../../support/programs/programs.ts";
import { testInstalledProgram, testLimitMs } from "../../../support/programs/stage.ts";

const places = ["Oslo", "Rome", "Bern"];
const environment = {
  PROMPTFOO_DISABLE_TELEMETRY: "1",
  PROMPTFOO_DISABLE_UPDATE: "1",
  PROMPTFOO_DISABLE_REMOTE_GENERATION: "1",
};

interface Results {
  readonly results: { readonly stats: object };
}

const tool = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
  },
};

await testInstalledProgram(programs.promptfoo, (stage) => ({
  "an evaluation": () => {
    const evaluate = async (providers: readonly object[], tests: readonly object[]) => {
      const config = { prompts: ["Where is {{town}}?"], providers, tests };
      stage.write("project/promptfooconfig.yaml", JSON.stringify(config));
      const flags = ["--no-cache", "--no-progress-bar", "--no-table", "--output", "results.json"];
      const ended = await stage.run(["eval", ...flags], {
        ...environment,
        SLUICE_KEY: stage.installation.apiKey,
        ANTHROPIC_API_KEY: stage.installation.apiKey,
      });
      expect([ended.code, ended.stderr, ended.stdout]).toEqual([0, expect.any(String), expect.any(String)]);
      const { results } = JSON.parse(readFileSync(join(stage.project, "results.json"), "utf8")) as Results;
      return { ...ended, stats: results.stats };
    };
    test(
      "promptfoo sends three questions in each format",
      async () => {
        stage.upstream.script((request) =>
          replyInText(request, `I know ${places.find((town) => request.body.includes(town))}.`),
        );
        const { baseUrl } = stage.installation;
        const openai = { apiBaseUrl: baseUrl, apiKeyEnvar: "SLUICE_KEY" };
        const providers = [
          { id: "openai:chat:far/chat", config: openai },
          { id: "openai:responses:far/responses", config: openai },
          { id: "anthropic:messages:far/messages", config: { apiBaseUrl: baseUrl.replace(/\/v1$/, "") } },
        ];
        const tests = places.map((town) => ({
          vars: { town },
          assert: [{ type: "equals", value: `I know ${town}.` }],
        }));
        const { stats, requests } = await evaluate(providers, tests);
        expect(stats).toMatchObject({ successes: 9, failures: 0, errors: 0 });
        expect(requests).toHaveLength(9);
      },
      testLimitMs,
    );

    test(
      "promptfoo reads a tool call",
      async () => {
        stage.upstream.script(scriptedModel([{ name: "weather", input: { town: "Oslo" } }], "There is no more."));
        const config = { apiBaseUrl: stage.installation.baseUrl, apiKeyEnvar: "SLUICE_KEY", tools: [tool] };
        const { stats } = await evaluate(
          [{ id: "openai:chat:far/chat", config }],
          [{ vars: { town: "Oslo" }, assert: [{ type: "is-valid-openai-tools-call" }] }],
        );
        expect(stats).toMatchObject({ successes: 1, failures: 0, errors: 0 });
      },
      testLimitMs,
    );
  },
}));
