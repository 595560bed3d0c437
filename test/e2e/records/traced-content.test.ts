/** Prompts and answers in traces, as a collector receives them: of which keys, in which form, after redaction, and only with every permission. */
import { randomBytes } from "node:crypto";
import { on, once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { WebSocket } from "ws";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type CollectedSpan, type Collector, startCollector } from "../../support/collector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

const maxBytes = 2_048;
const config = (tracing: string) => `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - {id: acme/large, input_modalities: [text, image], endpoints: [{provider: acme}]}
${tracing}
`;

let acme: Upstream;
let collector: Collector;
let installation: Installation;
/** A key with its content in traces, one with a guardrail as well, and one without either. */
let traced: string;
let guarded: string;
let untraced: string;
/** A key whose guardrail restricts models to providers without retention. */
let unretained: string;

beforeAll(async () => {
  acme = await startUpstream();
  collector = await startCollector();
  installation = await startInstallation({
    config: config(`tracing: {content: true, max_bytes: ${maxBytes}}`),
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  traced = (await makeKey({ trace_content: true })).key;
  untraced = (await makeKey({})).key;
  const withRules = await makeKey({ trace_content: true });
  guarded = withRules.key;
  const rules = [
    { pattern: "heron-\\d+", action: "redact", label: "[BIRD]" },
    { pattern: "forbidden", action: "block" },
  ];
  const settings = { name: "birds", applies_to: "both", content_filters: rules };
  const { data } = await administer("POST", "/guardrails", settings);
  await administer("POST", `/guardrails/${data.id}/assignments/keys`, { key_hashes: [withRules.hash] });
  const retention = await administer("POST", "/guardrails", { name: "zdr", enforce_zdr_groups: { nobody: true } });
  unretained = (await makeKey({ trace_content: true, further_guardrails: [retention.data.id] })).key;
});
afterAll(async () => {
  await installation?.stop();
  await collector?.stop();
  await acme?.stop();
});
beforeEach(() => acme.script([chatAnswer({ role: "assistant", content: "Hello" }, "stop")]));

/** Settings of a key or a guardrail. */
interface Made {
  readonly id: string;
  readonly hash: string;
  readonly trace_content: boolean;
}

async function administer(method: string, path: string, body: object) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as { readonly data: Made; readonly key: string };
  expect([response.status, json]).toEqual([response.status < 300 ? response.status : 200, json]);
  return json;
}

async function makeKey(settings: object) {
  const made = await administer("POST", "/keys", { name: "a", ...settings });
  expect(made.data.trace_content).toBe("trace_content" in settings);
  return { key: made.key, hash: made.data.hash };
}

interface Sent {
  readonly key?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request in a trace of its own. @returns the span of its turn */
async function turnSpan(body: object, { key = traced, path = "/responses", headers = {} }: Sent = {}) {
  const traceId = randomBytes(16).toString("hex");
  const traceparent = `00-${traceId}-${randomBytes(8).toString("hex")}-01`;
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", traceparent, ...headers },
    body: JSON.stringify({ model: "acme/large", ...body }),
  });
  await response.text();
  return await spanOf(traceId);
}

async function spanOf(traceId: string): Promise<CollectedSpan> {
  for (let count = 1; ; count++) {
    const spans = await collector.trace(traceId, count);
    const turn = spans.find(({ name }) => name === "turn");
    if (turn) return turn;
  }
}

/** Instructions, messages and answer in a span, without absent ones. */
function contentOf({ attributes }: CollectedSpan): object {
  const names = ["gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"];
  const present = names.filter((name) => attributes[name] !== undefined);
  return Object.fromEntries(
    present.map((name) => [name.replace("gen_ai.", ""), JSON.parse(String(attributes[name])) as unknown]),
  );
}

const text = (content: unknown) => ({ type: "text", content });
const said = (role: string, content: unknown) => ({ role, parts: [text(content)] });
const answered = (content: string, reason = "stop") => [{ ...said("assistant", content), finish_reason: reason }];

describe("the span of a turn has its prompt and answer:", () => {
  const expected = { "input.messages": [said("user", "Hi")], "output.messages": answered("Hello") };

  test.each<[string, object, Sent]>([
    ["/responses", { input: "Hi" }, {}],
    ["/chat/completions", { messages: [{ role: "user", content: "Hi" }] }, { path: "/chat/completions" }],
    ["/messages", { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }, { path: "/messages" }],
  ])("at %s", async (_, body, sent) => {
    const span = await turnSpan(body, sent);
    expect(contentOf(span)).toEqual(expected);
    expect(span.attributes["gen_ai.operation.name"]).toBe("invoke_agent");
    expect(span.attributes).not.toHaveProperty("sluice.content_is_cut");
  });

  test("of a stream", async () => {
    acme.script([chatStream("Hel", "lo")]);
    expect(contentOf(await turnSpan({ input: "Hi", stream: true }))).toEqual(expected);
  });

  test("over gRPC, where the caller permits it", async () => {
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    const send = async (fields: Parameters<typeof turnRequest>[2]) => {
      const traceId = randomBytes(16).toString("hex");
      const request = turnRequest("acme/large", "Hi", fields);
      const headers = { traceparent: `00-${traceId}-${"1".repeat(16)}-01` };
      // The request may fail without a provider that retains no data; its span exists all the same.
      await runTurn(client, traced, request, 60_000, headers).over.catch(() => {});
      return contentOf(await spanOf(traceId));
    };
    try {
      expect(await send({ mayKeepContent: true })).toEqual(expected);
      expect(await send({})).toEqual({});
      const provider = create(ProviderPreferencesSchema, { zdr: true });
      expect(await send({ mayKeepContent: true, provider })).toEqual({});
    } finally {
      client.close();
    }
  });

  test("with instructions, tool calls, reasoning, and images without their bytes", async () => {
    const call = { id: "call_2", type: "function", function: { name: "f", arguments: '{"b":2}' } };
    acme.script([
      chatAnswer({ role: "assistant", content: null, reasoning_content: "So.", tool_calls: [call] }, "tool_calls"),
    ]);
    const span = await turnSpan({
      instructions: "Be brief",
      tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
      input: [
        { role: "developer", content: "Use f" },
        {
          role: "user",
          content: [
            { type: "input_text", text: "Look" },
            { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
          ],
        },
        { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: "call_1", output: "one" },
      ],
    });
    expect(contentOf(span)).toEqual({
      system_instructions: [text("Be brief")],
      "input.messages": [
        said("developer", "Use f"),
        { role: "user", parts: [text("Look"), { type: "blob", modality: "image", content: "" }] },
        { role: "assistant", parts: [{ type: "tool_call", id: "call_1", name: "f", arguments: '{"a":1}' }] },
        { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: "one" }] },
      ],
      "output.messages": [
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "So." },
            { type: "tool_call", id: "call_2", name: "f", arguments: '{"b":2}' },
          ],
          finish_reason: "tool_call",
        },
      ],
    });
  });

  test("with the reason of an answer that was cut or failed", async () => {
    acme.script([chatAnswer({ role: "assistant", content: "Hel" }, "length")]);
    expect(contentOf(await turnSpan({ input: "Hi" }))).toMatchObject({ "output.messages": answered("Hel", "length") });
    acme.script([{ status: 400, chunks: [{ json: { error: { message: "no" } } }] }]);
    expect(contentOf(await turnSpan({ input: "Hi" }))).toMatchObject({
      "output.messages": [{ role: "assistant", parts: [], finish_reason: "error" }],
    });
  });
});

describe("a guardrail of a traced request", () => {
  test.each([false, true])("redacts the traced content, stream: %s", async (stream) => {
    const answer = "A heron-2 flies";
    acme.script([
      stream ? chatStream("A her", "on-2 flies") : chatAnswer({ role: "assistant", content: answer }, "stop"),
    ]);
    const content = contentOf(
      await turnSpan({ input: "A heron-1?", instructions: "No heron-3", stream }, { key: guarded }),
    );
    expect(content).toEqual({
      system_instructions: [text("No [BIRD]")],
      "input.messages": [said("user", "A [BIRD]?")],
      "output.messages": answered("A [BIRD] flies"),
    });
  });

  test("that refuses a request leaves no word of it in the trace", async () => {
    const span = await turnSpan({ input: "forbidden heron" }, { key: guarded });
    expect(contentOf(span)).not.toHaveProperty("input.messages");
    expect(JSON.stringify(span)).not.toContain("forbidden heron");
  });

  test("that refuses an answer leaves no word of it in the trace", async () => {
    acme.script([chatAnswer({ role: "assistant", content: "a forbidden swan" }, "stop")]);
    const span = await turnSpan({ input: "Hi" }, { key: guarded });
    expect(JSON.stringify(span)).not.toContain("swan");
  });
});

describe("traced content is bounded:", () => {
  const long = (letter: string, length: number) => letter.repeat(length);

  test("the last messages are kept, and the beginning of the one before them", async () => {
    const input = ["a", "b", "c"].map((letter) => ({ role: "user", content: long(letter, 700) }));
    const span = await turnSpan({ input });
    expect(contentOf(span)).toMatchObject({
      "input.messages": [
        said("user", expect.stringMatching(/^a{20,}…$/)),
        said("user", long("b", 700)),
        said("user", long("c", 700)),
      ],
    });
    expect(span.attributes["sluice.content_is_cut"]).toBe(true);
  });

  test.each([
    ["letters", "a"],
    ["characters of four bytes", "🦆"],
    ["characters that JSON escapes", '"'],
  ])("the beginning of one long message of %s is kept, and of a long answer", async (_, letter) => {
    acme.script([chatAnswer({ role: "assistant", content: long(letter, 5_000) }, "stop")]);
    const span = await turnSpan({ input: long(letter, 5_000), instructions: long(letter, 5_000) });
    for (const [name, value] of Object.entries(span.attributes).filter(([each]) =>
      /messages|instructions/.test(each),
    )) {
      const beginning = new RegExp(`"content":"(?:${letter === '"' ? '\\\\"' : letter}){150,}…"`);
      expect([name, value]).toEqual([name, expect.stringMatching(beginning)]);
      expect(Buffer.byteLength(String(value))).toBeLessThanOrEqual(maxBytes);
    }
    expect(Object.keys(contentOf(span))).toHaveLength(3);
  });
});

interface Frame {
  readonly type: string;
  readonly response?: { readonly id: string };
}

describe("a trace has no content", () => {
  test.each<[string, object, Sent | (() => Sent)]>([
    ["of a key that has not opted in", {}, () => ({ key: untraced })],
    ["of a request with store: false", { store: false }, {}],
    ["of a request without data retention", { provider: { zdr: true } }, {}],
    ["of a key whose guardrail wants no retention", {}, () => ({ key: unretained })],
    ["of a request that denies data collection", { provider: { data_collection: "deny" } }, {}],
  ])("when %s", async (_, fields, sent) => {
    const span = await turnSpan({ input: "Hi", ...fields }, typeof sent === "function" ? sent() : sent);
    expect(contentOf(span)).toEqual({});
    expect(span.attributes).not.toHaveProperty("gen_ai.operation.name");
  });

  test("for frames on a WebSocket that continue a response with store: false", async () => {
    const traceparent = () => `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
    const headers = { authorization: `Bearer ${traced}`, traceparent: traceparent() };
    const socket = new WebSocket(`${installation.baseUrl.replace("http", "ws")}/responses`, { headers });
    await once(socket, "open");
    const messages = on(socket, "message");
    const send = async (fields: object): Promise<string> => {
      socket.send(JSON.stringify({ type: "response.create", model: "acme/large", ...fields }));
      for (;;) {
        const { value } = (await messages.next()) as { readonly value: readonly [Buffer] };
        const event = JSON.parse(value[0].toString()) as Frame;
        if (event.type === "response.completed") return event.response?.id ?? "";
      }
    };
    try {
      const previous = await send({ input: "a hidden word", store: false });
      const next = await send({ input: "more", previous_response_id: previous });
      await send({ input: "again", previous_response_id: next });
      await send({ input: "another conversation" });
      const bodies = () => collector.bodies.join("\n");
      await eventually(() => bodies().includes("another conversation"));
      expect(bodies()).not.toContain("hidden word");
    } finally {
      socket.close();
    }
  });

  test("once a key has opted out", async () => {
    const { key, hash } = await makeKey({ trace_content: true });
    expect(contentOf(await turnSpan({ input: "Hi" }, { key }))).not.toEqual({});
    await administer("PATCH", `/keys/${hash}`, { trace_content: false });
    expect(contentOf(await turnSpan({ input: "Hi" }, { key }))).toEqual({});
  });

  test("unless the configuration file enables it", async () => {
    writeFileSync(join(installation.dataDir, "sluice.yaml"), config(""));
    await eventually(async () => JSON.stringify(contentOf(await turnSpan({ input: "Hi" }))) === "{}");
  });
});
