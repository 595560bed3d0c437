import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { type Installation, startInstallation } from "../../support/installation.ts";

const weather = {
  type: "function" as const,
  name: "get_weather",
  description: "Current weather of a town",
  parameters: {
    type: "object",
    properties: { town: { type: "string" } },
    required: ["town"],
    additionalProperties: false,
  },
  strict: true,
};

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]), radius_km: z.number() });

/** Repeats the request until the model has no more calls, as an application does. */
async function converse(client: OpenAI, question: string, streamed: boolean): Promise<OpenAI.Responses.Response[]> {
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: question }];
  const answers: OpenAI.Responses.Response[] = [];
  for (;;) {
    const request = { model: "sluice/echo", input, tools: [weather] };
    const answer = streamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    answers.push(answer);
    const outputs = answer.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "clear sky" }]
        : [],
    );
    if (outputs.length === 0) return answers;
    input.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]), ...outputs);
  }
}

describe("the openai client with only its base URL and key changed", () => {
  let installation: Installation;
  let client: OpenAI;

  beforeAll(async () => {
    installation = await startInstallation({});
    client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0 });
  });
  afterAll(() => installation?.stop());

  test("reads one whole response by create", async () => {
    const request = { model: "sluice/echo", input: "Name a moon.", user: "employee_123" };
    const asked = client.responses.create(request);
    const { data: response, request_id: requestId, response: raw } = await asked.withResponse();
    expect(response.status).toBe("completed");
    expect(response.output_text).toContain("Name a moon.");
    expect([requestId, raw.headers.get("x-generation-id")]).toEqual([expect.any(String), expect.any(String)]);
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
  });

  test("reads every event of a stream once, in order", async () => {
    const stream = await client.responses.create({ model: "sluice/echo", input: "Count to three.", stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events[0]?.type).toBe("response.created");
    expect(events.at(-1)?.type).toBe("response.completed");
    const text = events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
    expect(text).toContain("Count to three.");
  });

  test("reads the terminal event by stream().finalResponse()", async () => {
    const stream = client.responses.stream({
      model: "sluice/echo",
      input: "Is 91 prime?",
      reasoning: { effort: "low" },
    });
    let terminal: unknown;
    stream.on("response.completed", (event) => {
      terminal = event.response.output;
    });
    const final = await stream.finalResponse();
    expect(final.output.map((item) => item.type)).toEqual(["reasoning", "message"]);
    expect(final.output).toMatchObject(terminal as object);
  });

  test.each([false, true])(
    "sends items back unchanged with the output of a tool call (stream: %s)",
    async (streamed) => {
      const [first, second, ...more] = await converse(client, "Weather in Oslo?", streamed);
      expect(more).toEqual([]);
      expect(first?.output.map((item) => item.type)).toEqual(["function_call"]);
      expect(second?.output_text).toContain("clear sky");
    },
  );

  test.each([false, true])("sends and reads free text with a custom tool, unchanged (stream: %s)", async (streamed) => {
    const run = {
      type: "custom" as const,
      name: "run_sql",
      description: "Runs SQL",
      format: { type: "text" as const },
    };
    const question = { role: "user" as const, content: "How many moons?" };
    const request = { model: "sluice/echo", input: [question], tools: [run] };
    const first = streamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const [call] = first.output;
    if (call?.type !== "custom_tool_call") throw new Error(`no custom call in ${JSON.stringify(first.output)}`);
    expect(call).toMatchObject({ name: "run_sql", input: expect.stringMatching(/./) });
    const output = { type: "custom_tool_call_output" as const, call_id: call.call_id, output: "79" };
    const second = await client.responses.create({ ...request, input: [question, call, output] });
    expect(second.output_text).toContain("79");
  });

  test("reads a structured answer by parse(), whole and streamed", async () => {
    const request = { model: "sluice/echo", input: "A moon?", text: { format: zodTextFormat(Moon, "moon") } };
    const whole = await client.responses.parse(request);
    expect(Moon.parse(whole.output_parsed)).toMatchObject({ planet: "Mars" });
    const streamed = await client.responses.stream(request).finalResponse();
    expect(streamed.output_parsed).toEqual(whole.output_parsed);
  });

  test("reads a function's arguments by parse()", async () => {
    const landing = zodResponsesFunction({ name: "land", parameters: Moon });
    const response = await client.responses.parse({ model: "sluice/echo", input: "Land.", tools: [landing] });
    const [call] = response.output;
    expect(call).toMatchObject({ type: "function_call", name: "land", status: "completed" });
    expect(Moon.parse(call?.type === "function_call" ? call.parsed_arguments : null)).toMatchObject({ planet: "Mars" });
  });

  test("reads a refusal as a part of type refusal", async () => {
    const { output } = await client.responses.stream({ model: "sluice/echo", input: "refuse: this" }).finalResponse();
    expect(output).toMatchObject([{ type: "message", content: [{ type: "refusal", refusal: expect.any(String) }] }]);
  });

  test("reads an answer truncated by max_output_tokens as incomplete with the reason", async () => {
    const stream = client.responses.stream({ model: "sluice/echo", input: "Count.", max_output_tokens: 3 });
    expect(await stream.finalResponse()).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      usage: { output_tokens: 3 },
    });
  });

  test("throws BadRequestError with the name of a wrong field, and NotFoundError for an unknown model", async () => {
    const hot = client.responses.create({ model: "sluice/echo", input: "x", temperature: 3 });
    await expect(hot).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param: "temperature",
      message: expect.stringContaining("temperature"),
    });
    const unknown = client.responses.create({ model: "nobody/nothing", input: "x" });
    await expect(unknown).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(unknown).rejects.toMatchObject({
      type: "invalid_request_error",
      param: "model",
      error: { code: 404, metadata: { code: "model_not_found", unknown_model: "nobody/nothing" } },
    });
  });

  test("reads the catalogue by models.list(), and one model by models.retrieve()", async () => {
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    expect(models).toContain("sluice/echo");
    expect(await client.models.retrieve("sluice/echo")).toMatchObject({ id: "sluice/echo", object: "model" });
    await expect(client.models.retrieve("sluice/none")).rejects.toThrow("404 Model not found: sluice/none");
  });
});
