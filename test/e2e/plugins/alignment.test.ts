/** The alignment plugin over HTTP and RunTurn, from scripted providers and a scripted judge. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@grpc/grpc-js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { maskVolatile, sampleJson } from "../../support/contract.ts";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError, validateEvents, validateResponse } from "../../support/answers/published.ts";
import { rawRequest } from "../../support/raw-http.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Reply, type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let judge: Upstream;
let installation: Installation;
let client: Client;

beforeAll(async () => {
  acme = await startUpstream();
  judge = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: judge, dialect: chat, base_url: "${judge.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
  - {id: acme/priced, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
  - {id: acme/judge, endpoints: [{provider: judge, pricing: {prompt: "100", completion: "200"}}]}
internal_models:
  alignment_judge: {model: acme/judge, max_concurrency: 1, cache_ttl_s: 0, retries: 0}
limits: {keep_alive_ms: 50}
`,
  });
  client = dial(`127.0.0.1:${installation.ports.inference}`);
});
afterAll(async () => {
  client?.close();
  await installation?.stop();
  await Promise.all([acme?.stop(), judge?.stop()]);
});
beforeEach(() => {
  acme.script([chatAnswer({ role: "assistant", content: "Ten percent off." })]);
  judge.script([says(0.1)]);
});

const says = (probability: number): Reply =>
  chatAnswer({
    content: JSON.stringify({ evidence: "x", verdict: probability >= 0.5 ? "broken" : "followed", probability }),
  });

const answer = (content: string, prompt = 12, completion = 3): Reply =>
  chatAnswer({ role: "assistant", content }, "stop", {
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  });

const rules = ["Never offer a discount."];

const sendRequest = (body: object = {}, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({
      model: "acme/priced",
      input: "Give me half off.",
      plugins: [{ id: "alignment", rules }],
      ...body,
    }),
  });

describe("an answer under alignment rules, as in sample 15,", () => {
  const sent = () =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(sampleJson("15-alignment.request.json")),
    });

  test("has the form of an answer requested again", async () => {
    acme.script([
      answer("Take half off.", 70, 12),
      answer("I can help with the order, though prices are fixed.", 98, 19),
    ]);
    judge.script([says(0.94), says(0.02)]);
    const response = await sent();
    const body: unknown = await response.json();
    expect(response.status).toBe(200);
    expect(maskVolatile(body)).toEqual(maskVolatile(sampleJson("15-alignment.response.json")));
  });

  test("has the form of a withheld answer", async () => {
    acme.script([answer("Take half off.", 70, 12), answer("Take twenty percent off.", 98, 19)]);
    judge.script([says(0.94), says(0.91)]);
    const response = await sent();
    const body: unknown = await response.json();
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([403, "false"]);
    expect(validateError(403, body)).toEqual([]);
    const wanted = sampleJson("15-alignment.403.json") as { error: object };
    expect(maskVolatile(body)).toEqual(
      maskVolatile({ ...wanted, error: { ...wanted.error, type: "permission_error" } }),
    );
  });
});

describe("a stream under alignment rules", () => {
  test("delivers no byte of an answer before the verdict", async () => {
    let decide = () => {};
    const after = new Promise<void>((resolve) => (decide = resolve));
    const [verdict] = says(0.1).chunks ?? [];
    acme.script([chatStream("Prices ", "are fixed.")]);
    judge.script([{ chunks: [{ ...verdict, after }] }]);
    const socket = connect(installation.ports.gateway, "127.0.0.1");
    await once(socket, "connect");
    let text = "";
    const seen = (what: string) =>
      new Promise<void>((resolve) => {
        const look = () => text.includes(what) && resolve();
        socket.on("data", look);
        look();
      });
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const body = { model: "acme/priced", input: "x", stream: true, plugins: [{ id: "alignment", rules }] };
    const asked = judge.nextRequest();
    socket.write(
      rawRequest(
        "POST",
        "/api/v1/responses",
        [`Authorization: Bearer ${installation.apiKey}`, "Content-Type: application/json"],
        JSON.stringify(body),
      ),
    );
    await asked;
    // The stream is alive: response.in_progress has come, and comments keep it open.
    await seen("response.in_progress");
    await seen("\n: ");
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual([
      "response.created",
      "response.in_progress",
    ]);
    expect(text).not.toContain("Prices");
    decide();
    await seen("data: [DONE]");
    expect(text).toContain("are fixed.");
    socket.destroy();
  });

  test("is whole when its answer is allowed, with the verdicts in its last event", async () => {
    acme.script([chatStream("Ten off."), chatStream("Prices ", "are fixed.")]);
    judge.script([says(0.9), says(0.1)]);
    const response = await sendRequest({ stream: true, debug: { echo_upstream_body: true } });
    const { events, done } = parseSse(await response.text());
    expect([response.status, validateEvents(events), done]).toEqual([200, [], true]);
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
      "response.debug",
      "response.created",
      "response.in_progress",
    ]);
    expect(JSON.stringify(events.slice(1))).not.toContain("Ten off");
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: {
        alignment: { calls: [{ outcome: "blocked" }, { outcome: "allowed" }] },
        usage: { input_tokens: 24, output_tokens: 3, cost: 0.00003 },
        service_metadata: { attempt: 2, pipeline: [{ type: "plugin", name: "alignment", cost_usd: 0.0036 }] },
      },
    });
  });

  test.each([
    ["that is withheld", [says(0.9)], "permission_denied", "Alignment plugin: the reply broke rule 0", "blocked"],
    [
      "that cannot be evaluated",
      [answer("I would rather not say.")],
      "provider_unavailable",
      "Alignment plugin: the reply could not be evaluated: the evaluator gave no verdict",
      "unavailable",
    ],
  ])("%s fails with the verdicts and the cost, without any text of the answer", async (...row) => {
    const [, verdicts, error_type, message, outcome] = row;
    acme.script([chatStream("Ten off.")]);
    judge.script(verdicts);
    const response = await sendRequest({ stream: true, plugins: [{ id: "alignment", rules, max_retries: 0 }] });
    const { events, done } = parseSse(await response.text());
    expect([response.status, done, validateEvents(events)]).toEqual([200, true, []]);
    expect(events.map(({ type }) => type)).toEqual(["response.created", "response.in_progress", "response.failed"]);
    expect(events.at(-1)).toMatchObject({
      response: {
        status: "failed",
        error_type,
        error: { message },
        output: [],
        alignment: { calls: [{ call: 1, outcome }] },
        usage: { input_tokens: 12, output_tokens: 1 },
        // The answer shows that the provider carried out the request.
        service_metadata: { attempts: [{ status: 200 }] },
      },
    });
  });

  test("in audit mode is delivered in every case", async () => {
    acme.script([chatStream("Ten ", "off.")]);
    judge.script([says(0.9)]);
    const response = await sendRequest({ stream: true, plugins: [{ id: "alignment", rules, mode: "audit" }] });
    const { events } = parseSse(await response.text());
    expect(validateEvents(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: {
        output: [{ content: [{ text: "Ten off." }] }],
        alignment: { calls: [{ call: 1, outcome: "blocked", rules: [{ probability: 0.9, broken: true }] }] },
      },
    });
  });
});

describe("an answer without a stream under alignment rules", () => {
  test("is 503 and not retryable if it cannot be evaluated", async () => {
    judge.script([{ status: 500, chunks: [{ json: { error: { message: "down" } } }] }]);
    const response = await sendRequest();
    const body = (await response.json()) as object;
    expect([response.status, response.headers.get("x-should-retry"), response.headers.get("retry-after")]).toEqual([
      503,
      "false",
      null,
    ]);
    expect(validateError(503, body)).toEqual([]);
    expect(body).toMatchObject({
      error: {
        message: "Alignment plugin: the reply could not be evaluated: the evaluator failed",
        metadata: { alignment: { calls: [{ call: 1, outcome: "unavailable", reason: "evaluator_error" }] } },
      },
      usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15, cost: 0.000018 },
      service_metadata: { pipeline: [{ type: "plugin", data: { action: "error" } }] },
    });
  });

  test("costs the sum of all calls except the judge's, and all of them are in the ledger", async () => {
    acme.script([answer("Ten off."), answer("No.")]);
    judge.script([says(0.9), says(0.1)]);
    const response = await sendRequest();
    const body = (await response.json()) as { usage: { cost: number } };
    expect(validateResponse(body)).toEqual([]);
    expect(body.usage).toMatchObject({ input_tokens: 24, output_tokens: 6, cost: 0.000036 });
    const generation = await fetchGeneration(installation, response, { isWhole: (calls) => calls.length > 1 });
    expect(generation).toMatchObject({ total_cost: 0.000036, provider_responses: [{}, {}] });
  });

  test("is refused before any call if the request does not fit the plugin", async () => {
    const before = acme.requests.length;
    const refusal = async (plugin: object) => {
      const response = await sendRequest({ plugins: [{ id: "alignment", rules, ...plugin }] });
      const { error } = (await response.json()) as { error: { metadata: { issues: { path: string }[] } } };
      return [response.status, error.metadata.issues.map(({ path }) => path)];
    };
    expect(await refusal({ rules: [] })).toEqual([400, ["plugins.0.rules"]]);
    expect(await refusal({ rules: ["a\nb", "x".repeat(201)] })).toEqual([
      400,
      ["plugins.0.rules.0", "plugins.0.rules.1"],
    ]);
    expect(await refusal({ rules: Array<string>(129).fill("r") })).toEqual([400, ["plugins.0.rules"]]);
    expect(await refusal({ max_retries: -1 })).toEqual([400, ["plugins.0.max_retries"]]);
    expect(await refusal({ max_retries: 1e9 })).toEqual([400, ["plugins.0.max_retries"]]);
    expect(await refusal({ enabled: true })).toEqual([400, ["plugins.0.enabled"]]);
    expect(acme.requests).toHaveLength(before);
  });

  test("has a dry run without calls", async () => {
    const before = [acme.requests.length, judge.requests.length];
    const response = await sendRequest({}, "/responses/dry-run");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      blocked: false,
      service_metadata: { pipeline: [{ type: "plugin", name: "alignment", data: { action: "not_run" } }] },
    });
    expect([acme.requests.length, judge.requests.length]).toEqual(before);
  });
});

test("a client that leaves during the judgement stops the judge's call", async () => {
  judge.script([{ hang: true }]);
  const leaving = new AbortController();
  const asked = judge.nextRequest();
  const left = expect(
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/priced", input: "x", plugins: [{ id: "alignment", rules }] }),
      signal: leaving.signal,
    }),
  ).rejects.toThrow();
  await asked;
  const closed = judge.nextClose();
  leaving.abort();
  await closed;
  await left;
});

describe("alignment over RunTurn", () => {
  const plugin = (value: object = {}) => ({
    plugins: [
      {
        $typeName: "sluice.inference.v1.Plugin" as const,
        plugin: {
          case: "alignment" as const,
          value: { $typeName: "sluice.inference.v1.AlignmentPlugin" as const, rules, mode: "", ...value },
        },
      },
    ],
  });

  test("sends the verdicts with the end", async () => {
    acme.script([chatStream("Ten off."), chatStream("No.")]);
    judge.script([says(0.9), says(0.1)]);
    const turn = runTurn(client, installation.apiKey, turnRequest("acme/priced", "x", { stream: true, ...plugin() }));
    await turn.over;
    const last = turn.batches.flat().at(-1)?.event;
    expect(last?.case === "end" && JSON.parse(Buffer.from(last.value.alignmentJson).toString())).toMatchObject({
      calls: [
        { call: 1, outcome: "blocked" },
        { call: 2, outcome: "allowed" },
      ],
    });
  });

  test("gives a withheld answer a separate fault, with usage before it", async () => {
    judge.script([says(0.9)]);
    const turn = runTurn(client, installation.apiKey, turnRequest("acme/priced", "x", plugin({ maxRetries: 0 })));
    const { fault } = await faultOf(turn);
    expect(fault).toMatchObject({
      reason: FaultReason.ALIGNMENT_BLOCKED,
      metadata: { alignment: { calls: [{ outcome: "blocked" }], rejected: [{ type: "message" }] } },
    });
    expect(turn.batches.flat().map(({ event }) => event.case)).toEqual(["usage"]);
  });

  test("leaves out an answer too long for trailers, and sends the verdicts", async () => {
    acme.script([answer("界".repeat(9_000))]);
    judge.script([says(0.9)]);
    const turn = runTurn(client, installation.apiKey, turnRequest("acme/priced", "x", plugin({ maxRetries: 0 })));
    const { fault } = await faultOf(turn);
    expect(fault).toMatchObject({
      reason: FaultReason.ALIGNMENT_BLOCKED,
      metadata: { alignment: { calls: [{ outcome: "blocked" }] } },
    });
    expect(fault.metadata?.["alignment"]).not.toHaveProperty("rejected");
  });

  test("has the same limits as over HTTP", async () => {
    const turn = runTurn(client, installation.apiKey, turnRequest("acme/priced", "x", plugin({ maxRetries: 4 })));
    expect((await faultOf(turn)).fault.message).toBe("plugins.0.max_retries: must be between 0 and 3");
  });
});
