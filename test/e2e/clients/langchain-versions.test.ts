/** LangChain in two majors: its model for OpenAI with defaults and with the Responses format, and its model for Anthropic. */
import { expect } from "@jest/globals";
import type * as anthropic from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type * as messages from "@langchain/core/messages";
import type * as tools from "@langchain/core/tools";
import type * as langchain from "@langchain/openai";
import type { z as Zod } from "zod";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";

type Version = Pick<typeof messages, "HumanMessage" | "ToolMessage"> &
  Pick<typeof tools, "tool"> &
  Pick<typeof langchain, "ChatOpenAI" | "OpenAIEmbeddings"> &
  Pick<typeof anthropic, "ChatAnthropic"> & { readonly z: typeof Zod };

const previous = "@sluice/test-clients/langchain.js";
const versions: Readonly<Record<string, Version>> = {
  "": {
    ...(await import("@langchain/core/messages")),
    ...(await import("@langchain/core/tools")),
    ...(await import("@langchain/openai")),
    ...(await import("@langchain/anthropic")),
    z: (await import("zod")).z,
  },
  "test-clients/": (await import(previous)) as Version,
};
const stage = clientStage();

type Model = BaseChatModel & Required<Pick<BaseChatModel, "bindTools">>;

const openAi =
  ({ ChatOpenAI }: Version, useResponsesApi: boolean) =>
  (model: string, maxRetries = 0): Model => {
    const configuration = { baseURL: stage.installation.baseUrl };
    return new ChatOpenAI({ model, apiKey: stage.installation.apiKey, configuration, maxRetries, useResponsesApi });
  };

const anthropicModel =
  ({ ChatAnthropic }: Version) =>
  (model: string, maxRetries = 0): Model => {
    const anthropicApiUrl = stage.installation.baseUrl.replace(/\/v1$/, "");
    return new ChatAnthropic({ model, apiKey: stage.installation.apiKey, anthropicApiUrl, maxRetries });
  };

const turnTests = (
  { HumanMessage, ToolMessage, tool, z }: Version,
  modelOf: (model: string, maxRetries?: number) => Model,
) => {
  return {
    text: async () => {
      const answer = await modelOf("sluice/echo").invoke("Name a moon.");
      expect(answer.text).toContain("Name a moon.");
      expect(answer.usage_metadata).toMatchObject({ output_tokens: expect.any(Number) });
    },
    stream: async () => {
      let text = "";
      for await (const chunk of await modelOf("sluice/echo").stream("Count to three.")) text += chunk.text;
      expect(text).toContain("Count to three.");
    },
    tools: async () => {
      const schema = z.object({ town: z.string() });
      const weather = tool(() => "clear sky", { name: "get_weather", description: "Weather", schema });
      const model = modelOf("sluice/echo").bindTools([weather]);
      const question = new HumanMessage("Weather in Oslo?");
      const first = await model.invoke([question]);
      const [call] = first.tool_calls ?? [];
      expect(call).toMatchObject({ name: "get_weather", args: { town: expect.any(String) } });
      const result = new ToolMessage({ content: "clear sky", tool_call_id: call?.id ?? "" });
      expect((await model.invoke([question, first, result])).text).toContain("clear sky");
    },
    "structured output": async () => {
      const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });
      const moon = await modelOf("sluice/echo").withStructuredOutput(Moon, { name: "moon" }).invoke("A moon?");
      expect(moon).toMatchObject({ planet: "Mars" });
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [{ type: "image_url" as const, image_url: { url: pixelUrl } }];
      const answer = await modelOf("far/model").invoke([new HumanMessage({ content })]);
      expect([answer.text, stage.picture()]).toEqual(["A dot.", pixelUrl]);
    },
    errors: async () => {
      await expect(modelOf("nobody/nothing").invoke("x")).rejects.toMatchObject({ status: 404 });
    },
    abort: async () => {
      const closed = stage.hang();
      const leaving = new AbortController();
      const reading = (async () => {
        const stream = await modelOf("far/model").stream("x", { signal: leaving.signal });
        for await (const chunk of stream) if (chunk.text === "One") leaving.abort();
      })();
      await expect(reading).rejects.toThrow(/abort/i);
      await closed;
    },
    retries: async () => {
      stage.beBusyOnce("Now.");
      expect((await modelOf("far/model", 2).invoke("x")).text).toBe("Now.");
    },
  };
};

for (const [folder, version] of Object.entries(versions)) {
  const installed = `${folder}@langchain/openai`;
  testCoverage(installed, "chat", turnTests(version, openAi(version, false)));
  testCoverage(installed, "responses", turnTests(version, openAi(version, true)));
  testCoverage(`${folder}@langchain/anthropic`, "messages", turnTests(version, anthropicModel(version)));
  const embeddings = (model: string) => {
    const configuration = { baseURL: stage.installation.baseUrl };
    return new version.OpenAIEmbeddings({ model, apiKey: stage.installation.apiKey, configuration, maxRetries: 0 });
  };
  testCoverage(installed, "embeddings", {
    embeddings: async () => {
      const vectors = stage.embed(2);
      expect(await embeddings("far/embed").embedDocuments(["a b", "c d"])).toEqual(vectors);
    },
    errors: async () => {
      await expect(embeddings("near/none").embedQuery("a b")).rejects.toThrow("not in the catalogue");
    },
  });
}
