/** A maximum of tokens above the model's is lowered at every door, with a warning: programs ask every model for the maximum of the largest. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Hello" })]);
  installation = await startInstallation({
    config: `
providers:
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: t/small, context_length: 200000, max_output_tokens: 16000, endpoints: [{provider: chatty, upstream_model: small}]}
  - {id: t/large, context_length: 200000, max_output_tokens: 64000, endpoints: [{provider: chatty, upstream_model: large}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "t/small", ...body }),
  });

const messages = [{ role: "user", content: "Hi" }];
const doors = [
  ["/responses", "max_output_tokens", { input: "Hi" }],
  ["/chat/completions", "max_tokens", { messages }],
  ["/chat/completions", "max_completion_tokens", { messages }],
  ["/messages", "max_tokens", { messages }],
] as const;

describe.each(doors)("an answer limit at %s with %s", (path, field, body) => {
  test.each([false, true])(
    "is lowered to the model's limit, with a warning in a header (stream: %s)",
    async (stream) => {
      const response = await post(path, { ...body, [field]: 32_000, stream }, { "x-service-metadata": "enabled" });
      expect(response.status).toBe(200);
      expect(response.headers.get("x-sluice-warning")).toBe(`${field}: sent as 16000: the model writes no more`);
      expect(await response.text()).toContain(`{"path":"${field}","reason":"sent as 16000: the model writes no more"}`);
      expect(upstream.requests.at(-1)?.json).toMatchObject({ model: "small", max_tokens: 16_000 });
    },
  );

  test("is sent unchanged to a model with an equal limit", async () => {
    const response = await post(path, { ...body, [field]: 16_000 });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-warning")).toBeNull();
    await response.text();
    expect(upstream.requests.at(-1)?.json).toMatchObject({ max_tokens: 16_000 });
  });

  test("above the model's maximum is refused if every parameter is required", async () => {
    const response = await post(path, { ...body, [field]: 32_000, provider: { require_parameters: true } });
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("t/small gives fewer than 32000 tokens");
  });
});

test("the warning header lists a lowered answer limit together with unknown fields", async () => {
  const response = await post("/chat/completions", { messages, max_tokens: 32_000, flavour: 7 });
  expect(response.headers.get("x-sluice-warning")).toBe(
    "unknown field flavour, max_tokens: sent as 16000: the model writes no more",
  );
});

test.each([
  ["/responses", { input: "Hi", max_output_tokens: 32_000 }],
  ["/chat/completions", { messages, max_tokens: 32_000 }],
])("a model that can give an answer of the requested length is preferred at %s", async (path, body) => {
  const response = await post(path, { ...body, models: ["t/small", "t/large"] });
  expect(await response.text()).toContain('"t/large"');
  expect(response.headers.get("x-sluice-warning")).toBeNull();
});

test("budgets reserve for a lowered answer limit, as a dry run shows", async () => {
  const response = await post("/responses/dry-run", { input: "Hi", max_output_tokens: 32_000 });
  expect(await response.json()).toMatchObject({
    candidates: [{ model: "t/small", estimate: { max_output_tokens: 16_000 } }],
  });
});
