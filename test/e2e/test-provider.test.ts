/** POST /providers/{id}/test with running services: one tiny request, only by a management key of the account. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { validate } from "../support/answers/published.ts";
import { type Installation, makeManager, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

const secret = "sk-acme-s3cret";
let installation: Installation;
let acme: Upstream;
let accountKey: string;

beforeAll(async () => {
  acme = await startUpstream();
  const gone = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1", api_keys: ["${secret}"]}
  - {id: gone, dialect: chat, base_url: "${gone.url}/v1"}
  - {id: far, dialect: chat, base_url: "https://far.example/v1", api_keys: ["\${FAR_KEY}"]}
  - {id: odd, dialect: "ai-sdk:@acme/none", api_keys: [none]}
models:
  - {id: acme/large, endpoints: [{provider: acme, upstream_model: large-2, pricing: {prompt: "2", completion: "8"}}]}
  - {id: acme/vectors, output_modalities: [embeddings], endpoints: [{provider: acme, pricing: {prompt: "0.01", completion: "0"}}]}
  - {id: acme/small, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}, {provider: gone}]}
`,
  });
  await gone.stop();
  const options = ["--management", "--account", "--name", "account", "--json"];
  accountKey = (JSON.parse((await installation.admin("keys", "create", ...options)).stdout) as { readonly key: string })
    .key;
});
afterAll(async () => {
  await installation?.stop();
  await acme?.stop();
});

async function tryProvider(id: string, body: object = {}, key = accountKey) {
  const response = await fetch(`${installation.baseUrl}/providers/${id}/test`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { data: Record<string, unknown>; error?: { message: string } };
  return { status: response.status, retryAfter: response.headers.get("retry-after"), ...answer };
}

test("the test of a provider calls the cheapest model once, and reports the result", async () => {
  acme.script([chatAnswer({ content: "Yes." })]);
  const before = acme.requests.length;
  const { status, data } = await tryProvider("acme");
  expect(status).toBe(200);
  expect(data).toMatchObject({
    ok: true,
    provider: "acme",
    model: "acme/small",
    outcome: "completed",
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    cause: null,
  });
  expect(validate("ProviderTest", data)).toEqual([]);
  expect(acme.requests.slice(before)).toMatchObject([{ json: { max_tokens: 16 } }]);
});

test("the test of a provider calls a model by its slug or by the provider's name", async () => {
  for (const model of ["acme/large", "large-2"]) {
    acme.script([chatAnswer({ content: "Yes." })]);
    expect((await tryProvider("acme", { model })).data).toMatchObject({
      model: "acme/large",
      upstream_model: "large-2",
    });
  }
});

test("the test of a provider explains a failure without key and address", async () => {
  acme.script([{ status: 401, chunks: [{ json: { error: { message: `no such key: ${secret}` } } }] }]);
  const refused = await tryProvider("acme");
  expect(refused).toMatchObject({ status: 200, data: { ok: false, cause: { kind: "refused", status: 401 } } });
  const unreachable = await tryProvider("gone");
  expect(unreachable).toMatchObject({ status: 200, data: { ok: false, cause: { kind: "connection", status: null } } });
  expect(JSON.stringify([refused, unreachable])).not.toMatch(/s3cret|127\.0\.0\.1/);
});

test("only one test of a provider runs at a time", async () => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const { chunks = [] } = chatAnswer({ content: "Yes." });
  acme.script([{ chunks: chunks.map((chunk) => ({ ...chunk, after: held })) }]);
  const received = acme.nextRequest();
  const first = tryProvider("acme");
  await received;
  expect(await tryProvider("acme")).toMatchObject({ status: 429, retryAfter: "1" });
  answer();
  expect((await first).data).toMatchObject({ ok: true });
});

test("the test of a provider is allowed only to management keys of the account", async () => {
  expect(await tryProvider("acme", {}, await makeManager(installation))).toMatchObject({
    status: 403,
    error: { message: expect.stringContaining("`keys create --management --account` makes one") },
  });
  expect((await tryProvider("acme", {}, installation.apiKey)).status).toBe(403);
});

test("providers that the configuration file leaves out are reported with the reason to management keys", async () => {
  const list = async (key = installation.managementKey) => {
    const response = await fetch(`${installation.baseUrl}/providers/left-out`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return {
      status: response.status,
      answer: (await response.json()) as { readonly data: readonly { readonly reason: string }[] },
    };
  };
  const far = { slug: "far", reason: "FAR_KEY is not set" };
  const odd = { slug: "odd", reason: "its package cannot be loaded; the log says why" };
  const { status, answer } = await list();
  expect([status, answer.data]).toEqual([200, [far, odd]]);
  expect(validate("LeftOutProviderList", answer)).toEqual([]);
  expect((await list(installation.apiKey)).status).toBe(403);
  const file = join(installation.dataDir, "sluice.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("FAR_KEY", "NEAR_KEY"));
  await eventually(async () => (await list()).answer.data[0]?.reason === "NEAR_KEY is not set");
});

test.each<[string, object, number, string]>([
  ["nobody", {}, 404, "Provider not found, or left out of the configuration"],
  ["acme", { model: "" }, 400, "model: "],
  ["acme", { models: [] }, 400, "models: unknown field"],
])("the test of the provider %s with %j is refused", async (id, body, status, message) => {
  expect(await tryProvider(id, body)).toMatchObject({ status, error: { message: expect.stringContaining(message) } });
});

test("the test of a provider over gRPC gives the same answer, and needs the same key", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  const run = (key: string) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${key}`);
    const { testProvider } = InferenceService.method;
    return call(client, testProvider, create(testProvider.input, { providerId: "acme" }), metadata, 60_000);
  };
  try {
    acme.script([chatAnswer({ content: "Yes." })]);
    expect(await run(accountKey)).toMatchObject({ ok: true, model: "acme/small" });
    await expect(run(await makeManager(installation))).rejects.toThrow("management keys of the account");
    await expect(run(installation.apiKey)).rejects.toThrow("management keys");
  } finally {
    client.close();
  }
});
