/** Chat completions through other unmodified clients: LangChain with its defaults, the AI SDK with two providers. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool as langTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import * as ai from "ai";
import { z } from "zod";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const town = z.object({ town: z.string() });
const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });

describe("clients of chat completions", () => {
  let installation: Installation;
  let torn: Upstream;

  beforeAll(async () => {
    torn = await startUpstream([]);
    installation = await startInstallation({
      config: `
providers:
  - {id: echo, dialect: echo}
  - {id: torn, dialect: chat, base_url: "${torn.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: echo}]}
  - {id: far/torn, endpoints: [{provider: torn}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await torn.stop();
  });

  /** Makes the provider break off once the word has been read. */
  function breakAfterWord(): () => void {
    let go = () => {};
    const after = new Promise<void>((resolve) => (go = resolve));
    const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
    torn.script([{ chunks: [word, { bytes: ": \n\n", after }], cut: true }]);
    return go;
  }

  describe("@langchain/openai", () => {
    const modelOf = (model: string) =>
      new ChatOpenAI({
        model,
        apiKey: installation.apiKey,
        configuration: { baseURL: installation.baseUrl },
        maxRetries: 0,
      });

    test("reads the text, the stream and the usage", async () => {
      const model = modelOf("sluice/echo");
      const answer = await model.invoke("Name a moon.");
      expect(answer.text).toContain("Name a moon.");
      expect(answer.usage_metadata).toMatchObject({ total_tokens: expect.any(Number) });
      let text = "";
      let tokens = 0;
      for await (const chunk of await model.stream("Count to three.")) {
        text += chunk.text;
        const usage = chunk.usage_metadata as { output_tokens: number } | undefined;
        tokens += usage?.output_tokens ?? 0;
      }
      expect(text).toContain("Count to three.");
      expect(tokens).toBeGreaterThan(0);
    });

    test("calls tools, reads structured output, and throws its own errors", async () => {
      const weather = langTool(() => "clear sky", { name: "get_weather", description: "Weather", schema: town });
      const model = modelOf("sluice/echo").bindTools([weather]);
      const question = new HumanMessage("Weather in Oslo?");
      const first = await model.invoke([question]);
      const [call] = first.tool_calls ?? [];
      expect(call).toMatchObject({ name: "get_weather", args: { town: expect.any(String) } });
      const result = new ToolMessage({ content: "clear sky", tool_call_id: call?.id ?? "" });
      expect((await model.invoke([question, first, result])).text).toContain("clear sky");
      const moon = await modelOf("sluice/echo").withStructuredOutput(Moon, { name: "moon" }).invoke("A moon?");
      expect(moon).toMatchObject({ planet: "Mars" });
      await expect(modelOf("nobody/nothing").invoke("x")).rejects.toMatchObject({ status: 404 });
    });

    test("throws for a failure in the middle of a stream", async () => {
      const go = breakAfterWord();
      const reading = (async () => {
        for await (const chunk of await modelOf("far/torn").stream("x")) if (chunk.text === "One") go();
      })();
      await expect(reading).rejects.toThrow();
    });
  });

  const tools = { get_weather: { description: "Weather", inputSchema: town, execute: async () => "clear sky" } };

  /** A stream broken off after its first word has one error. */
  async function expectOneError(model: ai.LanguageModel): Promise<void> {
    const go = breakAfterWord();
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const { fullStream } = ai.streamText({ model, prompt: "x", maxRetries: 0, onError });
    for await (const part of fullStream) if (part.type === "text-delta") go();
    expect(errors).toHaveLength(1);
  }

  describe("ai with @ai-sdk/openai-compatible", () => {
    const modelOf = (model: string) =>
      createOpenAICompatible({
        name: "sluice",
        baseURL: installation.baseUrl,
        apiKey: installation.apiKey,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(model);

    test("reads the text, the stream, tool calls and structured output", async () => {
      const model = modelOf("sluice/echo");
      expect((await ai.generateText({ model, prompt: "Name a moon." })).text).toContain("Name a moon.");
      const streamed = ai.streamText({ model, prompt: "Count to three." });
      expect(await streamed.text).toContain("Count to three.");
      expect((await streamed.usage).outputTokens).toBeGreaterThan(0);
      const looped = ai.streamText({ model, prompt: "Weather in Oslo?", tools, stopWhen: ai.stepCountIs(3) });
      expect(await looped.text).toContain("clear sky");
      const output = ai.Output.object({ schema: Moon });
      expect((await ai.generateText({ model, prompt: "A moon?", output })).output).toMatchObject({ planet: "Mars" });
    });

    test("throws for a failure in the middle of a stream", () => expectOneError(modelOf("far/torn")));
  });

  describe("ai with @openrouter/ai-sdk-provider", () => {
    const modelOf = (model: string, options = {}) =>
      createOpenRouter({ baseURL: installation.baseUrl, apiKey: installation.apiKey })(model, options);

    test("reads the text, the stream with usage, tool calls and reasoning", async () => {
      const model = modelOf("sluice/echo");
      expect((await ai.generateText({ model, prompt: "Name a moon." })).text).toContain("Name a moon.");
      const streamed = ai.streamText({ model, prompt: "Count to three." });
      expect(await streamed.text).toContain("Count to three.");
      expect((await streamed.usage).outputTokens).toBeGreaterThan(0);
      const looped = ai.streamText({ model, prompt: "Weather in Oslo?", tools, stopWhen: ai.stepCountIs(3) });
      expect(await looped.text).toContain("clear sky");
      const thinking = modelOf("sluice/echo", { reasoning: { effort: "low" } });
      const thought = ai.streamText({ model: thinking, prompt: "Is 91 prime?" });
      expect(await thought.reasoningText).toMatch(/./);
    });

    test("throws for a failure in the middle of a stream", () => expectOneError(modelOf("far/torn")));
  });
});
