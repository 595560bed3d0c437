/** A dry run of embeddings: the outcome of a request, without a call of a provider. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import {
  DryRunEmbedRequestSchema,
  InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { validate } from "../support/answers/published.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type Upstream, startUpstream } from "../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: first, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: second, dialect: gemini, base_url: "${upstream.url}/v1beta", api_keys: [key]}
model_aliases: [{match: "text-embedding-*", model: near/two}]
models:
  - id: near/two
    context_length: 8192
    max_output_tokens: 4096
    output_modalities: [embeddings]
    endpoints:
      - {provider: first, upstream_model: two, pricing: {prompt: "1000", completion: "0"}}
      - {provider: second, upstream_model: two}
  - {id: near/chat, endpoints: [{provider: first}]}
`,
  });
});
afterAll(async () => {
  expect(upstream?.requests).toEqual([]);
  await installation?.stop();
  await upstream?.stop();
});

interface Receipt {
  readonly blocked: boolean;
  readonly error: unknown;
  readonly candidates: readonly { readonly provider: string; readonly estimate: Readonly<Record<string, number>> }[];
}

const post = (body: object, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}/embeddings/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function receiptOf(body: object, key?: string): Promise<Receipt> {
  const response = await post(body, key);
  const receipt: unknown = await response.json();
  expect([response.status, validate("DryRun", receipt)]).toEqual([200, []]);
  return receipt as Receipt;
}

test("a dry run of embeddings names the endpoints in their order, and the maximum cost of the texts", async () => {
  const order = { order: ["second", "first"] };
  const receipt = await receiptOf({ model: "text-embedding-3", input: ["A text.", "Another."], provider: order });
  expect(receipt).toMatchObject({
    object: "embeddings.dry_run",
    blocked: false,
    error: null,
    service_metadata: { requested: "text-embedding-3" },
  });
  expect(receipt.candidates.map(({ provider }) => provider)).toEqual(["second", "first"]);
  const { input_tokens: tokens = 0, held = 0, ...costs } = receipt.candidates[1]?.estimate ?? {};
  expect(tokens).toBeGreaterThan(0);
  const cost = tokens / 1_000;
  expect(held).toBeGreaterThan(0);
  expect(costs).toEqual({ max_output_tokens: 0, input_cost: cost, max_output_cost: 0, max_cost: cost });
});

test("a dry run of embeddings shows what a guardrail would refuse", async () => {
  const made = await installation.admin("keys", "create", "--name", "guarded", "--json");
  const { key, hash } = JSON.parse(made.stdout) as { key: string; hash: string };
  const named = ["--name", "no secrets", "--block", "secret", "--json"];
  const { id } = JSON.parse((await installation.admin("guardrails", "create", ...named)).stdout) as { id: string };
  await installation.admin("guardrails", "assign", id, hash);
  expect(await receiptOf({ model: "near/two", input: ["fine", "a secret"] }, key)).toMatchObject({
    blocked: true,
    error: { code: 403, metadata: { patterns: ["secret"] } },
    guardrails: [{ guardrail_id: id, decision: "blocked" }],
  });
  expect(await receiptOf({ model: "near/two", input: "fine" }, key)).toMatchObject({
    blocked: false,
    guardrails: [{ guardrail_id: id, decision: "allowed" }],
  });
});

test.each<[string, object, number, string]>([
  ["a field", { model: "near/two", input: [] }, 400, "input: at least 1 input"],
  ["an unknown model", { model: "near/three", input: "x" }, 404, "near/three is not in the catalogue"],
  ["a model that gives no vectors", { model: "near/chat", input: "x" }, 400, "near/chat"],
])("a dry run of embeddings fails like the request for %s", async (_, body, status, message) => {
  const embedded = await fetch(`${installation.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const dry = await post(body);
  const [error, dryError] = [await embedded.json(), await dry.json()] as { error: { message: string } }[];
  expect([dry.status, dryError?.error]).toEqual([status, error?.error]);
  expect(dryError?.error.message).toContain(message);
});

test("a dry run of embeddings over gRPC works with a key, and is refused without", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  const request = { model: "near/two", inputJson: Buffer.from('"Hi"') };
  const dry = (fields: Readonly<Record<string, string>>) => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
    const input = create(DryRunEmbedRequestSchema, { request });
    return call(client, InferenceService.method.dryRunEmbed, input, metadata, 10_000);
  };
  try {
    const { receiptJson } = await dry({ authorization: `Bearer ${installation.apiKey}` });
    expect(JSON.parse(Buffer.from(receiptJson).toString())).toMatchObject({ object: "embeddings.dry_run" });
    await expect(dry({})).rejects.toMatchObject({ status: 401 });
  } finally {
    client.close();
  }
});
