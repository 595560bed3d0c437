/** The messages door through other unmodified clients: LangChain with its defaults, and the AI SDK in two majors with their providers. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool as langTool } from "@langchain/core/tools";
import * as ai6 from "ai";
import * as ai7 from "ai7";
import { createAnthropic as createAnthropic4 } from "ai-sdk-anthropic-4";
import { z } from "zod";
import { type House, startHouse } from "../../support/house.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../support/providers/upstream.ts";

const town = z.object({ town: z.string() });
const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const imageUrl = "https://a.example/a.png";
const url = (path: string) => ({ type: "image_url", image_url: { url: path } });

// The SDK prints a warning for each model that it does not know.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

let house: House;
let far: Upstream;

beforeAll(async () => {
  far = await startUpstream();
  house = await startHouse({
    config: `
providers:
  - {id: echo, dialect: echo}
  - {id: far, dialect: chat, base_url: "${far.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: echo}]}
  - {id: far/chat, input_modalities: [text, image], endpoints: [{provider: far}]}
`,
  });
});
afterAll(async () => {
  await house?.stop();
  await far?.stop();
});

/** The parts of the last message that the provider was sent. */
function lastParts(): unknown {
  const body = far.requests.at(-1)?.json as { messages: { content: unknown }[] } | undefined;
  return body?.messages.at(-1)?.content;
}

/** Makes the provider break off once the word has been read. */
function breakAfterWord(): () => void {
  let go = () => {};
  const after = new Promise<void>((resolve) => (go = resolve));
  const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
  far.script([{ chunks: [word, { bytes: ": \n\n", after }], cut: true }]);
  return go;
}

const endless: Reply = { chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true };
const busyOnce = [{ status: 429, headers: { "retry-after": "1" } }, chatAnswer({ role: "assistant", content: "Now." })];

describe("@langchain/anthropic", () => {
  const modelOf = (model: string, more: object = {}) =>
    new ChatAnthropic({
      model,
      apiKey: house.apiKey,
      anthropicApiUrl: house.baseUrl.replace(/\/v1$/, ""),
      maxRetries: 0,
      ...more,
    });

  test("text, stream and usage", async () => {
    const model = modelOf("sluice/echo");
    const answer = await model.invoke("Name a moon.");
    expect(answer.text).toContain("Name a moon.");
    expect(answer.usage_metadata).toMatchObject({ total_tokens: expect.any(Number) });
    let text = "";
    let tokens = 0;
    for await (const chunk of await model.stream("Count to three.")) {
      text += chunk.text;
      tokens += (chunk.usage_metadata as { output_tokens: number } | undefined)?.output_tokens ?? 0;
    }
    expect(text).toContain("Count to three.");
    expect(tokens).toBeGreaterThan(0);
  });

  test("tools and structured output", async () => {
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
  });

  test("images by data URL and by URL", async () => {
    far.script([chatAnswer({ role: "assistant", content: "A dot." })]);
    const content = [
      url(`data:image/png;base64,${png}`),
      url(imageUrl),
      { type: "text" as const, text: "What is it?" },
    ];
    expect((await modelOf("far/chat").invoke([new HumanMessage({ content })])).text).toBe("A dot.");
    expect(lastParts()).toEqual([
      url(`data:image/png;base64,${png}`),
      url(imageUrl),
      { type: "text", text: "What is it?" },
    ]);
  });

  test("errors, abort and retries", async () => {
    await expect(modelOf("nobody/nothing").invoke("x")).rejects.toMatchObject({ status: 404 });
    await expect(modelOf("sluice/echo", { apiKey: "sk-none" }).invoke("x")).rejects.toMatchObject({ status: 401 });
    const go = breakAfterWord();
    const reading = (async () => {
      for await (const chunk of await modelOf("far/chat").stream("x")) if (chunk.text === "One") go();
    })();
    await expect(reading).rejects.toThrow();
    far.script([endless]);
    const abort = new AbortController();
    const left = far.nextClose();
    const stopped = (async () => {
      for await (const chunk of await modelOf("far/chat").stream("x", { signal: abort.signal })) {
        if (chunk.text === "One") abort.abort();
      }
    })();
    await expect(stopped).rejects.toThrow();
    await left;
    far.script(busyOnce);
    expect((await modelOf("far/chat", { maxRetries: 2 }).invoke("x")).text).toBe("Now.");
  });
});

/** Both majors have these functions with the same names; their types differ from each other. */
type AiSdk = typeof ai6;

const sdks: readonly (readonly [name: string, ai: AiSdk, modelOf: (model: string) => ai6.LanguageModel])[] = [
  ["ai 6", ai6, (model) => createAnthropic({ baseURL: house.baseUrl, apiKey: house.apiKey })(model)],
  [
    "ai 7",
    ai7 as unknown as AiSdk,
    (model) =>
      createAnthropic4({ baseURL: house.baseUrl, apiKey: house.apiKey })(model) as unknown as ai6.LanguageModel,
  ],
];

describe.each(sdks)("%s with @ai-sdk/anthropic", (_, ai, modelOf) => {
  const tools = {
    get_weather: ai.tool({ description: "Weather", inputSchema: town, execute: () => Promise.resolve("clear sky") }),
  };

  test("text, stream and usage", async () => {
    const model = modelOf("sluice/echo");
    expect((await ai.generateText({ model, prompt: "Name a moon." })).text).toContain("Name a moon.");
    const streamed = ai.streamText({ model, prompt: "Count to three." });
    expect(await streamed.text).toContain("Count to three.");
    expect((await streamed.usage).outputTokens).toBeGreaterThan(0);
  });

  test("tools and structured output", async () => {
    const model = modelOf("sluice/echo");
    const looped = ai.streamText({ model, prompt: "Weather in Oslo?", tools, stopWhen: ai.stepCountIs(3) });
    expect(await looped.text).toContain("clear sky");
    const output = ai.Output.object({ schema: Moon });
    expect((await ai.generateText({ model, prompt: "A moon?", output })).output).toMatchObject({ planet: "Mars" });
  });

  test("images by bytes and by URL", async () => {
    far.script([chatAnswer({ role: "assistant", content: "A dot." })]);
    const content = [
      { type: "image" as const, image: Buffer.from(png, "base64") },
      { type: "image" as const, image: new URL(imageUrl) },
      { type: "text" as const, text: "What is it?" },
    ];
    const answer = await ai.generateText({ model: modelOf("far/chat"), messages: [{ role: "user", content }] });
    expect(answer.text).toBe("A dot.");
    expect(lastParts()).toEqual([
      url(`data:image/png;base64,${png}`),
      url(imageUrl),
      { type: "text", text: "What is it?" },
    ]);
  });

  test("errors, abort and retries", async () => {
    const model = modelOf("far/chat");
    const unknown = ai.generateText({ model: modelOf("nobody/nothing"), prompt: "x", maxRetries: 0 });
    await expect(unknown).rejects.toMatchObject({ statusCode: 404, isRetryable: false });
    const go = breakAfterWord();
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const torn = ai.streamText({ model, prompt: "x", maxRetries: 0, onError });
    for await (const part of torn.fullStream) if (part.type === "text-delta") go();
    expect(errors).toHaveLength(1);
    far.script([endless]);
    const abort = new AbortController();
    const left = far.nextClose();
    const stopped = ai.streamText({ model, prompt: "x", abortSignal: abort.signal });
    for await (const part of stopped.fullStream) if (part.type === "text-delta") abort.abort();
    await left;
    far.script(busyOnce);
    expect((await ai.generateText({ model, prompt: "x", maxRetries: 1 })).text).toBe("Now.");
    far.script([chatStream("One", "two")]);
  });
});
