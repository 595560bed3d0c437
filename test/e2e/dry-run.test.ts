/** Dry runs: the receipt over HTTP and over gRPC, without a call to a provider. */
import { type AddressInfo, type Server, createServer } from "node:net";
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { DryRunRequestSchema, InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import pg from "pg";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { validate, validateError } from "../support/answers/published.ts";
import { turnRequest } from "../support/answers/run-turn.ts";

/** A server in place of the providers that counts its connections. */
let door: Server;
let connections = 0;
let installation: Installation;
let client: Client;
let guarded: string;
let guardrail: string;

beforeAll(async () => {
  door = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(door, "listening");
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/v1`;
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${url}", api_keys: [upstream-key]}
  - {id: borealis, name: Borealis, dialect: messages, base_url: "${url}"}
  - {id: sluice, name: Sluice, dialect: echo}
models:
  - id: acme/large
    endpoints:
      - {provider: acme, upstream_model: large, pricing: {prompt: "1", completion: "4"}}
      - {provider: borealis, quantization: fp8, supported_parameters: [tools], pricing: {prompt: "2", completion: "8", request: "0.01"}}
      - {provider: acme, tier: flex}
  - {id: acme/unpriced, max_output_tokens: 500, endpoints: [{provider: acme}]}
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
limits: {body_bytes: 5000}
`,
  });
  client = dial(`127.0.0.1:${installation.ports.inference}`);
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
  const key = await installation.admin("keys", "create", "--name", "guarded", "--json");
  guarded = (JSON.parse(key.stdout) as { key: string }).key;
  const assigned = await post(
    `/guardrails/${guardrail}/assignments/keys`,
    { key_hashes: [hashKey(guarded)] },
    installation.managementKey,
  );
  expect(assigned.status).toBe(200);
});
afterAll(async () => {
  client?.close();
  await installation?.stop();
  door?.close();
});
beforeEach(() => {
  connections = 0;
});

const post = (path: string, body: unknown, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const dryRun = (body: object, key?: string) =>
  post("/responses/dry-run", { model: "acme/large", input: "y".repeat(396), provider: named, ...body }, key);
const named = { order: ["acme", "borealis"] };

/** The receipt, in its published form and without a connection to a provider. */
async function receiptOf(answer: Response): Promise<Record<string, unknown>> {
  const receipt = (await answer.json()) as Record<string, unknown>;
  expect([answer.status, validate("DryRun", receipt), connections]).toEqual([200, [], 0]);
  return receipt;
}

const candidates = (acme: object, borealis: object) => [
  {
    model: "acme/large",
    provider: "Acme",
    service_tier: "default",
    quantization: "unknown",
    not_sent: [],
    estimate: acme,
  },
  {
    model: "acme/large",
    provider: "Borealis",
    service_tier: "default",
    quantization: "fp8",
    not_sent: [{ path: "temperature", reason: "the endpoint does not support it" }],
    estimate: borealis,
  },
];
const endpoints = {
  available: [
    { model: "acme/large", provider: "Acme", selected: false },
    { model: "acme/large", provider: "Borealis", selected: false },
  ],
  total: 2,
  excluded_by: { service_tier: 1 },
};
const metadata = (fields: object) => ({
  attempt: 0,
  endpoints,
  is_byok: false,
  params: { policy_generation: expect.any(Number) },
  pipeline: [],
  region: "local",
  requested: "acme/large",
  strategy: "direct",
  summary: "available=2",
  ...fields,
});

test.each([true, false])("a dry run returns the whole receipt (stream: %s)", async (stream) => {
  expect(await receiptOf(await dryRun({ stream, temperature: 1, max_output_tokens: 50 }))).toEqual({
    object: "response.dry_run",
    blocked: false,
    error: null,
    guardrails: [],
    candidates: candidates(
      {
        input_tokens: 104,
        max_output_tokens: 50,
        input_cost: 0.000104,
        max_output_cost: 0.0002,
        max_cost: 0.000304,
        held: expect.any(Number),
      },
      {
        input_tokens: 104,
        max_output_tokens: 50,
        input_cost: 0.010208,
        max_output_cost: 0.0004,
        max_cost: 0.010608,
        held: expect.any(Number),
      },
    ),
    service_metadata: metadata({}),
  });
});

test.each([
  ["acme/unpriced", 500],
  ["acme/large", null],
])("a dry run of %s without a limit has the maximum output of the model: %p", async (model, max_output_tokens) => {
  const { candidates: planned } = await receiptOf(await dryRun({ model }));
  const input_cost = model === "acme/large" ? 0.000104 : null;
  expect(planned).toMatchObject([
    { estimate: { input_tokens: 104, max_output_tokens, input_cost, max_output_cost: null, max_cost: null } },
    ...(model === "acme/large" ? [{}] : []),
  ]);
});

describe("a guardrail in a dry run", () => {
  test("is reported when it would block, with the error of a real request", async () => {
    const receipt = await receiptOf(
      await dryRun({ input: "a code red", debug: { echo_upstream_body: true } }, guarded),
    );
    const refusal = await post("/responses", { model: "acme/large", input: "a code red" }, guarded);
    const { error } = (await refusal.json()) as { error: object };
    expect([refusal.status, connections]).toEqual([403, 0]);
    expect(receipt).toMatchObject({
      blocked: true,
      error,
      guardrails: [{ guardrail_id: guardrail, guardrail_scope: "api-key", decision: "blocked" }],
      candidates: [{ provider: "Acme" }, { provider: "Borealis" }],
      service_metadata: metadata({
        pipeline: [
          {
            type: "guardrail",
            name: "content-filter",
            guardrail_id: guardrail,
            guardrail_scope: "api-key",
            summary: "Blocked: 1 pattern",
            data: { action: "blocked", detected: true, engines: ["regex"], patterns: ["code red"] },
          },
        ],
      }),
    });
    expect(receipt).not.toHaveProperty("upstream_body");
  });

  test("is reported without a match as well", async () => {
    expect(await receiptOf(await dryRun({}, guarded))).toMatchObject({
      blocked: false,
      guardrails: [{ guardrail_id: guardrail, decision: "allowed" }],
    });
  });
});

test("a dry run shows the body for the provider only on request", async () => {
  const parameters = '{"type":"object","maximum":12345678901234567890}';
  const body = `{"model":"acme/large","input":"Hi","provider":{"order":["acme"]},"tools":[{"type":"function","name":"f","parameters":${parameters}}],"debug":{"echo_upstream_body":true}}`;
  const answer = await fetch(`${installation.baseUrl}/responses/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({
    upstream_body: { model: "large", messages: [{ role: "user", content: "Hi" }] },
  });
  expect([text.includes("12345678901234567890"), text.includes("upstream-key"), connections]).toEqual([true, false, 0]);
  expect(await receiptOf(await dryRun({}))).not.toHaveProperty("upstream_body");
});

describe("a dry run fails as the request would", () => {
  test.each<[string, object, number]>([
    ["a wrong field", { temperature: 3 }, 400],
    ["an unknown model", { model: "nobody/nothing" }, 404],
    ["a wrong item", { input: [{ type: "unheard_of" }] }, 400],
    ["nobody who may serve", { provider: { only: ["nobody"] } }, 404],
    ["a body above the limit", { input: "y".repeat(6_000) }, 413],
  ])("for %s", async (_, wrong, status) => {
    const body = { model: "acme/large", input: "Hi", ...wrong };
    const [dry, wet] = await Promise.all([post("/responses/dry-run", body), post("/responses", body)]);
    const [said, meant] = [(await dry.json()) as { error: object }, (await wet.json()) as { error: object }];
    expect([dry.status, said.error, validateError(status, said), connections]).toEqual([status, meant.error, [], 0]);
    expect(wet.status).toBe(status);
  });

  test("with a management key or without a key", async () => {
    expect((await dryRun({}, installation.managementKey)).status).toBe(403);
    expect((await dryRun({}, "sk-sl-wrong")).status).toBe(401);
    const got = await fetch(`${installation.baseUrl}/responses/dry-run`, {
      headers: { authorization: `Bearer ${installation.apiKey}` },
    });
    expect([got.status, got.headers.get("allow")]).toEqual([404, "POST"]);
  });

  test("with the reasons when a request has no candidates", async () => {
    const body = (await (await dryRun({ provider: { only: ["nobody"] } })).json()) as object;
    expect(body).toMatchObject({
      service_metadata: { endpoints: { available: [], excluded_by: { allowed_providers: 3 } } },
    });
  });
});

describe("a dry run over gRPC", () => {
  const over = (key: string | undefined, request = turnRequest("sluice/echo", "Hi")) => {
    const headers = new Metadata();
    if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
    return call(client, InferenceService.method.dryRun, create(DryRunRequestSchema, { request }), headers, 5_000);
  };

  test("gives the same receipt", async () => {
    const { receiptJson } = await over(installation.apiKey);
    const wire = await receiptOf(await dryRun({ model: "sluice/echo", input: "Hi" }));
    expect(JSON.parse(Buffer.from(receiptJson).toString())).toEqual(wire);
  });

  test.each<[string, () => Promise<unknown>, number]>([
    ["no key", () => over(undefined), 401],
    ["a management key", () => over(installation.managementKey), 403],
    ["a wrong scalar", () => over(installation.apiKey, turnRequest("sluice/echo", "Hi", { temperature: 3 })), 400],
    ["what is not JSON", () => over(installation.apiKey, turnRequest("m", "", { inputJson: Buffer.from("{") })), 400],
  ])("fails for %s", async (_, wrong, status) => {
    const fault = await wrong().catch((error: unknown) => Fault.from(error));
    expect([fault instanceof Fault && fault.status, connections]).toEqual([status, 0]);
  });
});

test("a dry run leaves no record, unlike the turn after it", async () => {
  const sendRequest = { model: "sluice/echo", input: "Hi", session_id: "recorded" };
  await receiptOf(await dryRun(sendRequest));
  const turn = await post("/responses", sendRequest);
  expect(turn.status).toBe(200);
  const database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
  try {
    const ids = async () =>
      (await database.query<{ request_id: string }>("select request_id from all_calls")).rows.map(
        ({ request_id }) => request_id,
      );
    await eventually(async () => (await ids()).includes(turn.headers.get("x-request-id") ?? "?"));
    expect(await ids()).toEqual([turn.headers.get("x-request-id")]);
  } finally {
    await database.end();
  }
});

test("a dry run is neither counted nor logged as a turn", async () => {
  const turns = async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${installation.ports.inference_health}/metrics`)).text();
    return metrics.split("\n").filter((line) => line.startsWith("sluice_turns_total{"));
  };
  const before = await turns();
  const answer = await dryRun({});
  await receiptOf(answer);
  const ofIt = `"request_id":"${answer.headers.get("x-request-id")}"`;
  expect(await turns()).toEqual(before);
  await installation.allLogged();
  const lines = installation.logs("inference-svc").split("\n");
  expect(lines.filter((line) => line.includes(ofIt)).map((line) => JSON.parse(line) as object)).toMatchObject([
    { msg: "dry run", outcome: "allowed" },
  ]);
});
