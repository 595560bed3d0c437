/** Counting the tokens of a request without sending it. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { type Installation, startInstallation } from "../../support/installation.ts";

let installation: Installation;
let client: OpenAI;

beforeAll(async () => {
  installation = await startInstallation();
  client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await installation?.stop();
});

const tools = [{ type: "function" as const, name: "find", parameters: { type: "object" }, strict: false }];

test("the count of input tokens is higher for a longer request, and includes each part of it", async () => {
  const count = async (body: OpenAI.Responses.InputTokenCountParams) =>
    (await client.responses.inputTokens.count({ model: "sluice/echo", ...body })).input_tokens;
  const short = await count({ input: "Hello there." });
  expect(short).toBeGreaterThan(0);
  expect(await count({ input: "Hello there. ".repeat(100) })).toBeGreaterThan(30 * short);
  expect(await count({ input: "Hello there.", instructions: "Be brief in all that you say." })).toBeGreaterThan(short);
  expect(await count({ input: "Hello there.", tools })).toBeGreaterThan(short);
});

test("a wrong request to count tokens is refused like a response, and not recorded", async () => {
  await expect(client.responses.inputTokens.count({ model: "sluice/echo", input: 7 as never })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("input"),
  });
  const activity = await fetch(`${installation.baseUrl}/activity`, {
    headers: { authorization: `Bearer ${installation.managementKey}` },
  });
  expect(await activity.json()).toMatchObject({ data: [] });
});

test.each([
  ["/responses/input_tokens", { input: "Hello" }],
  ["/messages/count_tokens", { messages: [{ role: "user", content: "Hello" }] }],
])(
  "the token count at %s refuses an unknown model like a turn, and marks its count as an estimate",
  async (path, prompt) => {
    const count = async (model: string) => {
      const headers = { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" };
      const body = JSON.stringify({ model, ...prompt });
      const answer = await fetch(`${installation.baseUrl}${path}`, { method: "POST", headers, body });
      return {
        status: answer.status,
        body: (await answer.json()) as { estimated?: true; error?: { message: string } },
      };
    };
    const unknown = await count("acme/nothing");
    expect(unknown.status).toBe(404);
    expect(unknown.body.error?.message).toMatch(/^model: acme\/nothing is not in the catalogue/);
    for (const model of ["sluice/echo", "sluice/echo:online", "sluice/echo:nitro", "service/auto", "service/fusion"])
      expect(await count(model)).toMatchObject({ status: 200, body: { estimated: true } });
  },
);
