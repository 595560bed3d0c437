/** Unmodified @anthropic-ai/sdk in its present and its previous major, with nothing but base URL and key changed. */
import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import Anthropic0 from "anthropic-sdk-0";
import { z } from "zod";
import { type House, startHouse } from "../../support/house.ts";
import { type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]) });
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

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

/** The clients have the same methods; their types differ in what each major knows of the API. */
const majors: readonly (readonly [name: string, make: (options: ClientOptions) => Anthropic])[] = [
  ["1.x", (options) => new Anthropic(options)],
  ["0.x", (options) => new Anthropic0(options as object) as unknown as Anthropic],
];

describe.each(majors)("@anthropic-ai/sdk %s", (_, make) => {
  const clientOf = (options: ClientOptions = {}) =>
    make({ baseURL: house.baseUrl.replace(/\/v1$/, ""), apiKey: house.apiKey, maxRetries: 0, ...options });
  const ask = (content: Anthropic.MessageParam["content"], model = "sluice/echo") => ({
    model,
    max_tokens: 256,
    messages: [{ role: "user" as const, content }],
  });

  test("text", async () => {
    const asked = clientOf().messages.create(ask("Name a moon."));
    const { data: message, request_id: requestId } = await asked.withResponse();
    expect(message).toMatchObject({
      type: "message",
      model: "sluice/echo",
      stop_reason: "end_turn",
      content: [{ type: "text", text: expect.stringContaining("Name a moon.") }],
    });
    expect(requestId).toMatch(/^req_/);
  });

  test("a stream", async () => {
    const stream = clientOf().messages.stream(ask("Count to three."));
    let text = "";
    stream.on("text", (delta) => (text += delta));
    const message = await stream.finalMessage();
    expect(message.content).toMatchObject([{ type: "text", text }]);
    expect(text).toContain("Count to three.");
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  test.each([false, true])("a tool runner (stream: %s)", async (stream) => {
    const weather = betaZodTool({
      name: "get_weather",
      description: "Weather",
      inputSchema: z.object({ town: z.string() }),
      run: () => Promise.resolve("clear sky"),
    });
    const runner = clientOf().beta.messages.toolRunner({ ...ask("Weather in Oslo?"), tools: [weather], stream });
    const message = await runner.runUntilDone();
    expect(message.content).toMatchObject([{ type: "text", text: expect.stringContaining("clear sky") }]);
  });

  test("structured output", async () => {
    const format = zodOutputFormat(Moon);
    const { parsed_output: moon } = await clientOf().messages.parse({ ...ask("A moon?"), output_config: { format } });
    expect(moon).toMatchObject({ planet: "Mars" });
  });

  test("images in base64 and by URL", async () => {
    far.script([chatAnswer({ role: "assistant", content: "A dot." })]);
    const content: Anthropic.ContentBlockParam[] = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
      { type: "image", source: { type: "url", url: "https://a.example/a.png" } },
      { type: "text", text: "What is it?" },
    ];
    const message = await clientOf().messages.create(ask(content, "far/chat"));
    expect(message.content).toMatchObject([{ type: "text", text: "A dot." }]);
    expect(far.requests.at(-1)?.json).toMatchObject({
      messages: [
        {
          content: [
            { image_url: { url: `data:image/png;base64,${png}` } },
            { image_url: { url: "https://a.example/a.png" } },
            { text: "What is it?" },
          ],
        },
      ],
    });
  });

  test("errors: key, model, field, a stream that breaks off", async () => {
    await expect(clientOf({ apiKey: "sk-none" }).messages.create(ask("x"))).rejects.toMatchObject({
      status: 401,
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(clientOf().messages.create(ask("x", "nobody/nothing"))).rejects.toMatchObject({
      status: 404,
      error: { error: { type: "not_found_error" } },
    });
    await expect(clientOf().messages.create({ ...ask("x"), stop_sequences: [""] })).rejects.toMatchObject({
      status: 400,
      error: { error: { type: "invalid_request_error", message: expect.stringContaining("stop_sequences.0") } },
    });
    far.script([{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], cut: true }]);
    await expect(clientOf().messages.stream(ask("x", "far/chat")).finalMessage()).rejects.toMatchObject({
      error: { error: { type: "api_error" } },
    });
  });

  test("an abort reaches the provider", async () => {
    far.script([{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true }]);
    const left = far.nextClose();
    const stream = clientOf().messages.stream(ask("x", "far/chat"));
    stream.on("text", () => stream.abort());
    await expect(stream.finalMessage()).rejects.toThrow(/abort/i);
    await left;
  });

  test("a provider that is busy is asked again, a wrong request is not", async () => {
    const busy = { status: 429, headers: { "retry-after": "1" } };
    far.script([busy, chatAnswer({ role: "assistant", content: "Now." })]);
    const message = await clientOf({ maxRetries: 1 }).messages.create(ask("x", "far/chat"));
    expect(message.content).toMatchObject([{ type: "text", text: "Now." }]);
    const from = far.requests.length;
    far.script([{ status: 400, chunks: [{ json: { error: { message: "no" } } }] }]);
    await expect(clientOf({ maxRetries: 3 }).messages.create(ask("x", "far/chat"))).rejects.toMatchObject({
      status: 400,
    });
    expect(far.requests).toHaveLength(from + 1);
  });
});
