import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { type Installation, startInstallation } from "../../support/installation.ts";

const tool = {
  type: "function" as const,
  name: "get_weather",
  parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
  strict: false,
};

/** Formats of the mock, with their paths. */
const formats = [
  ["chat", "/v1"],
  ["cohere", ""],
  ["converse", ""],
  ["gemini", "/v1beta"],
  ["messages", "/v1"],
  ["responses", "/v1"],
] as const;

const provider = new LLMock({ port: 0 });
let installation: Installation;
let client: OpenAI;

beforeAll(async () => {
  provider.onMessage("hello", { content: "Hi there, from far away!" });
  provider.onMessage("think", { content: "Forty-two.", reasoning: "Six by nine." });
  provider.onMessage("weather", { toolCalls: [{ name: "get_weather", arguments: '{"town":"Oslo"}' }] });
  provider.onMessage("too many", { error: { message: "Slow down", type: "rate_limit_error" }, status: 429 });
  provider.onMessage("overloaded", { error: { message: "Overloaded", type: "overloaded_error" }, status: 529 });
  provider.onMessage("broken", { error: { message: "Server exploded", type: "server_error" }, status: 500 });
  await provider.start();
  const providers = formats.map(([dialect, path]) => ({
    id: dialect,
    dialect,
    base_url: `${provider.url}${path}`,
    api_keys: ["mock"],
  }));
  const models = formats.map(([dialect]) => ({
    id: `${dialect}/model`,
    endpoints: [{ provider: dialect, upstream_model: "gpt-4o" }],
  }));
  installation = await startInstallation({ config: JSON.stringify({ providers, models }) });
  client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await installation?.stop();
  await provider.stop();
});

describe.each(formats.map(([dialect]) => dialect))("a third-party provider mock in the format %s", (dialect) => {
  const model = `${dialect}/model`;

  test("a whole answer arrives", async () => {
    const response = await client.responses.create({ model, input: "hello" });
    expect(response).toMatchObject({
      status: "completed",
      model,
      output_text: "Hi there, from far away!",
    });
  });

  test("a streamed answer arrives", async () => {
    const stream = client.responses.stream({ model, input: "hello" });
    let text = "";
    stream.on("response.output_text.delta", (event) => {
      text += event.delta;
    });
    const final = await stream.finalResponse();
    expect([text, final.output_text]).toEqual(["Hi there, from far away!", "Hi there, from far away!"]);
  });

  test.each([true, false])("a function call arrives (stream: %s)", async (streamed) => {
    const request = { model, input: "weather", tools: [tool] };
    const response = streamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    // The mock streams a plan before the tool calls of Cohere.
    expect(response.output.slice(-1)).toMatchObject([
      { type: "function_call", name: "get_weather", arguments: '{"town":"Oslo"}', status: "completed" },
    ]);
  });

  test.each([true, false])("an answer after reasoning arrives (stream: %s)", async (streamed) => {
    const request = { model, input: "think", reasoning: { effort: "low", summary: "auto" } } as const;
    const response = streamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const types = response.output.map(({ type }) => type);
    // The mock writes Cohere's reasoning as text; Cohere itself does not.
    expect([types, response.output_text]).toEqual(
      dialect === "cohere" ? [["message"], "Six by nine.Forty-two."] : [["reasoning", "message"], "Forty-two."],
    );
    expect(JSON.stringify(response.output[0])).toContain("Six by nine.");
  });

  test.each([true, false])("failures of the mock keep their meaning (stream: %s)", async (stream) => {
    await expect(client.responses.create({ model, input: "too many", stream })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
    await expect(client.responses.create({ model, input: "overloaded", stream })).rejects.toMatchObject({
      status: 529,
    });
    await expect(client.responses.create({ model, input: "broken", stream })).rejects.toMatchObject({
      status: 502,
    });
  });
});
