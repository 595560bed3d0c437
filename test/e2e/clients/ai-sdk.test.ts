/** The AI SDK, through both of its providers for the Responses format. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  type LanguageModel,
  Output,
  type ToolSet,
  generateObject,
  generateText,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { z } from "zod";
import { readSample, sampleStream } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatChunk, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]), radius_km: z.number() });

const weather = tool({
  description: "Current weather of a town",
  inputSchema: z.object({ town: z.string() }),
  execute: ({ town }) => ({ town, sky: "clear" }),
});

// The SDK's warnings, for example about dropped reasoning, are disabled, since they are not tested.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** Nothing is stored here, so items are sent whole and not by reference. */
const providerOptions = {
  openai: { store: false, reasoningEffort: "low", reasoningSummary: "auto", forceReasoning: true },
  sluice: { reasoningEffort: "low", reasoningSummary: "auto" },
};

const providers = [
  {
    name: "@ai-sdk/openai",
    provider: (installation: Installation, model: string): LanguageModel =>
      createOpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey }).responses(model),
    keepsThoughts: true,
  },
  {
    name: "@ai-sdk/open-responses",
    provider: (installation: Installation, model: string): LanguageModel =>
      createOpenResponses({ name: "sluice", url: `${installation.baseUrl}/responses`, apiKey: installation.apiKey })(
        model,
      ),
    // The requests of this package have no field for reasoning.
    keepsThoughts: false,
  },
];

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: far, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: native, dialect: responses, base_url: "${upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: far/model, endpoints: [{provider: far}]}
  - {id: native/thinker, endpoints: [{provider: native}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

describe.each(providers)("the AI SDK with $name", ({ provider, keepsThoughts }) => {
  let model: LanguageModel;
  beforeAll(() => {
    model = provider(installation, "sluice/echo");
  });

  test("reads the text, the usage and the end reason by generateText", async () => {
    const { text, finishReason, usage, warnings } = await generateText({
      model,
      system: "Be brief.",
      prompt: "Name a moon.",
    });
    expect(text).toContain("Name a moon.");
    expect(finishReason).toBe("stop");
    expect(usage.totalTokens).toBe((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(warnings).toEqual([]);
  });

  test("reads the deltas of a text and the parts of a stream in order by streamText", async () => {
    const result = streamText({ model, prompt: "Count to three." });
    const types: string[] = [];
    let text = "";
    for await (const part of result.fullStream) {
      if (types.at(-1) !== part.type) types.push(part.type);
      if (part.type === "text-delta") text += part.text;
    }
    expect(types).toEqual(["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]);
    expect(text).toContain("Count to three.");
    expect(await result.text).toBe(text);
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
  });

  test("runs a tool loop to its end, whole and streamed", async () => {
    const request = {
      model,
      prompt: "Weather in Oslo?",
      tools: { weather },
      stopWhen: stepCountIs(5),
      providerOptions,
    };
    const whole = await generateText(request);
    const streamed = streamText(request);
    await streamed.consumeStream();
    for (const [steps, text] of [
      [whole.steps, whole.text],
      [await streamed.steps, await streamed.text],
    ] as const) {
      expect(steps.map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
      expect(steps[0]?.toolResults).toMatchObject([{ toolName: "weather", output: { sky: "clear" } }]);
      expect(text).toContain('"sky":"clear"');
    }
  });

  test("may require a tool or forbid tools by a tool choice", async () => {
    const tools = { weather };
    const required = await generateText({ model, prompt: "Hi", tools, toolChoice: "required" });
    expect(required.toolCalls).toHaveLength(1);
    const named = await generateText({ model, prompt: "Hi", tools, toolChoice: { type: "tool", toolName: "weather" } });
    expect(named.toolCalls).toHaveLength(1);
    const none = await generateText({ model, prompt: "Hi", tools, toolChoice: "none" });
    expect(none.toolCalls).toHaveLength(0);
  });

  test("gets objects by a schema from generateObject, generateText and streamText", async () => {
    const { object } = await generateObject({ model, prompt: "A moon?", schema: Moon });
    expect(object.planet).toBe("Mars");
    const request = { model, prompt: "A moon?", output: Output.object({ schema: Moon }) };
    expect((await generateText(request)).output).toEqual(object);
    const streamed = streamText(request);
    const partial = [];
    for await (const piece of streamed.partialOutputStream) partial.push(piece);
    expect(partial.at(-1)).toEqual(object);
    expect(await streamed.output).toEqual(object);
  });

  test("reads reasoning, whole and streamed", async () => {
    const request = { model, prompt: "Is 91 prime?", providerOptions };
    const whole = await generateText(request);
    expect(whole.reasoningText).toMatch(/think/i);
    expect(whole.usage.outputTokenDetails.reasoningTokens).toBeGreaterThan(0);
    const streamed = streamText(request);
    await streamed.consumeStream();
    // In a stream the providers give the summary and the reasoning, in a whole answer only the reasoning.
    expect(await streamed.reasoningText).toContain(whole.reasoningText);
    expect(await streamed.text).toBe(whole.text);
  });

  test("sends reasoning and calls back in the next request", async () => {
    const tools = { weather };
    const question = { role: "user" as const, content: "Weather in Oslo?" };
    const first = await generateText({ model, messages: [question], tools, providerOptions });
    const messages = [question, ...first.response.messages, { role: "user" as const, content: "And tomorrow?" }];
    const second = await generateText({ model, messages, tools, providerOptions });
    expect(second.text).toContain("And tomorrow?");
  });

  test(`keeps sealed reasoning ${keepsThoughts ? "and sends it back to the provider unchanged" : "to itself"}`, async () => {
    const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" };
    const call = { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"town":"Oslo"}' };
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Fine." }] };
    upstream.script([responsesAnswer(thought, { ...call, id: "fc_1" }), responsesAnswer({ ...message, id: "msg_1" })]);
    const { text } = await generateText({
      model: provider(installation, "native/thinker"),
      prompt: "Weather in Oslo?",
      tools: { weather },
      stopWhen: stepCountIs(2),
      providerOptions,
    });
    expect(text).toBe("Fine.");
    const input = upstream.requests.at(-1)?.json["input"] as unknown[];
    const output = { type: "function_call_output", call_id: "call_1", output: expect.stringContaining("clear") };
    expect(input.slice(1)).toEqual([...(keepsThoughts ? [thought] : []), call, output]);
  });

  test("reads the end reason length of a truncated answer", async () => {
    const { finishReason } = await generateText({ model, prompt: "Count.", maxOutputTokens: 3 });
    expect(finishReason).toBe("length");
  });

  test.each([
    [400, false],
    [429, true],
    [500, true],
  ])("throws an APICallError for a provider's %i, marked as retryable or not", async (status, isRetryable) => {
    upstream.script([{ status }]);
    const failing = { model: provider(installation, "far/model"), prompt: "Hello", maxRetries: 0 };
    const expected = { statusCode: status === 500 ? 502 : status, isRetryable, message: expect.stringMatching(/\w/) };
    const failure = await generateText(failing).catch((error: unknown) => error);
    expect(APICallError.isInstance(failure)).toBe(true);
    expect(failure).toMatchObject(expected);
    const errors: unknown[] = [];
    const streamed = streamText({ ...failing, onError: ({ error }) => void errors.push(error) });
    await streamed.consumeStream();
    expect(errors).toMatchObject([expected]);
  });

  test("tries again after a failure until the provider answers", async () => {
    upstream.script([{ status: 500 }, { chunks: [{ sse: [chatChunk({ content: "Now." }, "stop"), "[DONE]"] }] }]);
    const streamed = streamText({ model: provider(installation, "far/model"), prompt: "Hello", maxRetries: 1 });
    expect(await streamed.text).toBe("Now.");
  });

  test("ends the provider's call by an abort", async () => {
    upstream.script([{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true }]);
    const closed = upstream.nextClose();
    const abort = new AbortController();
    const streamed = streamText({
      model: provider(installation, "far/model"),
      prompt: "Hello",
      abortSignal: abort.signal,
    });
    const types = [];
    for await (const part of streamed.fullStream) {
      types.push(part.type);
      if (part.type === "text-delta") abort.abort();
    }
    expect(types.at(-1)).toBe("abort");
    await closed;
  });
});

test("@ai-sdk/openai shows the sources of a provider's search, whole and streamed", async () => {
  const name = "09-web-search-stream.sse";
  const response = sampleStream(name).events.at(-1)?.["response"];
  upstream.script([{ chunks: [{ json: response }] }, { chunks: [{ bytes: readSample(name) }] }]);
  const openai = createOpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey });
  // The SDK's own two types for a tool contradict each other under exactOptionalPropertyTypes.
  const tools = { web_search: openai.tools.webSearch({ searchContextSize: "low" }) } as unknown as ToolSet;
  const request = { model: openai.responses("native/thinker"), prompt: "Latest Node LTS?", tools };
  const whole = await generateText(request);
  expect(whole.sources).toMatchObject([{ sourceType: "url", url: expect.stringMatching(/^https:/) }]);
  expect(whole.toolCalls).toMatchObject([{ toolName: "web_search", providerExecuted: true }]);
  const streamed = streamText(request);
  await streamed.consumeStream();
  expect(await streamed.text).toBe(whole.text);
  expect(await streamed.sources).toMatchObject(
    whole.sources.map((source) => ({ url: source.sourceType === "url" && source.url })),
  );
});
