/** The receipt of every outcome of a turn, whole: served, refused, limited, failed, too late, broken; over HTTP and over gRPC. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { preferencesOf } from "../inference-svc/features/routers/deciding.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { validateError, validateEvents } from "../support/answers/published.ts";
import { faultOf, runTurn, turnRequest } from "../support/answers/run-turn.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Reply, type Upstream, chatChunk, chatStream, startUpstream } from "../support/providers/upstream.ts";

let acme: Upstream;
let borealis: Upstream;
let cumulus: Upstream;
let installation: Installation;
let guardrail: string;

beforeAll(async () => {
  acme = await startUpstream();
  borealis = await startUpstream();
  cumulus = await startUpstream();
  installation = await startInstallation({
    environment: { SLUICE_REGION: "eu-1" },
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: borealis, name: Borealis, dialect: chat, base_url: "${borealis.url}/v1"}
  - {id: cumulus, name: Cumulus, dialect: chat, base_url: "${cumulus.url}/v1"}
models:
  - id: acme/large
    endpoints:
      - {provider: acme}
      - {provider: borealis}
      - {provider: borealis, tier: flex}
  - id: cumulus/large
    endpoints: [{provider: cumulus}, {provider: borealis}]
  - id: dione/large
    endpoints: [{provider: cumulus}, {provider: borealis}]
  - id: borealis/small
    endpoints: [{provider: borealis, supported_parameters: []}]
limits: {stream_ms: 6000}
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
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
  await borealis?.stop();
  await cumulus?.stop();
});
beforeEach(async () => {
  // A successful turn for each provider clears ejections caused by earlier tests.
  for (const [id, upstream] of Object.entries({ acme, borealis })) {
    upstream.script([chatStream("Hi")]);
    await (await respond({ provider: { only: [id] } })).text();
  }
});

/** An order named by the request is kept, whatever the endpoints' earlier results. */
const named = { order: ["acme", "borealis"] };

const failing = (status: number): Reply => ({
  status,
  headers: { "retry-after": "30" },
  chunks: [{ json: { error: { message: "no" } } }],
});

const respond = (body: object, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/large", input: "Hi", stream: true, provider: named, ...body }),
  });

/** A receipt with the members common to every receipt here. */
const receipt = (fields: object) => ({
  is_byok: false,
  params: { policy_generation: expect.any(Number) },
  pipeline: [],
  region: "eu-1",
  requested: "acme/large",
  strategy: "direct",
  ...fields,
});
const endpoint = (provider: string, selected = false, model = "acme/large") => ({ model, provider, selected });
const both = (selected?: string) => ({
  available: [endpoint("Acme", selected === "Acme"), endpoint("Borealis", selected === "Borealis")],
  total: 2,
  excluded_by: { service_tier: 1 },
});
const attempt = (provider: string, status: number) => ({ model: "acme/large", provider, status });

async function lastEvent(answer: Response) {
  expect(answer.status).toBe(200);
  const { events } = parseSse(await answer.text());
  expect(validateEvents(events)).toEqual([]);
  return events.at(-1) as unknown as { type: string; response: { service_metadata: object } };
}

/** The receipt in the body of a failure. */
async function failed(answer: Response, status: number): Promise<object> {
  const body = (await answer.json()) as { service_metadata: object };
  expect([answer.status, validateError(status, body)]).toEqual([status, []]);
  return body.service_metadata;
}

const served = receipt({
  attempt: 2,
  attempts: [attempt("Acme", 503), attempt("Borealis", 200)],
  endpoints: both("Borealis"),
  generation_time: expect.any(Number),
  summary: "available=2, selected=Borealis",
});

test("a turn served by the second endpoint has its receipt in the last event only", async () => {
  acme.script([failing(503)]);
  const text = await (await respond({})).text();
  expect(text.split("service_metadata")).toHaveLength(2);
  expect(parseSse(text).events.at(-1)).toMatchObject({ response: { service_metadata: served } });
});

test("a turn served by another model has the unsent settings in its receipt", async () => {
  acme.script([failing(503)]);
  borealis.script([failing(500), chatStream("Hi")]);
  const last = await lastEvent(await respond({ models: ["borealis/small"], temperature: 1 }));
  expect(last.response.service_metadata).toEqual(
    receipt({
      attempt: 3,
      attempts: [
        attempt("Acme", 503),
        attempt("Borealis", 500),
        { model: "borealis/small", provider: "Borealis", status: 200 },
      ],
      endpoints: {
        available: [endpoint("Acme"), endpoint("Borealis"), endpoint("Borealis", true, "borealis/small")],
        total: 3,
        excluded_by: { service_tier: 1 },
      },
      generation_time: expect.any(Number),
      params: {
        policy_generation: expect.any(Number),
        not_sent: [{ path: "temperature", reason: "the endpoint does not support it" }],
      },
      strategy: "fallback",
      summary: "available=3, selected=Borealis",
    }),
  );
});

describe("the receipt of a refused turn", () => {
  test("has no attempts when a guardrail refuses it", async () => {
    const created = await installation.admin("keys", "create", "--name", "guarded", "--json");
    const { key } = JSON.parse(created.stdout) as { key: string };
    await fetch(`${installation.baseUrl}/guardrails/${guardrail}/assignments/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ key_hashes: [hashKey(key)] }),
    });
    expect(await failed(await respond({ input: "a code red" }, key), 403)).toEqual(
      receipt({
        attempt: 0,
        endpoints: both(),
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
        summary: "available=2",
      }),
    );
  });

  test("counts the reasons when no endpoint is eligible", async () => {
    expect(await failed(await respond({ provider: { only: ["acme"], max_price: { prompt: 1 } } }), 404)).toEqual(
      receipt({
        attempt: 0,
        endpoints: { available: [], total: 0, excluded_by: { max_price: 1, allowed_providers: 2 } },
        summary: "available=0",
      }),
    );
  });

  test("is absent when the refusal comes before any decision", async () => {
    expect(await failed(await respond({ input: [{ type: "unheard_of" }] }), 400)).toBeUndefined();
  });
});

async function expectFailed([first, second]: readonly [number, number], status: number): Promise<void> {
  acme.script([failing(first)]);
  borealis.script([failing(second)]);
  expect(await failed(await respond({}), status)).toEqual(
    receipt({
      attempt: 2,
      attempts: [attempt("Acme", first), attempt("Borealis", second)],
      endpoints: both(),
      summary: "available=2",
    }),
  );
}

describe("the receipt of a failed turn", () => {
  test.each([
    [500, 500, 502],
    [503, 529, 529],
  ])("lists the attempts when providers fail with %d and %d and the answer is %d", (first, second, status) =>
    expectFailed([first, second], status),
  );

  test("lists a first attempt given up in time for the second when the turn reaches its time limit", async () => {
    for (const upstream of [acme, borealis]) upstream.script([{ hang: true }]);
    expect(await failed(await respond({}), 408)).toEqual(
      receipt({
        attempt: 2,
        attempts: [{ ...attempt("Acme", 524), error: "timeout_first_event" }, attempt("Borealis", 408)],
        endpoints: both(),
        summary: "available=2",
      }),
    );
  });

  test("is in the last event when the turn fails in the middle of a stream", async () => {
    acme.script([{ chunks: [{ sse: [chatChunk({ content: "Hi" })] }], hang: true }]);
    const last = await lastEvent(await respond({}));
    expect([last.type, last.response.service_metadata]).toEqual([
      "response.failed",
      receipt({
        attempt: 1,
        attempts: [attempt("Acme", 408)],
        endpoints: both("Acme"),
        generation_time: expect.any(Number),
        summary: "available=2, selected=Acme",
      }),
    ]);
  });
});

describe("a receipt over gRPC", () => {
  const sendRequest = { serviceMetadata: true, stream: true, provider: preferencesOf(named) };
  const json = (bytes: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? []).toString());

  test("is in the end of a turn, and in the fault of a failed turn", async () => {
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    try {
      acme.script([failing(503)]);
      const turn = runTurn(client, installation.apiKey, turnRequest("acme/large", "Hi", sendRequest));
      await turn.over;
      const end = turn.batches.flat().at(-1)?.event;
      expect(end?.case === "end" && json(end.value.serviceMetadataJson)).toEqual(served);
      for (const upstream of [acme, borealis]) upstream.script([{ hang: true }]);
      const { fault } = await faultOf(
        runTurn(client, installation.apiKey, turnRequest("acme/large", "Hi", sendRequest)),
      );
      expect([fault.status, json(fault.serviceMetadataJson)]).toMatchObject([
        408,
        {
          attempts: [{ ...attempt("Acme", 524), error: "timeout_first_event" }, attempt("Borealis", 408)],
          summary: "available=2",
        },
      ]);
    } finally {
      client.close();
    }
  });
});

// These tests are the last ones, because afterwards no provider is called for half a minute.
test("a turn limited by rate at every provider has each refusal in its receipt", () => expectFailed([429, 429], 429));

test("a repeatedly failing endpoint is called last, and listed as ejected", async () => {
  cumulus.script([failing(500)]);
  const asked = async () => {
    const last = await lastEvent(await respond({ model: "cumulus/large", provider: {} }));
    return (last.response.service_metadata as { endpoints: { available: unknown } }).endpoints.available;
  };
  const slug = "cumulus/large";
  const before = [endpoint("Cumulus", false, slug), endpoint("Borealis", true, slug)];
  for (let failures = 1; failures <= 5; failures++) expect(await asked()).toEqual(before);
  const ejected = { ...endpoint("Cumulus", false, slug), ejected: true };
  expect(await asked()).toEqual([endpoint("Borealis", true, slug), ejected]);
});

test("a rate-limited endpoint is listed as paused, in a dry run as well", async () => {
  cumulus.script([failing(429)]);
  const model = "dione/large";
  const asking = { model, provider: { order: ["cumulus", "borealis"] } };
  const served = async () => (await lastEvent(await respond(asking))).response.service_metadata;
  const endpoints = (selected: boolean, rests?: string) => ({
    available: [
      { ...endpoint("Cumulus", false, model), ...(rests && { rests }) },
      endpoint("Borealis", selected, model),
    ],
    total: 2,
  });
  expect(await served()).toMatchObject({ attempt: 2, endpoints: endpoints(true) });
  expect(await served()).toMatchObject({ attempt: 1, endpoints: endpoints(true, "limited") });
  const dryRun = await fetch(`${installation.baseUrl}/responses/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...asking, input: "Hi" }),
  });
  expect(await dryRun.json()).toMatchObject({ service_metadata: { endpoints: endpoints(false, "limited") } });
});
