/** Two majors of the AI SDK with each provider package for a supported format. */
import { expect } from "@jest/globals";
import type { createAnthropic } from "@ai-sdk/anthropic";
import type { createOpenResponses } from "@ai-sdk/open-responses";
import type { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { createOpenAI } from "@ai-sdk/openai";
import type { createOpenRouter } from "@openrouter/ai-sdk-provider";
import type * as Sdk from "ai";
import { z } from "zod";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

interface Providers {
  readonly createAnthropic: typeof createAnthropic;
  readonly createOpenResponses: typeof createOpenResponses;
  readonly createOpenAI: typeof createOpenAI;
  readonly createOpenAICompatible: typeof createOpenAICompatible;
  readonly createOpenRouter: typeof createOpenRouter;
}

/** The interface used here is the same in all versions; the types of two majors are incompatible. */
const load = async <Module>(name: string): Promise<Module> => (await import(name)) as Module;

const routed = await load<Pick<Providers, "createOpenRouter"> & { ai: typeof Sdk }>(
  "@sluice/test-clients/openrouter.js",
);

const majors = [
  {
    name: "ai7",
    openai: "ai-sdk-openai-4",
    compatible: "ai-sdk-openai-compatible-3",
    anthropic: "ai-sdk-anthropic-4",
  },
  {
    name: "ai",
    openai: "@ai-sdk/openai",
    compatible: "@ai-sdk/openai-compatible",
    anthropic: "@ai-sdk/anthropic",
  },
];
const stage = clientStage();
const settings = () => ({ baseURL: stage.installation.baseUrl, apiKey: stage.installation.apiKey });

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });

/** The tests of a model by its name. */
const turnTests = (ai: typeof Sdk, modelOf: (model: string) => Sdk.LanguageModel) => ({
  text: async () => {
    const { text, usage } = await ai.generateText({ model: modelOf("sluice/echo"), prompt: "Name a moon." });
    expect(text).toContain("Name a moon.");
    expect(usage.outputTokens).toBeGreaterThan(0);
  },
  stream: async () => {
    const streamed = ai.streamText({ model: modelOf("sluice/echo"), prompt: "Count to three." });
    expect(await streamed.text).toContain("Count to three.");
    expect((await streamed.usage).outputTokens).toBeGreaterThan(0);
  },
  tools: async () => {
    const weather = ai.tool({
      description: "Weather",
      inputSchema: z.object({ town: z.string() }),
      execute: () => "clear sky",
    });
    const request = {
      model: modelOf("sluice/echo"),
      prompt: "Weather in Oslo?",
      tools: { weather },
      stopWhen: ai.stepCountIs(3),
      providerOptions: { openai: { store: false } },
    };
    expect((await ai.generateText(request)).text).toContain("clear sky");
    expect(await ai.streamText(request).text).toContain("clear sky");
  },
  "structured output": async () => {
    const output = ai.Output.object({ schema: Moon });
    const answer = await ai.generateText({ model: modelOf("sluice/echo"), prompt: "A moon?", output });
    expect(answer.output).toMatchObject({ planet: "Mars" });
  },
  images: async () => {
    stage.answer("A dot.");
    const messages: Sdk.ModelMessage[] = [{ role: "user", content: [{ type: "image", image: pixelUrl }] }];
    expect((await ai.generateText({ model: modelOf("far/model"), messages })).text).toBe("A dot.");
    expect(stage.picture()).toBe(pixelUrl);
  },
  errors: async () => {
    const failure = await ai
      .generateText({ model: modelOf("nobody/nothing"), prompt: "x", maxRetries: 0 })
      .catch((error: unknown) => error);
    expect(ai.APICallError.isInstance(failure)).toBe(true);
    expect(failure).toMatchObject({ statusCode: 404, isRetryable: false });
    // A provider package without numeric error codes keeps our message only in the body.
    const { message, responseBody } = failure as Sdk.APICallError;
    expect(`${message} ${responseBody}`).toContain("nobody");
  },
  abort: async () => {
    const closed = stage.hang();
    const leaving = new AbortController();
    const { fullStream } = ai.streamText({
      model: modelOf("far/model"),
      prompt: "x",
      abortSignal: leaving.signal,
    });
    for await (const part of fullStream) if (part.type === "text-delta") leaving.abort();
    await closed;
  },
  retries: async () => {
    stage.beBusyOnce("Now.");
    expect((await ai.generateText({ model: modelOf("far/model"), prompt: "x", maxRetries: 1 })).text).toBe("Now.");
  },
});

const embeddingTests = (ai: typeof Sdk, modelOf: (model: string) => Sdk.EmbeddingModel) => ({
  embeddings: async () => {
    const vectors = stage.embed(2);
    const { embeddings, usage } = await ai.embedMany({ model: modelOf("far/embed"), values: ["a b", "c d"] });
    expect([embeddings, usage.tokens]).toEqual([vectors, 4]);
  },
  errors: async () => {
    const unknown = ai.embed({ model: modelOf("near/none"), value: "a b", maxRetries: 0 });
    await expect(unknown).rejects.toThrow("not in the catalogue");
  },
});

for (const { name, openai, compatible, anthropic } of majors) {
  const ai = await load<typeof Sdk>(name);
  const { createOpenAI: create } = await load<Providers>(openai);
  const { createOpenAICompatible: createCompatible } = await load<Providers>(compatible);
  const installed = `${name},${openai}`;
  testCoverage(
    installed,
    "responses",
    turnTests(ai, (model) => create(settings()).responses(model)),
  );
  testCoverage(
    installed,
    "chat",
    turnTests(ai, (model) => create(settings()).chat(model)),
  );
  testCoverage(
    installed,
    "embeddings",
    embeddingTests(ai, (model) => create(settings()).embedding(model)),
  );
  const { createAnthropic: createClaude } = await load<Providers>(anthropic);
  testCoverage(
    `${name},${anthropic}`,
    "messages",
    turnTests(ai, (model) => createClaude(settings())(model)),
  );
  const other = `${name},${compatible}`;
  const more = { name: "sluice", includeUsage: true, supportsStructuredOutputs: true };
  testCoverage(
    other,
    "chat",
    turnTests(ai, (model) => createCompatible({ ...settings(), ...more })(model)),
  );
  testCoverage(
    other,
    "embeddings",
    embeddingTests(ai, (model) => createCompatible({ ...settings(), ...more }).embeddingModel(model)),
  );
}

const routers = {
  "test-clients/": routed,
  "": { ai: await load<typeof Sdk>("ai"), ...(await load<Providers>("@openrouter/ai-sdk-provider")) },
};
for (const [folder, { ai, createOpenRouter: create }] of Object.entries(routers)) {
  testCoverage(
    `${folder}ai,${folder}@openrouter/ai-sdk-provider`,
    "chat",
    turnTests(ai, (model) => create(settings())(model)),
  );
}

const { createOpenResponses: createOpen } = await load<Providers>("@ai-sdk/open-responses");
const installedAi = await load<typeof Sdk>("ai");
testCoverage(
  "ai,@ai-sdk/open-responses",
  "responses",
  turnTests(installedAi, (model) => {
    const url = `${stage.installation.baseUrl}/responses`;
    return createOpen({ name: "sluice", url, apiKey: stage.installation.apiKey })(model);
  }),
);
