/** Requests to Azure OpenAI by key, and with tokens of Entra ID. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Reply, type Upstream, chatAnswer } from "../../../support/providers/upstream.js";
import { testRequest, runTestTurn } from "../../asking.js";
import { CloudTests, requestAnswer, failureOutput } from "./cloud.js";

let tests: CloudTests;
beforeEach(() => {
  tests = new CloudTests();
});
afterEach(() => tests.end());

const json = (body: object, status = 200): Reply => ({ status, chunks: [{ json: body }] });

const azure = (provider: Upstream, more: object = {}) => ({
  id: "azure",
  dialect: "chat",
  base_url: `${provider.url}/openai/v1`,
  azure: {},
  ...more,
});

describe("Azure by key", () => {
  test("has the header of Azure for the key", async () => {
    const provider = await tests.server([chatAnswer("Hi")]);
    const engine = tests.open(azure(provider, { api_keys: ["azure-key"] }));
    const { fault } = await runTestTurn(engine.turn, testRequest({ stream: false, maxOutputTokens: 100 }));
    expect(fault).toBeUndefined();
    const [request] = provider.requests;
    // Newer models of OpenAI answer 400 to max_tokens.
    expect(request?.json).toMatchObject({ model: "large-2", max_completion_tokens: 100 });
    expect(request?.json).not.toHaveProperty("max_tokens");
    expect(request?.path).toBe("/openai/v1/chat/completions");
    expect(request?.headers).toMatchObject({ "api-key": "azure-key" });
    expect(request?.headers).not.toHaveProperty("authorization");
  });

  test("has one deployment at the older address, with its version in the query", async () => {
    const provider = await tests.server([chatAnswer("Hi")]);
    const base_url = `${provider.url}/openai/deployments/gpt-4o?api-version=2024-10-21`;
    expect(
      (await requestAnswer(tests.open(azure(provider, { base_url, api_keys: ["azure-key"] })))).fault,
    ).toBeUndefined();
    expect(provider.requests[0]?.path).toBe("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21");
  });

  test("has the headers of Claude's format for Claude", async () => {
    const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "end_turn" };
    const content = [{ type: "text", text: "Hi" }];
    const provider = await tests.server([json({ ...message, content, usage: { input_tokens: 1, output_tokens: 1 } })]);
    const settings = { dialect: "messages", base_url: `${provider.url}/anthropic/v1`, api_keys: ["azure-key"] };
    expect((await requestAnswer(tests.open(azure(provider, settings)))).fault).toBeUndefined();
    expect(provider.requests[0]?.headers).toMatchObject({
      "x-api-key": "azure-key",
      "anthropic-version": "2023-06-01",
    });
  });
});

describe("Azure by a managed identity, as in App Service and Container Apps", () => {
  const token = (number: number): Reply =>
    json({
      access_token: `entra-token-${number}`,
      expires_on: String(Math.floor(Date.now() / 1000) + 3_600),
      resource: "https://cognitiveservices.azure.com",
      token_type: "Bearer",
    });

  async function managedIdentity(...replies: readonly Reply[]): Promise<Upstream> {
    const identity = await tests.server(replies);
    tests.set({ IDENTITY_ENDPOINT: `${identity.url}/msi/token`, IDENTITY_HEADER: "identity-header" });
    return identity;
  }

  test("gets one token for fifty requests, and none is in a log", async () => {
    const identity = await managedIdentity(token(1));
    const provider = await tests.server([chatAnswer("Hi")]);
    const engine = tests.open(azure(provider));
    const endings = await Promise.all(Array.from({ length: 50 }, () => requestAnswer(engine)));
    expect([failureOutput(engine, endings[0]?.fault), endings.flatMap(({ fault }) => fault ?? [])]).toEqual([
      expect.any(String),
      [],
    ]);
    expect(new Set(provider.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(["Bearer entra-token-1"]),
    );
    expect(provider.requests[0]?.headers).not.toHaveProperty("api-key");
    expect(identity.requests).toHaveLength(1);
    expect(identity.requests[0]?.path).toContain(
      `resource=${encodeURIComponent("https://cognitiveservices.azure.com")}`,
    );
    expect(identity.requests[0]?.headers["x-identity-header"]).toBe("identity-header");
  });
});

describe("unavailable credentials of Azure", () => {
  test("fail the request without a source", async () => {
    tests.set({ AZURE_TOKEN_CREDENTIALS: "WorkloadIdentityCredential" });
    const { fault } = await requestAnswer(tests.open(azure(await tests.server([chatAnswer("Hi")]))));
    expect(String(fault?.cause)).toContain("no credentials: ");
  });
});
