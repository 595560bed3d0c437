import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { type House, startHouse } from "../support/house.ts";

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

describe("the openai client with only its base URL and key changed", () => {
  let house: House;
  let client: OpenAI;

  beforeAll(async () => {
    house = await startHouse({});
    client = new OpenAI({ baseURL: house.baseUrl, apiKey: house.apiKey, maxRetries: 0 });
  });
  afterAll(() => house?.stop());

  test("create returns one whole response", async () => {
    const response = await client.responses.create({
      model: "sluice/echo",
      input: "Name a moon.",
      user: "employee_123",
    });
    expect(response.status).toBe("completed");
    expect(response.output_text).toContain("Name a moon.");
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
  });

  test("a stream loop sees every event once, in order", async () => {
    const stream = await client.responses.create({ model: "sluice/echo", input: "Count to three.", stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events[0]?.type).toBe("response.created");
    expect(events.at(-1)?.type).toBe("response.completed");
    const text = events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
    expect(text).toContain("Count to three.");
  });

  test("stream().finalResponse() equals what the terminal event says", async () => {
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

  test("a tool round trip: the call's items go back unchanged with its output", async () => {
    const question = { role: "user" as const, content: "Weather in Oslo?" };
    const first = await client.responses.create({ model: "sluice/echo", input: [question], tools: [weather] });
    const call = first.output.find((item) => item.type === "function_call");
    if (call?.type !== "function_call") throw new Error(`no call in ${JSON.stringify(first.output)}`);
    expect(Object.keys(JSON.parse(call.arguments) as object)).toEqual(["town"]);
    const second = await client.responses.create({
      model: "sluice/echo",
      input: [
        question,
        ...first.output,
        { type: "function_call_output", call_id: call.call_id, output: '{"sky":"clear"}' },
      ] as OpenAI.Responses.ResponseInput,
      tools: [weather],
    });
    expect(second.output.at(-1)?.type).toBe("message");
  });

  test("errors arrive as the client's own classes, with a message that names the field", async () => {
    await expect(client.responses.create({ model: "sluice/echo", input: "x", temperature: 3 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("temperature"),
    });
    const stranger = new OpenAI({ baseURL: house.baseUrl, apiKey: "sk-unknown", maxRetries: 0 });
    await expect(stranger.responses.create({ model: "sluice/echo", input: "x" })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
    await expect(client.responses.create({ model: "nobody/nothing", input: "x" })).rejects.toBeInstanceOf(
      OpenAI.BadRequestError,
    );
  });

  test("models.list() shows the catalogue", async () => {
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    expect(models).toContain("sluice/echo");
  });
});
