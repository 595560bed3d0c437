/** OpenAI Agents in its two newest versions, through both supported formats. */
import { expect } from "@jest/globals";
import type * as Agents from "@openai/agents";
import { z } from "zod";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";

const load = async (name: string) => (await import(name)) as typeof Agents;
const stage = clientStage();

const turnTests = ({ Agent, OpenAIProvider, Runner, tool }: typeof Agents, useResponses: boolean) => {
  const runner = () => {
    const { baseUrl: baseURL, apiKey } = stage.installation;
    // Traces of this client go to a fixed address on the internet, so they are turned off.
    return new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey, useResponses }), tracingDisabled: true });
  };
  const agentOf = (model: string) => new Agent({ name: "Reporter", instructions: "Be brief.", model });
  return {
    text: async () => {
      expect((await runner().run(agentOf("sluice/echo"), "Name a moon.")).finalOutput).toContain("Name a moon.");
    },
    stream: async () => {
      const run = await runner().run(agentOf("sluice/echo"), "Count to three.", { stream: true });
      let text = "";
      for await (const event of run) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta")
          text += event.data.delta;
      }
      await run.completed;
      expect(text).toContain("Count to three.");
    },
    tools: async () => {
      const weather = tool({
        name: "get_weather",
        description: "Weather",
        parameters: z.object({ town: z.string() }),
        execute: () => "clear sky",
      });
      const agent = new Agent({ name: "Reporter", model: "sluice/echo", tools: [weather] });
      expect((await runner().run(agent, "Weather in Oslo?")).finalOutput).toContain("clear sky");
    },
    "structured output": async () => {
      const outputType = z.object({ name: z.string() });
      const agent = new Agent({ name: "Astronomer", model: "sluice/echo", outputType });
      expect((await runner().run(agent, "A moon?")).finalOutput).toEqual({ name: "example" });
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [{ type: "input_image" as const, image: pixelUrl }];
      await runner().run(agentOf("far/model"), [{ role: "user", content }]);
      expect(stage.picture()).toBe(pixelUrl);
    },
    errors: async () => {
      await expect(runner().run(agentOf("nobody/nothing"), "x")).rejects.toMatchObject({ status: 404 });
    },
    abort: async () => {
      const closed = stage.hang();
      const leaving = new AbortController();
      const run = await runner().run(agentOf("far/model"), "x", { stream: true, signal: leaving.signal });
      const reading = (async () => {
        for await (const event of run) {
          if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") leaving.abort();
        }
        await run.completed;
      })();
      await Promise.allSettled([reading]);
      await closed;
    },
    retries: async () => {
      stage.beBusyOnce("Now.");
      expect((await runner().run(agentOf("far/model"), "x")).finalOutput).toBe("Now.");
    },
  };
};

for (const name of ["@openai/agents", "openai-agents-0.19"]) {
  const agents = await load(name);
  testCoverage(name, "responses", turnTests(agents, true));
  testCoverage(name, "chat", turnTests(agents, false));
}
