/** Failures found by inference-svc use the client's field names, at the doors of messages and of chat completions. */
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
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
models:
  - {id: t/chat, input_modalities: [text, image, file], endpoints: [{provider: chatty}]}
  - {id: t/text, endpoints: [{provider: chatty}]}
  - {id: t/claude, endpoints: [{provider: claude}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

interface Failure {
  readonly status: number;
  readonly message: string;
  readonly metadata: { readonly param?: string; readonly issues?: readonly { readonly path: string }[] };
}

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

async function failureOf(path: string, body: object): Promise<Failure> {
  const response = await post(path, body);
  const { error } = (await response.json()) as { error: Failure };
  return { ...error, status: response.status };
}

const hi = { role: "user", content: "Hi" };
const text = (words: string) => ({ type: "text", text: words });
const pdf = { type: "file", file_id: "file_1" };

describe("a failure at the door of messages", () => {
  const sendRequest = (body: object) => failureOf("/messages", { model: "t/chat", max_tokens: 64, ...body });
  const use = (id: string) => ({ type: "tool_use", id, name: "a", input: {} });
  const result = (id: string, content: unknown = "1") => ({ type: "tool_result", tool_use_id: id, content });
  const tools = [{ name: "a", input_schema: { type: "object" } }];
  const imageFile = { type: "image", source: pdf };

  test.each([
    [
      "a part of a message",
      { messages: [hi, { role: "assistant", content: "Yes?" }, { role: "user", content: [text("See"), imageFile] }] },
      "messages.2.content.1",
    ],
    [
      "a part of a result",
      {
        tools,
        messages: [
          hi,
          { role: "assistant", content: [text("I look."), use("1")] },
          { role: "user", content: [result("1", [text("1"), imageFile])] },
        ],
      },
      "messages.2.content.0.content.1",
    ],
    [
      "two tools of a name",
      { tools: [...tools, { name: "b", input_schema: { type: "object" } }, ...tools], messages: [hi] },
      "tools.2.name",
    ],
    [
      "an MCP server that is not allowed",
      { messages: [hi], mcp_servers: [{ type: "url", name: "m", url: "https://mcp.example/sse" }] },
      "mcp_servers.0.url",
    ],
    [
      "a tool choice without the tool",
      { tools, messages: [hi], tool_choice: { type: "tool", name: "z" } },
      "tool_choice.name",
    ],
  ])("caused by %s names the field as the client wrote it", async (_, body, path) => {
    const { status, message, metadata } = await sendRequest(body);
    expect([status, metadata.param, metadata.issues?.[0]?.path ?? path]).toEqual([400, path, path]);
    expect(message).toMatch(new RegExp(`^${path.replaceAll(".", "\\.")}[: ]`));
  });

  test("in a stream has the client's field names", async () => {
    const messages = [{ role: "user", content: [text("See"), imageFile] }];
    const { metadata } = await sendRequest({ stream: true, messages });
    expect(metadata.param).toBe("messages.0.content.1");
  });

  test("of a token count has the client's field names", async () => {
    const messages = [{ role: "user", content: [text("See"), { type: "image", source: { type: "url", url: "x" } }] }];
    const failure = await failureOf("/messages/count_tokens", { model: "t/chat", messages });
    expect(failure).toMatchObject({ status: 400, metadata: { param: "messages.0.content.1.source.url" } });
  });

  test("names unsent settings as the client wrote them", async () => {
    const body = { model: "t/chat", max_tokens: 64, messages: [hi], thinking: { type: "enabled", budget_tokens: 32 } };
    const response = await post("/messages", body, { "x-service-metadata": "enabled" });
    const { service_metadata: receipt } = (await response.json()) as {
      service_metadata: { params: { not_sent: { path: string }[] } };
    };
    expect(receipt.params.not_sent.map((field) => field.path)).toEqual(["thinking.display", "thinking.budget_tokens"]);
  });
});

describe("a failure at the door of chat completions", () => {
  const sendRequest = (body: object) => failureOf("/chat/completions", { model: "t/chat", ...body });
  const file = { type: "file", file: { file_id: "file_1" } };
  const call = (id: string) => ({ id, type: "function", function: { name: "a", arguments: "{}" } });
  const tool = { type: "function", function: { name: "a", parameters: { type: "object" } } };

  test.each([
    ["a file", { messages: [{ role: "user", content: [file] }], model: "t/text" }, "messages.0.content.0"],
    ["two tools of a name", { messages: [hi], tools: [tool, tool] }, "tools.1.function.name"],
  ])("caused by %s names the field as the client wrote it", async (_, body, path) => {
    const { status, message, metadata } = await sendRequest(body);
    expect(message).toMatch(new RegExp(`^${path.replaceAll(".", "\\.")}[: ]`));
    expect([status, metadata.param]).toEqual([400, path]);
  });

  test("names a part of a message refused by every model, after calls and their results", async () => {
    const sound = { type: "input_audio", input_audio: { data: "AA==", format: "wav" } };
    const messages = [
      hi,
      { role: "assistant", content: null, tool_calls: [call("1"), call("2")] },
      { role: "tool", tool_call_id: "1", content: "1" },
      { role: "tool", tool_call_id: "2", content: "2" },
      { role: "user", content: [text("Hear"), sound] },
    ];
    const { message } = await sendRequest({ model: "t/claude", messages });
    expect(message).toContain("(messages.4.content.1)");
  });
});

describe("a failure by key, model or path", () => {
  const sendRequest = (path: string, headers: Record<string, string>) =>
    fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "t/chat", max_tokens: 1, messages: [hi] }),
    });

  test.each([
    ["/messages", {}],
    ["/messages", { "x-api-key": "sk-none" }],
    ["/messages?beta=true", { authorization: "Bearer sk-none" }],
    ["/messages/count_tokens", {}],
    ["/messages/count_tokens?beta=true", { "x-api-key": "sk-none" }],
  ])("for %s with %j is in Anthropic's form", async (path, headers) => {
    const response = await sendRequest(path, headers);
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([401, "false"]);
    const id = response.headers.get("request-id");
    expect(await response.json()).toEqual({
      type: "error",
      error: { type: "authentication_error", message: expect.any(String) },
      request_id: id,
    });
  });

  test("for an unknown model is 404, and in the log", async () => {
    const response = await post("/messages", { model: "t/chad", max_tokens: 1, messages: [hi] });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([404, "false"]);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error", message: expect.stringContaining("did you mean t/chat") },
    });
    await installation.logged("inference-svc", '"model":"t/chad"', '"status":404');
  });

  test.each([
    ["the base path twice", "/v1/messages", {}, "it is at /api/v1/messages"],
    ["an operation of Anthropic's that Sluice has not", "/files", { "anthropic-version": "2023-06-01" }, "/files"],
    ["a path below the door", "/messages/batches", {}, "/messages/batches"],
  ])("for %s is 404 in Anthropic's form", async (_, path, headers, hint) => {
    const response = await sendRequest(path, { authorization: `Bearer ${installation.apiKey}`, ...headers });
    expect(response.status).toBe(404);
    const id = response.headers.get("request-id");
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error", message: expect.stringContaining(hint) },
      request_id: id,
    });
  });

  test("for a path of no format is 404 in the form of /responses", async () => {
    const response = await sendRequest("/files", { authorization: `Bearer ${installation.apiKey}` });
    expect(await response.json()).toMatchObject({ error: { code: 404, type: "invalid_request_error" } });
  });
});
