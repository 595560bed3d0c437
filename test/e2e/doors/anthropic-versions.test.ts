/** Unmodified @anthropic-ai/sdk in its latest and its previous major, with only base URL and key changed. */
import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { expect } from "@jest/globals";
import Anthropic0 from "anthropic-sdk-0";
import { z } from "zod";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";
import { chatAnswer, chatChunk } from "../../support/providers/upstream.ts";

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });
const stage = clientStage();

const sendRequest = (content: Anthropic.MessageParam["content"], model = "sluice/echo") => ({
  model,
  max_tokens: 256,
  messages: [{ role: "user" as const, content }],
});

const turnTests = (make: (options: ClientOptions) => Anthropic) => {
  const clientOf = (options: ClientOptions = {}) =>
    make({
      baseURL: stage.installation.baseUrl.replace(/\/v1$/, ""),
      apiKey: stage.installation.apiKey,
      maxRetries: 0,
      ...options,
    });

  return {
    text: async () => {
      const asked = clientOf().messages.create(sendRequest("Name a moon."));
      const { data: message, request_id: requestId } = await asked.withResponse();
      expect(message).toMatchObject({
        type: "message",
        model: "sluice/echo",
        stop_reason: "end_turn",
        content: [{ type: "text", text: expect.stringContaining("Name a moon.") }],
      });
      expect(requestId).toMatch(/^req_/);
    },
    stream: async () => {
      const stream = clientOf().messages.stream(sendRequest("Count to three."));
      let text = "";
      stream.on("text", (delta) => (text += delta));
      const message = await stream.finalMessage();
      expect(message.content).toMatchObject([{ type: "text", text }]);
      expect(text).toContain("Count to three.");
      expect(message.usage.output_tokens).toBeGreaterThan(0);
    },
    tools: async () => {
      for (const stream of [false, true]) {
        const weather = betaZodTool({
          name: "get_weather",
          description: "Weather",
          inputSchema: z.object({ town: z.string() }),
          run: () => Promise.resolve("clear sky"),
        });
        const runner = clientOf().beta.messages.toolRunner({
          ...sendRequest("Weather in Oslo?"),
          tools: [weather],
          stream,
        });
        const message = await runner.runUntilDone();
        expect(message.content).toMatchObject([{ type: "text", text: expect.stringContaining("clear sky") }]);
      }
    },
    "structured output": async () => {
      const format = zodOutputFormat(Moon);
      const { parsed_output: moon } = await clientOf().messages.parse({
        ...sendRequest("A moon?"),
        output_config: { format },
      });
      expect(moon).toMatchObject({ planet: "Mars" });
    },
    images: async () => {
      stage.answer("A dot.");
      const data = pixelUrl.split(",")[1] as string;
      const content: Anthropic.ContentBlockParam[] = [
        { type: "image", source: { type: "base64", media_type: "image/png", data } },
        { type: "image", source: { type: "url", url: "https://a.example/a.png" } },
        { type: "text", text: "What is it?" },
      ];
      const message = await clientOf().messages.create(sendRequest(content, "far/model"));
      expect(message.content).toMatchObject([{ type: "text", text: "A dot." }]);
      expect(stage.upstream.requests.at(-1)?.json).toMatchObject({
        messages: [
          {
            content: [
              { image_url: { url: pixelUrl } },
              { image_url: { url: "https://a.example/a.png" } },
              { text: "What is it?" },
            ],
          },
        ],
      });
    },
    errors: async () => {
      await expect(clientOf({ apiKey: "sk-none" }).messages.create(sendRequest("x"))).rejects.toMatchObject({
        status: 401,
        requestID: expect.stringMatching(/^req_/),
      });
      await expect(clientOf().messages.create(sendRequest("x", "nobody/nothing"))).rejects.toMatchObject({
        status: 404,
        error: { error: { type: "not_found_error" } },
      });
      await expect(clientOf().messages.create({ ...sendRequest("x"), stop_sequences: [""] })).rejects.toMatchObject({
        status: 400,
        error: { error: { type: "invalid_request_error", message: expect.stringContaining("stop_sequences.0") } },
      });
      stage.upstream.script([{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], cut: true }]);
      await expect(clientOf().messages.stream(sendRequest("x", "far/model")).finalMessage()).rejects.toMatchObject({
        error: { error: { type: "api_error" } },
      });
    },
    abort: async () => {
      const left = stage.hang();
      const stream = clientOf().messages.stream(sendRequest("x", "far/model"));
      stream.on("text", () => stream.abort());
      await expect(stream.finalMessage()).rejects.toThrow(/abort/i);
      await left;
    },
    retries: async () => {
      const busy = { status: 429, headers: { "retry-after": "1" } };
      stage.upstream.script([busy, chatAnswer({ role: "assistant", content: "Now." })]);
      const message = await clientOf({ maxRetries: 1 }).messages.create(sendRequest("x", "far/model"));
      expect(message.content).toMatchObject([{ type: "text", text: "Now." }]);
      const from = stage.upstream.requests.length;
      stage.upstream.script([{ status: 400, chunks: [{ json: { error: { message: "no" } } }] }]);
      await expect(clientOf({ maxRetries: 3 }).messages.create(sendRequest("x", "far/model"))).rejects.toMatchObject({
        status: 400,
      });
      expect(stage.upstream.requests).toHaveLength(from + 1);
    },
  };
};

/** The clients have the same methods; their types differ with each major's version of the API. */
testCoverage(
  "@anthropic-ai/sdk",
  "messages",
  turnTests((options) => new Anthropic(options)),
);
testCoverage(
  "anthropic-sdk-0",
  "messages",
  turnTests((options) => new Anthropic0(options as object) as unknown as Anthropic),
);
