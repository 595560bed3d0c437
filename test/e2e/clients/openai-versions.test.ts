/** The openai client in three majors, through both supported formats. */
import { expect } from "@jest/globals";
import type OpenAI from "openai";
import type * as helpers from "openai/helpers/zod";
import type { z } from "zod";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";

interface Version {
  readonly OpenAI: typeof OpenAI;
  readonly helpers: Pick<typeof helpers, "zodResponseFormat" | "zodTextFormat">;
  readonly z: typeof z;
}

const previous = "@sluice/test-clients/openai.js";
const older = (await import(previous)) as typeof helpers & Pick<Version, "OpenAI" | "z">;
const { z: schemas } = await import("zod");
const newest: unknown = [await import("openai-7"), await import("openai-7/helpers/zod")];
const [{ OpenAI: OpenAI7 }, helpers7] = newest as [{ OpenAI: typeof OpenAI }, typeof helpers];

const versions: Readonly<Record<string, Version>> = {
  "openai-7": { OpenAI: OpenAI7, helpers: helpers7, z: schemas },
  openai: {
    OpenAI: (await import("openai")).OpenAI,
    helpers: await import("openai/helpers/zod"),
    z: schemas,
  },
  "test-clients/openai": { OpenAI: older.OpenAI, helpers: older, z: older.z },
};

const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const stage = clientStage();

for (const [installed, { OpenAI: Client, helpers: zod, z }] of Object.entries(versions)) {
  const client = (maxRetries = 0) =>
    new Client({ baseURL: stage.installation.baseUrl, apiKey: stage.installation.apiKey, maxRetries });
  const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });

  testCoverage(installed, "chat", {
    text: async () => {
      const messages = [{ role: "user" as const, content: "Name a moon." }];
      const { choices, usage } = await client().chat.completions.create({ model: "sluice/echo", messages });
      expect(choices[0]?.message.content).toContain("Name a moon.");
      expect(usage?.completion_tokens).toBeGreaterThan(0);
    },
    stream: async () => {
      const messages = [{ role: "user" as const, content: "Count to three." }];
      const request = { model: "sluice/echo", messages, stream_options: { include_usage: true } };
      const whole = await client().chat.completions.stream(request).finalChatCompletion();
      expect(whole.choices[0]?.message.content).toContain("Count to three.");
      expect(whole.usage?.completion_tokens).toBeGreaterThan(0);
    },
    tools: async () => {
      const runner = client().chat.completions.runTools({
        model: "sluice/echo",
        messages: [{ role: "user", content: "Weather in Oslo?" }],
        stream: true,
        tools: [
          {
            type: "function",
            function: { name: "w", description: "Weather", parameters, parse: JSON.parse, function: () => "clear sky" },
          },
        ],
      });
      expect(await runner.finalContent()).toContain("clear sky");
    },
    "structured output": async () => {
      const { choices } = await client().chat.completions.parse({
        model: "sluice/echo",
        messages: [{ role: "user", content: "A moon?" }],
        response_format: zod.zodResponseFormat(Moon, "moon"),
      });
      expect(choices[0]?.message.parsed).toMatchObject({ planet: "Mars" });
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [
        { type: "text" as const, text: "What?" },
        { type: "image_url" as const, image_url: { url: pixelUrl } },
      ];
      const messages = [{ role: "user" as const, content }];
      const { choices } = await client().chat.completions.create({ model: "far/model", messages });
      expect([choices[0]?.message.content, stage.picture()]).toEqual(["A dot.", pixelUrl]);
    },
    errors: async () => {
      const messages = [{ role: "user" as const, content: "x" }];
      const hot = client().chat.completions.create({ model: "sluice/echo", messages, temperature: 3 });
      await expect(hot).rejects.toBeInstanceOf(Client.BadRequestError);
      await expect(hot).rejects.toThrow("temperature");
    },
    abort: async () => {
      const closed = stage.hang();
      const messages = [{ role: "user" as const, content: "x" }];
      const stream = await client().chat.completions.create({ model: "far/model", messages, stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stream.controller.abort();
      await closed;
    },
    retries: async () => {
      stage.beBusyOnce("Now.");
      const messages = [{ role: "user" as const, content: "x" }];
      const { choices } = await client(2).chat.completions.create({ model: "far/model", messages });
      expect(choices[0]?.message.content).toBe("Now.");
    },
  });

  testCoverage(installed, "responses", {
    text: async () => {
      const response = await client().responses.create({ model: "sluice/echo", input: "Name a moon." });
      expect(response.output_text).toContain("Name a moon.");
    },
    stream: async () => {
      const stream = client().responses.stream({ model: "sluice/echo", input: "Count to three." });
      const { output, usage } = await stream.finalResponse();
      expect(JSON.stringify(output)).toContain("Count to three.");
      expect(usage?.output_tokens).toBeGreaterThan(0);
    },
    tools: async () => {
      const tools = [{ type: "function" as const, name: "w", description: "Weather", parameters, strict: false }];
      const question = { role: "user" as const, content: "Weather in Oslo?" };
      const first = await client().responses.create({ model: "sluice/echo", input: [question], tools });
      const [call] = first.output;
      if (call?.type !== "function_call") throw new Error(JSON.stringify(first.output));
      const output = { type: "function_call_output" as const, call_id: call.call_id, output: "clear sky" };
      const second = await client().responses.create({ model: "sluice/echo", input: [question, call, output], tools });
      expect(second.output_text).toContain("clear sky");
    },
    "structured output": async () => {
      const response = await client().responses.parse({
        model: "sluice/echo",
        input: "A moon?",
        text: { format: zod.zodTextFormat(Moon, "moon") },
      });
      expect(response.output_parsed).toMatchObject({ planet: "Mars" });
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [{ type: "input_image" as const, image_url: pixelUrl, detail: "auto" as const }];
      const input = [{ role: "user" as const, content }];
      const { output_text: text } = await client().responses.create({ model: "far/model", input });
      expect([text, stage.picture()]).toEqual(["A dot.", pixelUrl]);
    },
    errors: async () => {
      const unknown = client().responses.create({ model: "nobody/nothing", input: "x" });
      await expect(unknown).rejects.toBeInstanceOf(Client.NotFoundError);
    },
    abort: async () => {
      const closed = stage.hang();
      const stream = await client().responses.create({ model: "far/model", input: "x", stream: true });
      for await (const event of stream) if (event.type === "response.output_text.delta") stream.controller.abort();
      await closed;
    },
    retries: async () => {
      stage.beBusyOnce("Now.");
      expect((await client(2).responses.create({ model: "far/model", input: "x" })).output_text).toBe("Now.");
    },
  });

  testCoverage(installed, "embeddings", {
    embeddings: async () => {
      const vectors = stage.embed(2);
      const { data } = await client().embeddings.create({ model: "far/embed", input: ["a b", "c d"] });
      expect(data.map(({ embedding }) => embedding)).toEqual(vectors);
    },
    errors: async () => {
      const unknown = client().embeddings.create({ model: "near/none", input: "x" });
      await expect(unknown).rejects.toBeInstanceOf(Client.NotFoundError);
    },
  });
}
