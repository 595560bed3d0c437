/**
 * The SDK is generated from the contract on which Sluice's is based. It marks unknown values instead of refusing them, so every answer is
 * searched to its last member for such a mark.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { OpenRouter } from "@openrouter/sdk";
import { stepCountIs } from "@openrouter/sdk/lib/stop-conditions.js";
import { tool } from "@openrouter/sdk/lib/tool.js";
import type * as models from "@openrouter/sdk/models";
import * as errors from "@openrouter/sdk/models/errors";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { z } from "zod";
import { readSample, sampleStream } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";

const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const weather = { type: "function" as const, name: "get_weather", description: "Weather", strict: null, parameters };

/** Paths of members the client could not read as a known kind. */
function unknowns(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("isUnknown" in value) return [`${path}: ${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, entry]) => unknowns(entry, `${path}.${key}`));
}

describe("@openrouter/sdk", () => {
  let upstream: Upstream;
  let installation: Installation;
  let client: OpenRouter;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: chat, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: native, dialect: responses, base_url: "${upstream.url}/v1"}
  - {id: hosting, dialect: responses, base_url: "${upstream.url}/v1", native_tools: ["service:datetime", "service:web_search"]}
models:
  - {id: far/hosting, endpoints: [{provider: hosting}]}
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: far/chat, endpoints: [{provider: chat}]}
  - {id: far/native, endpoints: [{provider: native}]}
compat: {tool_type_aliases: ["openrouter:"], emit_metadata_alias: openrouter_metadata}
`,
    });
    client = clientOf(installation.apiKey);
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  // The client retries a 5xx for an hour by default.
  const clientOf = (apiKey: string) =>
    new OpenRouter({ apiKey, serverURL: installation.baseUrl, retryConfig: { strategy: "none" } });

  // The SDK types every answer as a union of a stream and an object.
  async function sendRequest(request: models.ResponsesRequest): Promise<models.OpenResponsesResult> {
    const answer = await client.responses.send({
      responsesRequest: { model: "sluice/echo", ...request, stream: false },
    });
    if (!("output" in answer)) throw new Error("a stream where none was asked for");
    return answer;
  }

  async function stream(
    request: models.ResponsesRequest,
    seen: (event: models.StreamEvents) => void = () => {},
  ): Promise<models.StreamEvents[]> {
    const answer = await client.responses.send({
      responsesRequest: { model: "sluice/echo", ...request, stream: true },
    });
    if ("output" in answer) throw new Error("no stream where one was asked for");
    const events = [];
    for await (const event of answer) {
      events.push(event);
      seen(event);
    }
    return events;
  }

  /** The answer without a stream, and the answer in the last event of a stream. */
  async function bothAnswers(request: models.ResponsesRequest) {
    const whole = await sendRequest(request);
    const events = await stream(request);
    expect([unknowns(whole), unknowns(events)]).toEqual([[], []]);
    expect(events.map((event) => (event as { sequenceNumber: number }).sequenceNumber)).toEqual([...events.keys()]);
    const terminal = events.at(-1);
    if (terminal === undefined || !("response" in terminal)) throw new Error(`ends with ${JSON.stringify(terminal)}`);
    expect(terminal.type).toBe(`response.${whole.status}`);
    expect(terminal.response.output.map((item) => item.type)).toEqual(whole.output.map((item) => item.type));
    return { whole, events, streamed: terminal.response };
  }

  describe("with the built-in model", () => {
    const requests: Record<string, [models.ResponsesRequest, string[]]> = {
      text: [{ input: "Name a moon." }, ["message"]],
      reasoning: [{ input: "Is 91 prime?", reasoning: { effort: "low", summary: "auto" } }, ["reasoning", "message"]],
      "a function call": [{ input: "Weather in Oslo?", tools: [weather] }, ["function_call"]],
      "a function by name": [
        { input: "Oslo?", tools: [weather], toolChoice: { type: "function", name: "get_weather" } },
        ["function_call"],
      ],
      "a refusal": [{ input: "refuse: this" }, ["message"]],
      "a cut answer": [{ input: "Count.", maxOutputTokens: 3 }, ["message"]],
      JSON: [
        {
          input: "A moon?",
          text: { format: { type: "json_schema", name: "moon", schema: parameters, strict: true }, verbosity: "low" },
        },
        ["message"],
      ],
      "many settings": [
        {
          input: "Hi",
          instructions: "Be brief.",
          temperature: 0.5,
          topP: 0.9,
          frequencyPenalty: 0,
          presencePenalty: 0,
          metadata: { team: "moon" },
          user: "employee_123",
          sessionId: "s1",
          serviceTier: "auto",
          promptCacheKey: "k",
          safetyIdentifier: "h",
          truncation: "disabled",
          parallelToolCalls: false,
          include: ["reasoning.encrypted_content"],
        },
        ["message"],
      ],
    };

    test.each(Object.entries(requests))(
      "finds no unknown field in an answer with %s, streamed or not",
      async (_, [request, items]) => {
        const { whole, streamed } = await bothAnswers(request);
        expect(whole.output.map((item) => item.type)).toEqual(items);
        expect(streamed.usage).toEqual(whole.usage);
      },
    );
  });

  describe("with a provider of the Responses format", () => {
    test.each<[string, models.ResponsesRequest]>([
      ["05-reasoning-stream", { include: ["reasoning.encrypted_content"] }],
      ["06-refusal-stream", {}],
      ["08-incomplete", {}],
      ["09-web-search-stream", { tools: [{ type: "web_search", searchContextSize: "low" }] }],
      [
        "16-custom-and-patch",
        { tools: [{ type: "custom", name: "run_sql", format: { type: "text" } }, { type: "apply_patch" }] },
      ],
    ])("finds no unknown field in an answer with %s, streamed or not", async (name, request) => {
      const terminal = sampleStream(`${name}.sse`).events.at(-1);
      const whole: Reply = { chunks: [{ json: terminal?.["response"] }] };
      upstream.script([whole, { chunks: [{ bytes: readSample(`${name}.sse`) }] }]);
      const answers = await bothAnswers({ model: "far/native", input: "Hello", ...request });
      expect(answers.whole.output).not.toHaveLength(0);
    });
  });

  test.each(["openrouter:", "service:"])(
    "reads calls of a provider's own tools named %s in its own spelling",
    async (prefix) => {
      const response = JSON.parse(
        readSample("10-service-tools.response.json").replaceAll("service:", prefix),
      ) as object;
      const whole: Reply = { chunks: [{ json: response }] };
      upstream.script([whole, { chunks: [{ sse: [{ type: "response.completed", response }] }] }]);
      const tools: models.ResponsesRequest["tools"] = [
        { type: "openrouter:datetime", parameters: { timezone: "Europe/Oslo" } },
        { type: "openrouter:web_search", parameters: { maxResults: 3 } },
      ];
      const request = { model: "far/hosting", input: "What day is it, and what is new?", tools };
      const answer = await sendRequest(request);
      const events = await stream(request);
      expect(answer.output.map((item) => item.type)).toEqual([
        "openrouter:datetime",
        "openrouter:web_search",
        "message",
      ]);
      // This client does not know all kinds of tools repeated in a response, so unknown members there are expected.
      const repeated = /^(\.\d+\.response)?\.tools\.\d+: /;
      expect([...unknowns(answer), ...unknowns(events)].filter((path) => !repeated.test(path))).toEqual([]);

      const next = [...answer.output, { role: "user", content: "And tomorrow?" }] as models.InputsUnion;
      upstream.script([whole]);
      await sendRequest({ ...request, input: next });
      const sent = upstream.requests.at(-1)?.json["input"] as { type: string }[];
      expect(sent.map((item) => item.type)).toEqual([
        "openrouter:datetime",
        "openrouter:web_search",
        "message",
        "message",
      ]);
    },
  );

  test("runs its tools with callModel until the model has no more calls", async () => {
    const execute = ({ town }: { town: string }) => ({ sky: `clear over ${town}` });
    const inputSchema = z.object({ town: z.string() });
    const outputSchema = z.object({ sky: z.string() });
    const result = client.callModel({
      model: "sluice/echo",
      input: "Weather in Oslo?",
      tools: [tool({ name: "get_weather", description: "Weather", inputSchema, outputSchema, execute })],
      stopWhen: stepCountIs(5),
    });
    expect(await result.getText()).toContain("clear over example");
  });

  test("finds no unknown field in the lists of the catalogue", async () => {
    const listed = [];
    for await (const page of await client.models.list({ limit: 2 })) {
      expect(unknowns(page)).toEqual([]);
      listed.push(...page.result.data.map(({ id }) => id));
    }
    expect(listed).toEqual(["far/hosting", "sluice/echo", "far/chat", "far/native"]);
    const { data: model } = await client.endpoints.list({ author: "sluice", slug: "echo" });
    expect([model.id, model.endpoints.map(({ tag }) => tag), unknowns(model)]).toEqual(["sluice/echo", ["sluice"], []]);
    const { data: providers } = await client.providers.list();
    expect([providers.map(({ slug }) => slug), unknowns(providers)]).toEqual([
      ["sluice", "chat", "native", "hosting"],
      [],
    ]);
  });

  test("requests the receipt by its own header, and reads it under its own name", async () => {
    const responsesRequest = { model: "sluice/echo", input: "Hi", stream: false as const };
    const answer = await client.responses.send({ xOpenRouterMetadata: "enabled", responsesRequest });
    expect(answer).toMatchObject({ openrouterMetadata: { requested: "sluice/echo", attempt: 1 } });
    expect(unknowns(answer)).toEqual([]);
  });

  describe("throws errors of its own classes:", () => {
    const failures: [string, Reply, new (...args: never[]) => Error][] = [
      ["a provider's 400", { status: 400 }, errors.BadRequestResponseError],
      ["a provider's 404", { status: 404 }, errors.NotFoundResponseError],
      ["a provider's 413", { status: 413 }, errors.PayloadTooLargeResponseError],
      ["a provider's 422", { status: 422 }, errors.UnprocessableEntityResponseError],
      ["a provider's 429", { status: 429 }, errors.TooManyRequestsResponseError],
      ["a provider's 500", { status: 500 }, errors.BadGatewayResponseError],
      ["a provider's 504", { status: 504 }, errors.EdgeNetworkTimeoutResponseError],
      ["a provider's 529", { status: 529 }, errors.ProviderOverloadedResponseError],
    ];

    test.each(failures)("%s has its class", async (_, reply, kind) => {
      upstream.script([reply]);
      await expect(sendRequest({ model: "far/chat", input: "Hi" })).rejects.toBeInstanceOf(kind);
      await expect(stream({ model: "far/chat", input: "Hi" })).rejects.toBeInstanceOf(kind);
    });

    test("a wrong key, or a management key at an inference operation, has its class", async () => {
      const request = { responsesRequest: { model: "sluice/echo", input: "Hi" } };
      const stranger = clientOf("sk-unknown").responses.send(request);
      await expect(stranger).rejects.toBeInstanceOf(errors.UnauthorizedResponseError);
      const manager = clientOf(installation.managementKey).responses.send(request);
      await expect(manager).rejects.toBeInstanceOf(errors.ForbiddenResponseError);
    });

    test("a failure in the middle of a stream is the last event", async () => {
      const [before, failed] = readSample("07-midstream-error.sse").split(/(?=event: response\.failed)/);
      let go = () => {};
      const after = new Promise<void>((resolve) => {
        go = resolve;
      });
      upstream.script([{ chunks: [{ bytes: before ?? "" }, { bytes: failed ?? "", after }] }]);
      const events = await stream({ model: "far/native", input: "Hi" }, go);
      expect(unknowns(events)).toEqual([]);
      expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    });
  });

  test("makes, lists, shows, changes and deletes keys", async () => {
    const { apiKeys } = clientOf(installation.managementKey);
    const made = await apiKeys.create({
      requestBody: { name: "sdk", external: { user: "employee_123" }, expiresAt: new Date("2999-01-31") },
    });
    const { hash } = made.data;
    expect(hashKey(made.key)).toBe(hash);
    expect(made.data).toMatchObject({ name: "sdk", externalUser: "employee_123", limit: null, usage: 0 });
    const listed = await apiKeys.list({ includeDisabled: true, offset: 0 });
    expect(listed.data).toContainEqual(made.data);
    expect(await apiKeys.get({ hash })).toEqual({ data: made.data });
    const itself = await clientOf(made.key).apiKeys.getCurrentKeyMetadata();
    expect(itself.data).toMatchObject({ label: made.data.label, isManagementKey: false });
    const changed = await apiKeys.update({ hash, requestBody: { name: "renamed", disabled: true } });
    expect(changed.data).toMatchObject({ name: "renamed", disabled: true });
    expect([made, listed, itself, changed].flatMap((answer) => unknowns(answer))).toEqual([]);
    expect(await apiKeys.delete({ hash })).toEqual({ deleted: true });
    await expect(apiKeys.get({ hash })).rejects.toBeInstanceOf(errors.NotFoundResponseError);
    const budget = await apiKeys.create({ requestBody: { name: "sdk", limit: 5, limitReset: "daily" } });
    expect([unknowns(budget), budget.data]).toMatchObject([[], { limit: 5, limitRemaining: 5, limitReset: "daily" }]);
    const member = apiKeys.create({ requestBody: { name: "sdk", creatorUserId: "user_1" } });
    await expect(member).rejects.toBeInstanceOf(errors.BadRequestResponseError);
    const notAllowed = clientOf(installation.apiKey).apiKeys.list();
    await expect(notAllowed).rejects.toMatchObject({ statusCode: 403 });
  });

  test("reads credits, activity, a generation and the count of models", async () => {
    const manager = clientOf(installation.managementKey);
    const unlimited = await manager.credits.getCredits();
    expect(unlimited.data.totalCredits).toBeGreaterThan(1e6);
    await installation.admin("workspaces", "create", "--name", "paid", "--limit", "5");
    const made = await installation.admin(
      "keys",
      "create",
      "--name",
      "k",
      "--workspace",
      "paid",
      "--management",
      "--json",
    );
    const { key } = JSON.parse(made.stdout) as { key: string };
    expect(await clientOf(key).credits.getCredits()).toEqual({ data: { totalCredits: 5, totalUsage: 0 } });

    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hi" }),
    });
    await answer.text();
    const id = answer.headers.get("x-generation-id") ?? "";
    let generation: Awaited<ReturnType<typeof client.generations.getGeneration>> | undefined;
    await eventually(async () => {
      generation = await client.generations.getGeneration({ id }).catch(() => undefined);
      return generation !== undefined;
    });
    expect(generation?.data).toMatchObject({ id, model: "sluice/echo" });
    const activity = await manager.analytics.getUserActivity();
    expect(activity.data).toContainEqual(expect.objectContaining({ model: "sluice/echo" }));
    expect(await client.models.count({})).toEqual({ data: { count: 4 } });
    expect([generation, activity].flatMap((each) => unknowns(each))).toEqual([]);
  });

  test("makes, lists, shows, changes and deletes guardrails", async () => {
    const { guardrails } = clientOf(installation.managementKey);
    const contentFilters = [{ pattern: "forbidden", action: "block" as const, label: null }];
    const made = await guardrails.create({ createGuardrailRequest: { name: "sdk", description: "d", contentFilters } });
    const { id } = made.data;
    expect(made.data).toMatchObject({ name: "sdk", description: "d", contentFilters, includeByokInBudgets: false });
    const listed: unknown[] = [];
    for await (const page of await guardrails.list({ limit: 1 })) listed.push(...page.result.data);
    expect(listed).toContainEqual(made.data);
    expect(await guardrails.get({ id })).toEqual({ data: made.data });
    const changed = await guardrails.update({ id, updateGuardrailRequest: { name: "renamed", contentFilters: null } });
    expect(changed.data).toMatchObject({ name: "renamed", description: "d", contentFilters: null });
    expect([...unknowns(made), ...unknowns(listed), ...unknowns(changed)]).toEqual([]);
    expect(await guardrails.delete({ id })).toEqual({ deleted: true });
    await expect(guardrails.get({ id })).rejects.toBeInstanceOf(errors.NotFoundResponseError);
    const budget = { name: "sdk", limitUsd: 5, resetInterval: "daily" } as const;
    const { data: bounded } = await guardrails.create({ createGuardrailRequest: budget });
    expect(bounded).toMatchObject(budget);
    const endless = guardrails.create({ createGuardrailRequest: { name: "sdk", limitUsd: 5 } });
    await expect(endless).rejects.toBeInstanceOf(errors.BadRequestResponseError);
    const notAllowed = client.guardrails.list();
    await expect(notAllowed).rejects.toMatchObject({ statusCode: 403 });
  });

  test("assigns a guardrail to a key, is blocked by it, and removes it", async () => {
    const created = await installation.admin("guardrails", "create", "--name", "g", "--block", "forbidden", "--json");
    const { id } = JSON.parse(created.stdout) as { id: string };
    const { guardrails } = clientOf(installation.managementKey);
    const keys = { keyHashes: [hashKey(installation.apiKey)] };
    expect(await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: keys })).toEqual({ assignedCount: 1 });
    const pages = [await guardrails.listKeyAssignments({}), await guardrails.listGuardrailKeyAssignments({ id })];
    for (const { result } of pages) {
      expect(unknowns(result)).toEqual([]);
      expect(result).toMatchObject({ totalCount: 1, data: [{ guardrailId: id, keyHash: keys.keyHashes[0] }] });
    }
    const blocked = await sendRequest({ input: "forbidden" }).catch((error: unknown) => error);
    expect(blocked).toBeInstanceOf(errors.ForbiddenResponseError);
    expect((blocked as errors.ForbiddenResponseError).error).toMatchObject({
      code: 403,
      metadata: { patterns: ["forbidden"] },
    });
    expect(await guardrails.bulkUnassignKeys({ id, bulkUnassignKeysRequest: keys })).toEqual({ unassignedCount: 1 });
    expect((await sendRequest({ input: "forbidden" })).status).toBe("completed");
    const missing = guardrails.bulkAssignKeys({ id: "nothing", bulkAssignKeysRequest: keys });
    await expect(missing).rejects.toBeInstanceOf(errors.NotFoundResponseError);
    const notAllowed = client.guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: keys });
    await expect(notAllowed).rejects.toMatchObject({ statusCode: 403 });
  });
});
