/** Answers of running processes match the OpenAPI document: success, streams, failures, administration, the catalogue. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { document, validate, validateError, validateEvents, validateResponse } from "../support/answers/published.ts";
import { parseSse } from "../support/answers/sse.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../support/providers/upstream.ts";

const model = "acme/large";
const ask = { model, input: "Hello" };

const failing = (status: number, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  chunks: [{ json: { error: { message: "Not today", code: "not_today" } } }],
});

const toolCall = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
const tools = [{ type: "function", name: "f", description: "Does", parameters: { type: "object" } }];

describe("answers of running services", () => {
  let chat: Upstream;
  let responses: Upstream;
  let installation: Installation;
  let guardrail: string;

  beforeAll(async () => {
    chat = await startUpstream();
    responses = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, dialect: chat, base_url: "${chat.url}/v1", api_keys: [upstream-key]}
  - {id: sluice, dialect: echo}
  - {id: native, dialect: responses, base_url: "${responses.url}/v1", native_tools: [web_search]}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "0.25", completion: "2.00"}}]}
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: acme/native, endpoints: [{provider: native}]}
alerts: [{name: ops, webhook: {url: "http://127.0.0.1:1/", secret: "whsec_${Buffer.alloc(32, 1).toString("base64")}"}}]
limits: {body_bytes: 20000, turn_ms: 4000}
`,
    });
    const created = await installation.admin(
      "guardrails",
      "create",
      "--name",
      "no codes",
      "--block",
      "code red",
      "--json",
    );
    guardrail = (JSON.parse(created.stdout) as { id: string }).id;
    await installation.admin("end-users", "create", "employee_123");
  });
  afterAll(async () => {
    await installation?.stop();
    await chat?.stop();
    await responses?.stop();
  });

  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const respond = (body: unknown, headers: Record<string, string> = {}) =>
    send("POST", "/responses", body, { "x-service-metadata": "enabled", ...headers });
  const manage = (method: string, path: string, body?: unknown) =>
    send(method, path, body, { authorization: `Bearer ${installation.managementKey}` });

  async function expectResponse(answer: Response, status: string): Promise<void> {
    const body = (await answer.json()) as { status: string; service_metadata?: unknown };
    expect([answer.status, body.status]).toEqual([200, status]);
    expect(body.service_metadata).toBeDefined();
    expect(validateResponse(body)).toEqual([]);
  }

  async function expectStream(answer: Response, last: string, passing: readonly string[] = []): Promise<string[]> {
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const { events, done } = parseSse(await answer.text());
    expect([events.at(-1)?.type, done]).toEqual([last, true]);
    expect(validateEvents(events, passing)).toEqual([]);
    return events.map((event) => event.type);
  }

  async function expectFailure(answer: Response, status: number): Promise<void> {
    const body: unknown = await answer.json();
    expect([answer.status, body]).toEqual([status, expect.anything()]);
    expect(validateError(status, body)).toEqual([]);
    for (const name of Object.keys(document.components.responses[`Error${status}`]?.headers ?? {})) {
      const always = ["x-request-id", "x-should-retry"].includes(name);
      if (always) expect([name, answer.headers.get(name)]).toEqual([name, expect.any(String)]);
    }
  }

  describe("an answer without a stream", () => {
    test.each<[string, Reply, string]>([
      ["text", chatAnswer({ role: "assistant", content: "Hi" }), "completed"],
      ["a call", chatAnswer({ role: "assistant", content: null, tool_calls: [toolCall] }, "tool_calls"), "completed"],
      ["a cut text", chatAnswer({ role: "assistant", content: "Hi" }, "length"), "incomplete"],
      ["a refusal", chatAnswer({ role: "assistant", refusal: "No" }), "completed"],
    ])("for %s fits the published schema", async (_, reply, status) => {
      chat.script([reply]);
      const settings = { tools, temperature: 0.5, metadata: { a: "b" }, user: "u", text: { verbosity: "low" } };
      await expectResponse(await respond({ ...ask, ...settings }), status);
    });

    test("comes from the built-in model in the documented form", async () => {
      await expectResponse(await respond({ model: "sluice/echo", input: "Hello" }), "completed");
    });
  });

  describe("a stream", () => {
    test("completes for a text answer", async () => {
      chat.script([chatStream("One, ", "two.")]);
      const types = await expectStream(await respond({ ...ask, stream: true }), "response.completed");
      expect(types).toContain("response.output_text.delta");
    });

    test("reports reasoning, a call and the body sent to the provider", async () => {
      const deltas = [{ reasoning_content: "Hm" }, { content: "Calling" }, { tool_calls: [toolCall] }];
      chat.script([
        { chunks: [{ sse: [...deltas.map((delta) => chatChunk(delta)), chatChunk({}, "tool_calls"), "[DONE]"] }] },
      ]);
      const body = { ...ask, tools, stream: true, debug: { echo_upstream_body: true } };
      const types = await expectStream(await respond(body), "response.completed");
      expect(types).toEqual(expect.arrayContaining(["response.debug", "response.function_call_arguments.done"]));
    });

    test("ends in response.failed when the provider breaks off", async () => {
      chat.script([{ chunks: [{ sse: [chatChunk({ content: "The first" })] }], cut: true }]);
      await expectStream(await respond({ ...ask, stream: true }), "response.failed");
    });

    test("passes on a provider's own search, and unknown items and events", async () => {
      const search = {
        type: "web_search_call",
        id: "ws_1",
        status: "completed",
        action: { type: "search", query: "q" },
      };
      const odd = { type: "oddity", id: "odd_1", status: "completed", shape: [1] };
      const text = { type: "output_text", text: "Hi", annotations: [], logprobs: [] };
      const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [text] };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      const items = [search, odd, message].flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress" } },
        ...(item === odd ? [{ type: "response.oddity.turned", output_index, item_id: item.id, by: 90 }] : []),
        { type: "response.output_item.done", output_index, item },
      ]);
      const end = {
        type: "response.completed",
        response: { status: "completed", output: [search, odd, message], usage },
      };
      responses.script([{ chunks: [{ sse: [...items, end] }] }]);
      const body = { model: "acme/native", input: "Hello", stream: true };
      const types = await expectStream(await respond(body), "response.completed", ["response.oddity.turned"]);
      expect(types).toContain("response.oddity.turned");
    });
  });

  describe("a failure status", () => {
    test.each<[number, unknown]>([
      [400, "{"],
      [400, { ...ask, previous_response_id: "resp_1" }],
      [404, { model: "acme/unknown", input: "Hello" }],
      [404, { ...ask, prompt: { id: "pmpt_1" } }],
      [413, { ...ask, instructions: "a".repeat(20_000) }],
    ])("%i is documented for %.60j", async (status, body) => {
      await expectFailure(await respond(body), status);
    });

    test.each<[number, Record<string, string>]>([
      [401, { authorization: "" }],
      [401, { authorization: "Bearer sk-sl-unknown" }],
    ])("%i is documented with %j", async (status, headers) => {
      await expectFailure(await respond(ask, headers), status);
    });

    test("403 is documented for a management key", async () => {
      await expectFailure(await manage("POST", "/responses", ask), 403);
    });

    test.each<[number, number]>([
      [400, 400],
      [404, 404],
      [422, 422],
      [429, 429],
      [500, 502],
      [503, 502],
      [504, 524],
      [529, 529],
    ])("of a provider, %i, is answered with %i", async (said, status) => {
      chat.script([failing(said, { "retry-after": "1" })]);
      await expectFailure(await respond(ask), status);
      await expectFailure(await respond({ ...ask, stream: true }), status);
    });

    test("408 is documented for a turn over its time limit", async () => {
      chat.script([{ hang: true }]);
      await expectFailure(await respond(ask), 408);
    });

    test("404 is documented for an unknown path", async () => {
      await expectFailure(await send("GET", "/nowhere"), 404);
    });
  });

  describe("administration", () => {
    const hashes = () => ({ key_hashes: [hashKey(installation.apiKey)] });
    const path = () => `/guardrails/${guardrail}/assignments/keys`;

    test("assigns a guardrail, blocks a request and removes the assignment", async () => {
      const assigned: unknown = await (await manage("POST", path(), hashes())).json();
      expect([assigned, validate("AssignedKeys", assigned)]).toEqual([{ assigned_count: 1 }, []]);
      await expectFailure(await respond({ ...ask, input: "code red" }), 403);
      for (const one of [path(), "/guardrails/assignments/keys"]) {
        const listed: unknown = await (await manage("GET", one)).json();
        expect([listed, validate("KeyAssignmentList", listed)]).toMatchObject([{ total_count: 1 }, []]);
      }
      const removed: unknown = await (await manage("POST", `${path()}/remove`, hashes())).json();
      expect([removed, validate("UnassignedKeys", removed)]).toEqual([{ unassigned_count: 1 }, []]);
    });

    test("registers, lists, shows and deactivates an end user", async () => {
      const created = await manage("POST", "/end-users", { user: "someone" });
      expect([created.status, validate("EndUserAnswer", await created.json())]).toEqual([201, []]);
      await expectFailure(await manage("POST", "/end-users", { user: "someone" }), 409);
      expect(validate("EndUserList", await (await manage("GET", "/end-users?user=someone")).json())).toEqual([]);
      expect(validate("EndUserAnswer", await (await manage("GET", "/end-users/someone")).json())).toEqual([]);
      const gone = await manage("DELETE", "/end-users/someone");
      expect([gone.status, await gone.text(), gone.headers.get("x-request-id")]).toEqual([204, "", expect.any(String)]);
      await expectFailure(await manage("GET", "/end-users?user=%20"), 400);
      await expectFailure(await send("GET", "/end-users"), 403);
    });

    test("saves, lists and deletes a view of the explorer", async () => {
      const path = "/views/What%20fails";
      for (const status of [201, 200]) {
        const put = await manage("PUT", path, { query: "tab=errors" });
        expect([put.status, validate("PutViewAnswer", await put.json())]).toEqual([status, []]);
      }
      expect(validate("ViewList", await (await manage("GET", "/views")).json())).toEqual([]);
      expect(validate("DeletedView", await (await manage("DELETE", path)).json())).toEqual([]);
      await expectFailure(await manage("DELETE", path), 404);
      await expectFailure(await manage("PUT", path, { query: "a b" }), 400);
    });

    test("sets, lists, shows, tests and deletes an alert", async () => {
      const path = "/alert-rules/Errors";
      // Above every rate, so that it does not fire by itself.
      const body = { filters: { model: "acme/large" }, condition: "error_rate", threshold: 100, channels: ["ops"] };
      expect(validate("AlertChannelList", await (await manage("GET", "/alert-channels")).json())).toEqual([]);
      for (const status of [201, 200]) {
        const put = await manage("PUT", path, body);
        expect([put.status, validate("PutAlertRuleAnswer", await put.json())]).toEqual([status, []]);
      }
      expect(validate("AlertRuleList", await (await manage("GET", "/alert-rules")).json())).toEqual([]);
      expect(validate("AlertRuleAnswer", await (await manage("GET", path)).json())).toEqual([]);
      const tested: unknown = await (await manage("POST", `${path}/test`)).json();
      const delivery = { channel: "ops", is_delivered: false, error: expect.any(String) };
      expect([validate("AlertRuleTest", tested), tested]).toMatchObject([[], { data: { deliveries: [delivery] } }]);
      await expectFailure(await manage("POST", `${path}/test`), 429);
      const history: unknown = await (await manage("GET", `${path}/history`)).json();
      expect([validate("AlertRuleHistory", history), history]).toMatchObject([[], { data: [{ type: "test" }] }]);
      await expectFailure(await manage("PUT", path, { ...body, channels: ["other"] }), 400);
      await expectFailure(await manage("PUT", path, { ...body, condition: "provider_down" }), 400);
      await expectFailure(await manage("PUT", path, { condition: "spend", channels: ["ops"] }), 400);
      expect(validate("DeletedAlertRule", await (await manage("DELETE", path)).json())).toEqual([]);
      await expectFailure(await manage("GET", path), 404);
    });

    test("updates an end user", async () => {
      const updated: unknown = await (await manage("PATCH", "/end-users/employee_123", { is_active: false })).json();
      expect(validate("EndUserAnswer", updated)).toEqual([]);
    });

    test("makes, lists, shows, changes and deletes a guardrail", async () => {
      const content_filters = [{ pattern: "x", action: "block" }];
      const answer = await manage("POST", "/guardrails", { name: "g", description: "d", content_filters });
      const created = (await answer.json()) as { data: { id: string } };
      expect([answer.status, validate("GuardrailAnswer", created)]).toEqual([201, []]);
      const one = `/guardrails/${created.data.id}`;
      expect(validate("GuardrailList", await (await manage("GET", "/guardrails")).json())).toEqual([]);
      expect(validate("GuardrailAnswer", await (await manage("GET", one)).json())).toEqual([]);
      const changed: unknown = await (await manage("PATCH", one, { content_filters: null })).json();
      expect(validate("GuardrailAnswer", changed)).toEqual([]);
      await expectFailure(await manage("PATCH", one, { limit_usd: 5 }), 400);
      expect(validate("DeletedGuardrail", await (await manage("DELETE", one)).json())).toEqual([]);
      await expectFailure(await manage("DELETE", one), 404);
      await expectFailure(await send("GET", "/guardrails"), 403);
    });

    test("makes, lists, shows, changes and deletes a key", async () => {
      const answer = await manage("POST", "/keys", { name: "k", external: { user: "u" } });
      const created = (await answer.json()) as { data: { hash: string }; key: string };
      expect([answer.status, validate("CreatedKey", created)]).toEqual([201, []]);
      const one = `/keys/${created.data.hash}`;
      expect(validate("KeyList", await (await manage("GET", "/keys")).json())).toEqual([]);
      expect(validate("KeyAnswer", await (await manage("GET", one)).json())).toEqual([]);
      expect(validate("KeyAnswer", await (await manage("PATCH", one, { name: "l" })).json())).toEqual([]);
      const authorization = `Bearer ${created.key}`;
      const itself = [await manage("GET", "/key"), await send("GET", "/key", undefined, { authorization })];
      for (const shown of itself) expect(validate("CurrentKeyAnswer", await shown.json())).toEqual([]);
      expect(validate("DeletedKey", await (await manage("DELETE", one)).json())).toEqual([]);
      await expectFailure(await manage("GET", one), 404);
      await expectFailure(await manage("GET", "/keys?limit=0"), 400);
      await expectFailure(await manage("POST", "/keys", { name: "k", limit: -5 }), 400);
      await expectFailure(await manage("POST", "/keys", { name: "k", creator_user_id: "u" }), 400);
      await expectFailure(await send("GET", "/key", undefined, { authorization }), 401);
      await expectFailure(await send("GET", "/keys"), 403);
    });

    test("fails with documented errors", async () => {
      await expectFailure(await manage("POST", path(), { key_hashes: [] }), 400);
      await expectFailure(await manage("PATCH", "/end-users/employee_123", {}), 400);
      await expectFailure(await send("POST", path(), hashes(), { authorization: "" }), 401);
      await expectFailure(await send("POST", path(), hashes()), 403);
      await expectFailure(await manage("POST", "/guardrails/none/assignments/keys", hashes()), 404);
      await expectFailure(await manage("PATCH", "/end-users/nobody", { is_active: true }), 404);
    });
  });

  test("the list of models matches the published document", async () => {
    const models: unknown = await (await send("GET", "/models")).json();
    expect(validate("ModelList", models)).toEqual([]);
    expect(models).toMatchObject({ data: expect.arrayContaining([expect.objectContaining({ id: model })]) });
    const endpoints: unknown = await (await send("GET", "/models/acme/large/endpoints")).json();
    expect(validate("EndpointList", endpoints)).toEqual([]);
    const providers: unknown = await (await send("GET", "/providers")).json();
    expect(validate("ProviderList", providers)).toEqual([]);
    await expectFailure(await send("GET", "/models?limit=0"), 400);
    await expectFailure(await send("GET", "/models/acme/none/endpoints"), 404);
  });

  test("the document and its page are served without a key", async () => {
    const published = await fetch(`${installation.baseUrl}/openapi.json`);
    expect([published.status, await published.json()]).toEqual([200, document]);
    const page = await fetch(new URL("/docs", installation.baseUrl));
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  });
});
