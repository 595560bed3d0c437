/** CreateResponse over gRPC, gRPC-Web and Connect: the object of POST /responses for the same request, and the failures of RunTurn. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Code, ConnectError, type Transport, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { FaultReason, FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Reply, type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

const serviceToken = "t".repeat(64);
const usage = { usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } };
const hello = chatAnswer({ role: "assistant", content: "Hello" }, "stop", usage);
const protocols = ["gRPC", "gRPC-Web", "Connect", "Connect with JSON"];

let upstream: Upstream;
let judge: Upstream;
let installation: Installation;
const transports: Record<string, Transport> = {};

beforeAll(async () => {
  upstream = await startUpstream();
  judge = await startUpstream();
  installation = await startInstallation({
    environment: { SLUICE_SERVICE_TOKEN: serviceToken, SLUICE_INFERENCE_HTTP_PORT: String(await freePort()) },
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: judge, dialect: chat, base_url: "${judge.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
  - {id: acme/judge, endpoints: [{provider: judge}]}
internal_models:
  alignment_judge: {model: acme/judge, cache_ttl_s: 0, retries: 0}
compat: {fill_defaults: true, emit_metadata_alias: vendor_metadata}
`,
  });
  transports["gRPC"] = createGrpcTransport({ baseUrl: `http://127.0.0.1:${installation.ports.inference}` });
  const options = { baseUrl: `http://127.0.0.1:${installation.ports.inference_http}`, httpVersion: "1.1" } as const;
  transports["gRPC-Web"] = createGrpcWebTransport(options);
  transports["Connect"] = createConnectTransport(options);
  transports["Connect with JSON"] = createConnectTransport({ ...options, useBinaryFormat: false });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([upstream?.stop(), judge?.stop()]);
});
beforeEach(() => upstream.script([hello]));

const clientOf = (name: string) => createClient(InferenceService, transports[name] as Transport);
const grpc = () => clientOf("gRPC");
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The request that a gateway builds from a body. */
function toRequest(body: object, serviceMetadata = false): RunTurnRequest {
  const bytes = Buffer.from(JSON.stringify({ model: "acme/large-2", input: "Hi", ...body }));
  return parseRequest(bytes, scanObject(bytes, "body"), { serviceMetadata }).request;
}

const post = (body: object, key = installation.apiKey, serviceMetadata = false) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      ...bearer(key),
      "content-type": "application/json",
      ...(serviceMetadata && { "x-service-metadata": "enabled" }),
    },
    body: JSON.stringify({ model: "acme/large-2", input: "Hi", ...body }),
  });

async function createResponse(request: RunTurnRequest, key = installation.apiKey, name = "gRPC") {
  let headers = new Headers();
  const { responseJson, generationId } = await clientOf(name).createResponse(
    { request },
    { headers: bearer(key), onHeader: (sent) => (headers = sent) },
  );
  return { text: Buffer.from(responseJson).toString(), generationId, headers };
}

async function failureOf(request: RunTurnRequest, key = installation.apiKey, name = "gRPC") {
  const error = await createResponse(request, key, name).then(
    () => undefined,
    (failure: unknown) => ConnectError.from(failure),
  );
  if (!error) throw new Error("the call did not fail");
  return { code: error.code, fault: error.findDetails(FaultSchema)[0] };
}

/** The text with masked ids and times, which differ in each turn. */
const masked = (text: string): string =>
  text
    .replaceAll(/"(resp|msg|fc|rs)_\w+"/g, '"$1_masked"')
    .replaceAll(/"gen-\w+"/g, '"gen-masked"')
    .replaceAll(/"(\w+_at|generation_time)":\d+/g, '"$1":0');

const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());

async function manage(method: string, path: string, body: object) {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { ...bearer(installation.managementKey), "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as { key: string; data: { hash: string; id: string } };
}

const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
const tools = [{ type: "function", name: "find", description: "Finds.", parameters }];
const call = { id: "call_1", type: "function", function: { name: "find", arguments: '{"q":"x"}' } };
const calls = chatAnswer({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls", usage);
const cut = chatAnswer({ role: "assistant", content: "Hel" }, "length", usage);

describe("the response object of CreateResponse", () => {
  const settings = {
    instructions: 'Say "hello".',
    metadata: { b: "1", a: "é" },
    temperature: 0.5,
    reasoning: { effort: "low" },
    text: { format: { type: "json_schema", name: "n", schema: parameters }, verbosity: "low" },
    user: "u",
    prompt_cache_key: "c",
    truncation: "auto",
    max_output_tokens: 64,
  };

  test.each<[string, Reply, object, boolean]>([
    ["an answer", hello, {}, false],
    ["an answer with a receipt", hello, {}, true],
    ["an answer to a request with many settings", hello, settings, false],
    ["a call of a tool", calls, { tools, tool_choice: "auto", parallel_tool_calls: false }, false],
    ["an answer that is cut", cut, { max_output_tokens: 1 }, false],
  ])("equals the bytes of POST /responses: %s", async (_, reply, body, serviceMetadata) => {
    upstream.script([reply]);
    const answer = await post(body, installation.apiKey, serviceMetadata);
    expect(answer.status).toBe(200);
    const { text } = await createResponse(toRequest(body, serviceMetadata));
    expect(masked(text)).toBe(masked(await answer.text()));
  });

  test.each(protocols)("is sent over %s, with its id in the ledger", async (name) => {
    const { text, generationId, headers } = await createResponse(toRequest({}), installation.apiKey, name);
    expect(JSON.parse(text)).toMatchObject({ object: "response", status: "completed", model: "acme/large-2" });
    expect(headers.get("x-generation-id")).toBe(generationId);
    expect(await fetchGeneration(installation, { headers })).toMatchObject({ id: generationId, model: "acme/large-2" });
  });

  test("is sent to an internal service for a key by its hash, and only with the service token", async () => {
    const asService = (keyHash: string, token = serviceToken) =>
      grpc().createResponse(
        { request: toRequest({}) },
        { headers: { "x-sluice-service-token": token, "x-sluice-key-hash": keyHash } },
      );
    const { responseJson } = await asService(hashKey(installation.apiKey));
    expect(json(responseJson)).toMatchObject({ status: "completed" });
    await expect(asService(hashKey(installation.apiKey), "w".repeat(64))).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    await expect(asService(hashKey("sk-sl-nonsense"))).rejects.toMatchObject({ code: Code.Unauthenticated });
  });
});

describe("failures of CreateResponse equal those of RunTurn:", () => {
  test.each(protocols)("a failure of the provider has its Fault over %s", async (name) => {
    upstream.script([
      { status: 400, chunks: [{ json: { error: { message: "bad", type: "invalid_request_error" } } }] },
    ]);
    const { code, fault } = await failureOf(toRequest({}), installation.apiKey, name);
    expect(code).toBe(Code.InvalidArgument);
    expect(fault?.reason).toBe(FaultReason.INVALID_REQUEST);
  });

  test("an invalid request is refused: a wrong scalar, a wrong subtree, a stream, and an empty request", async () => {
    const refused = async (request: RunTurnRequest) => (await failureOf(request)).fault?.message;
    expect(await refused({ ...toRequest({}), temperature: 3 })).toContain("temperature");
    expect(await refused({ ...toRequest({}), reasoningJson: Buffer.from("{") })).toContain("reasoning");
    expect(await refused({ ...toRequest({}), stream: true })).toContain("stream: must be false");
    await expect(grpc().createResponse({}, { headers: bearer(installation.apiKey) })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });

  test("a guardrail blocks the request", async () => {
    const { key, data } = await manage("POST", "/keys", { name: "guarded" });
    const guardrail = await manage("POST", "/guardrails", {
      name: "no secrets",
      content_filters: [{ pattern: "secret", action: "block" }],
    });
    await manage("POST", `/guardrails/${guardrail.data.id}/assignments/keys`, { key_hashes: [data.hash] });
    const { code, fault } = await failureOf(toRequest({ input: "a secret" }), key);
    expect([code, fault?.reason]).toEqual([Code.PermissionDenied, FaultReason.GUARDRAIL_BLOCKED]);
    const { error } = (await (await post({ input: "a secret" }, key)).json()) as { error: { metadata: unknown } };
    expect(json(fault?.metadataJson ?? Buffer.from("null"))).toEqual(error.metadata);
  });

  test("a spent budget refuses the request", async () => {
    const { key } = await manage("POST", "/keys", { name: "poor", limit: 0 });
    const before = upstream.requests.length;
    const { code, fault } = await failureOf(toRequest({}), key);
    expect([code, fault?.reason]).toEqual([Code.FailedPrecondition, FaultReason.PAYMENT_REQUIRED]);
    expect(upstream.requests.length).toBe(before);
  });

  test("a withheld answer reports its cost", async () => {
    const verdict = { evidence: "x", verdict: "broken", probability: 0.9 };
    judge.script([chatAnswer({ role: "assistant", content: JSON.stringify(verdict) })]);
    const body = { plugins: [{ id: "alignment", rules: ["Never say hello."], max_retries: 0 }] };
    const { fault } = await failureOf(toRequest(body));
    expect(fault?.reason).toBe(FaultReason.ALIGNMENT_BLOCKED);
    const { usage: known } = (await (await post(body)).json()) as { usage: unknown };
    expect(json(fault?.usageJson ?? Buffer.from("null"))).toEqual(known);
  });

  test("a disconnected caller stops the call of the provider", async () => {
    upstream.script([{ hang: true }]);
    const abort = new AbortController();
    const asked = upstream.nextRequest();
    const created = grpc().createResponse(
      { request: toRequest({}) },
      { headers: bearer(installation.apiKey), signal: abort.signal },
    );
    const outcome = expect(created).rejects.toMatchObject({ code: Code.Canceled });
    await asked;
    abort.abort();
    await outcome;
    await eventually(() => upstream.openSockets === 0);
  });

  test("a deadline ends the turn", async () => {
    upstream.script([{ hang: true }]);
    const created = grpc().createResponse(
      { request: toRequest({}) },
      { headers: bearer(installation.apiKey), timeoutMs: 250 },
    );
    await expect(created).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await eventually(() => upstream.openSockets === 0);
  });
});

test("a stopping inference process answers its running CreateResponse calls first", async () => {
  let release = () => {};
  const after = new Promise<void>((resolve) => {
    release = resolve;
  });
  upstream.script([{ ...hello, chunks: (hello.chunks ?? []).map((chunk) => ({ ...chunk, after })) }]);
  const asked = upstream.nextRequest();
  const created = createResponse(toRequest({}));
  await asked;
  process.kill(installation.pids()["inference-svc"] as number, "SIGTERM");
  const readiness = `http://127.0.0.1:${installation.ports.inference_health}/readyz`;
  await eventually(async () => (await fetch(readiness)).status === 503);
  release();
  expect(JSON.parse((await created).text)).toMatchObject({ status: "completed" });
});
