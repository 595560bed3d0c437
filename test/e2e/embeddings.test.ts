/** Embeddings through running services: the formats of providers, and the guardrails, budgets, fallback and ledger of every other request. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { EmbedRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { type Reply, type Upstream, startUpstream } from "../support/providers/upstream.ts";

let upstream: Upstream;
let second: Upstream;
let installation: Installation;
let database: pg.Client;
const serviceToken = "t".repeat(64);

const providers = {
  first: { dialect: "chat", path: "/v1" },
  second: { dialect: "chat", path: "/v1" },
  google: { dialect: "gemini", path: "/v1beta" },
  cohere: { dialect: "cohere", path: "" },
  bedrock: { dialect: "converse", path: "" },
};

const model = (id: string, ...endpoints: readonly string[]) =>
  `  - {id: ${id}, context_length: 8192, output_modalities: [embeddings], endpoints: [${endpoints.join(", ")}]}\n`;
const endpoint = (provider: string, upstreamModel: string) =>
  `{provider: ${provider}, upstream_model: "${upstreamModel}", pricing: {prompt: "1000", completion: "0"}}`;

beforeAll(async () => {
  upstream = await startUpstream();
  second = await startUpstream();
  const urlOf = (id: string) => (id === "second" ? second.url : upstream.url);
  installation = await startInstallation({
    environment: { SLUICE_SERVICE_TOKEN: serviceToken },
    config: `
providers:
${Object.entries(providers)
  .map(
    ([id, { dialect, path }]) =>
      `  - {id: ${id}, dialect: ${dialect}, base_url: "${urlOf(id)}${path}", api_keys: [key]}\n`,
  )
  .join("")}
model_aliases: [{match: "text-embedding-*", model: near/two}]
models:
${model("near/one", endpoint("first", "one"))}
${model("near/two", endpoint("first", "two"), endpoint("second", "two"))}
${model("google/embed", endpoint("google", "gemini-embedding-001"))}
${model("cohere/embed", endpoint("cohere", "embed-v4.0"))}
${model("amazon/titan", endpoint("bedrock", "amazon.titan-embed-text-v2:0"))}
${model("cohere/bedrock", endpoint("bedrock", "cohere.embed-v4:0"))}
${model("amazon/other", endpoint("bedrock", "amazon.other-embed"))}
`,
  });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await second?.stop();
  await upstream?.stop();
});

const json = (body: object): Reply => ({ chunks: [{ json: body }] });
const vectors = (...embeddings: readonly unknown[]): Reply =>
  json({
    data: embeddings.map((embedding, index) => ({ index, embedding })),
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });

const embed = (body: object, { key = installation.apiKey, headers = {} }: { key?: string; headers?: object } = {}) =>
  fetch(`${installation.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

interface Answer {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[];
  readonly model: string;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly service_metadata: { readonly [field: string]: unknown };
}

async function answerTo(body: object): Promise<Answer> {
  const response = await embed(body);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

const errorOf = async (response: Response) => ((await response.json()) as { error: Record<string, unknown> }).error;
const lastBody = () => upstream.requests.at(-1)?.json;

describe("an embedding request", () => {
  test("has the form of Gemini", async () => {
    upstream.script([json({ embeddings: [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }] })]);
    const input = ["a b", "c d"];
    const answer = await answerTo({ model: "google/embed", input, dimensions: 2, input_type: "RETRIEVAL_QUERY" });
    expect(answer.data.map(({ embedding }) => embedding)).toEqual([
      [0.1, 0.2],
      [0.3, 0.4],
    ]);
    expect(answer.usage["is_estimated"]).toBe(true);
    expect(upstream.requests.at(-1)).toMatchObject({
      path: "/v1beta/models/gemini-embedding-001:batchEmbedContents",
      headers: { "x-goog-api-key": "key" },
    });
    const settings = { taskType: "RETRIEVAL_QUERY", outputDimensionality: 2 };
    const model = "models/gemini-embedding-001";
    expect(lastBody()).toEqual({
      requests: input.map((text) => ({ model, content: { parts: [{ text }] }, ...settings })),
    });
  });

  test("is split into calls of a hundred texts for Gemini", async () => {
    const values = (count: number) => json({ embeddings: Array.from({ length: count }, () => ({ values: [1] })) });
    upstream.script([values(100)]);
    const before = upstream.requests.length;
    const answer = await answerTo({ model: "google/embed", input: Array.from({ length: 300 }, (_, n) => `${n}`) });
    expect(answer.data).toHaveLength(300);
    expect(upstream.requests.length - before).toBe(3);
  });

  test("has the form of Cohere", async () => {
    upstream.script([json({ embeddings: { float: [[1, 2]] }, meta: { billed_units: { input_tokens: 4 } } })]);
    const answer = await answerTo({ model: "cohere/embed", input: "Hi", dimensions: 2 });
    expect(answer).toMatchObject({ data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 4, cost: 0.004 } });
    expect(upstream.requests.at(-1)?.path).toBe("/v2/embed");
    expect(lastBody()).toEqual({
      model: "embed-v4.0",
      texts: ["Hi"],
      input_type: "search_document",
      embedding_types: ["float"],
      output_dimension: 2,
    });
  });

  test("is split into calls of one text for Titan on Bedrock", async () => {
    upstream.script([json({ embedding: [0.5], inputTextTokenCount: 2 })]);
    const input = ["a", "b", "c"];
    const before = upstream.requests.length;
    const answer = await answerTo({ model: "amazon/titan", input, dimensions: 1 });
    expect(answer).toMatchObject({ usage: { prompt_tokens: 6, cost: 0.006 } });
    expect(answer.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    const sent = upstream.requests.slice(before);
    expect(sent.map(({ path }) => path)).toEqual(Array(3).fill("/model/amazon.titan-embed-text-v2%3A0/invoke"));
    expect(new Set(sent.map(({ json: { inputText } }) => inputText))).toEqual(new Set(input));
  });

  test("for Titan on Bedrock fails if one of its calls fails, and the successful calls are paid for", async () => {
    upstream.script([
      json({ embedding: [0.5], inputTextTokenCount: 2 }),
      { status: 400, chunks: [{ json: { message: "no" } }] },
    ]);
    const response = await embed({ model: "amazon/titan", input: ["a", "b"] });
    expect(response.status).toBe(400);
    const id = response.headers.get("x-request-id");
    const rows = await rowsOf("request_id", id);
    // The successful call is paid for.
    expect(rows).toMatchObject([{ status: "failed", http_status: 400, input_tokens: "2", cost_usd: "0.002000000000" }]);
  });

  test("has the form of Cohere on Bedrock", async () => {
    upstream.script([json({ embeddings: { float: [[1, 2]] } })]);
    const answer = await answerTo({ model: "cohere/bedrock", input: "Hi", input_type: "search_query" });
    expect(answer.data[0]?.embedding).toEqual([1, 2]);
    expect(lastBody()).toEqual({ texts: ["Hi"], input_type: "search_query", embedding_types: ["float"] });
  });

  test("for another model on Bedrock than Titan and Cohere is 400", async () => {
    const response = await embed({ model: "amazon/other", input: "Hi" });
    expect(await errorOf(response)).toMatchObject({ code: 400, message: expect.stringContaining("Titan and Cohere") });
  });

  test("with token ids is 400 at most providers", async () => {
    for (const model of ["google/embed", "cohere/embed", "amazon/titan"]) {
      const response = await embed({ model, input: [1, 2, 3] });
      expect(await errorOf(response)).toMatchObject({ code: 400, metadata: { param: "input" } });
    }
  });
});

/** @param count number of calls, whose records may arrive separately */
async function rowsOf(column: "request_id" | "generation_id", id: string | null, count = 1) {
  const read = async () =>
    (await database.query(`select * from all_calls where ${column} = $1 order by attempt`, [id])).rows as Record<
      string,
      unknown
    >[];
  await eventually(async () => (await read()).length >= count);
  return read();
}

describe("a failing endpoint of an embedding model", () => {
  test("is replaced by another endpoint of the same model, and both are on record", async () => {
    upstream.script([{ status: 500 }]);
    second.script([vectors([1])]);
    const body = { model: "near/two", input: "Hi", provider: { order: ["first", "second"] } };
    const response = await embed(body, { headers: { "x-service-metadata": "enabled" } });
    expect(response.status).toBe(200);
    const { service_metadata: receipt } = (await response.json()) as Answer;
    const { length: attempts } = receipt["attempts"] as object[];
    expect(attempts).toBeGreaterThan(1);
    const rows = await rowsOf("generation_id", response.headers.get("x-generation-id"), attempts);
    expect(rows.length).toBe(attempts);
    expect(rows.at(-1)).toMatchObject({
      operation: "embed",
      door: "embeddings",
      model: "near/two",
      status: "completed",
      provider: "second",
      input_tokens: "3",
      output_tokens: "0",
      is_estimated: false,
      cost_usd: "0.003000000000",
    });
  });

  test("does not fall back to another model", async () => {
    upstream.script([{ status: 500 }]);
    const response = await embed({ model: "near/one", models: ["near/two"], input: "Hi" });
    expect(response.status).toBe(502);
    expect(response.headers.get("x-sluice-warning")).toContain("unknown field models");
  });

  test("is replaced for a model named by an alias, too", async () => {
    second.script([vectors([8])]);
    const answer = await answerTo({ model: "text-embedding-ada-002", input: "Hi", provider: { only: ["second"] } });
    expect(answer).toMatchObject({ model: "near/two", data: [{ embedding: [8] }] });
  });

  test("is avoided by provider preferences", async () => {
    second.script([vectors([7])]);
    const answer = await answerTo({ model: "near/two", input: "Hi", provider: { only: ["second"] } });
    expect(answer.data[0]?.embedding).toEqual([7]);
  });
});

test("embeddings over gRPC work with an API key, or for a key by its hash with the service token", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  try {
    upstream.script([vectors([0.5])]);
    const embedAs = (fields: Readonly<Record<string, string>>) => {
      const metadata = new Metadata();
      for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
      const request = create(EmbedRequestSchema, { model: "near/one", inputJson: Buffer.from('"Hi"') });
      return call(client, InferenceService.method.embed, request, metadata, 10_000);
    };
    const token = { "x-sluice-service-token": serviceToken };
    for (const fields of [
      { authorization: `Bearer ${installation.apiKey}` },
      { ...token, "x-sluice-key-hash": hashKey(installation.apiKey) },
    ]) {
      const answer = await embedAs(fields);
      expect(answer.embeddingsJson.map((json) => Buffer.from(json).toString())).toEqual(["[0.5]"]);
      expect(answer.usage).toMatchObject({ inputTokens: 3, cost: { inputPicoUsd: 3_000_000_000n } });
      expect(await rowsOf("generation_id", answer.generationId)).toMatchObject([{ operation: "embed" }]);
    }
    await expect(embedAs({})).rejects.toMatchObject({ status: 401 });
    await expect(embedAs(token)).rejects.toMatchObject({ status: 401 });
    await expect(embedAs({ ...token, "x-sluice-key-hash": hashKey(installation.managementKey) })).rejects.toMatchObject(
      {
        status: 403,
      },
    );
  } finally {
    client.close();
  }
});

const newKey = async (...options: readonly string[]): Promise<string> => {
  const { stdout } = await installation.admin("keys", "create", "--name", "k", "--json", ...options);
  return (JSON.parse(stdout) as { key: string }).key;
};

/** USD spent by the key. */
async function usageOf(key: string): Promise<number> {
  const response = await fetch(`${installation.baseUrl}/keys/${hashKey(key)}`, {
    headers: { authorization: `Bearer ${installation.managementKey}` },
  });
  return ((await response.json()) as { data: { usage: number } }).data.usage;
}

describe("an embedding request of a key with", () => {
  const guarded = async (...options: readonly string[]): Promise<string> => {
    const key = await newKey();
    const { stdout } = await installation.admin("guardrails", "create", "--name", "g", "--json", ...options);
    const { id } = JSON.parse(stdout) as { id: string };
    const assigned = await fetch(`${installation.baseUrl}/guardrails/${id}/assignments/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ key_hashes: [hashKey(key)] }),
    });
    expect(assigned.status).toBe(200);
    return key;
  };

  test("a blocking guardrail is refused with 403 for any of the texts, and no text is sent", async () => {
    const key = await guarded("--block", "secret");
    const before = upstream.requests.length;
    const response = await embed({ model: "near/one", input: ["fine", "a secret"] }, { key });
    expect(await errorOf(response)).toMatchObject({ code: 403, metadata: { patterns: ["secret"] } });
    expect(upstream.requests).toHaveLength(before);
  });

  test("a redacting guardrail sends the redacted text to the provider", async () => {
    const key = await guarded("--redact", "secret");
    upstream.script([vectors([1], [2])]);
    expect((await embed({ model: "near/one", input: ["fine", "a secret b"] }, { key })).status).toBe(200);
    const { input: sent } = lastBody() as { input: readonly string[] };
    const [fine, redacted] = sent;
    expect(fine).toBe("fine");
    expect(redacted).not.toContain("secret");
  });

  test("a guardrail is refused with token ids, which no guardrail can read", async () => {
    const key = await guarded("--block", "secret");
    const response = await embed({ model: "near/one", input: [1, 2] }, { key });
    expect(await errorOf(response)).toMatchObject({
      code: 400,
      message: expect.stringContaining("cannot read token ids"),
    });
  });

  test("a budget is refused if it could exceed the budget, which can be spent to its end", async () => {
    // 18 bytes are at most 26 tokens with their marks, each 0.001 USD.
    const key = await newKey("--limit", "0.03");
    upstream.script([vectors([1])]);
    expect((await embed({ model: "near/one", input: "eighteen bytes of " }, { key })).status).toBe(200);
    const refused = await embed({ model: "near/one", input: "x".repeat(100) }, { key });
    expect(await errorOf(refused)).toMatchObject({
      code: 402,
      metadata: { error_type: "payment_required", limit: 0.03 },
    });
    // The first call costs 3 tokens, and 27 are left once it is recorded.
    await eventually(async () => (await usageOf(key)) === 0.003);
    expect((await embed({ model: "near/one", input: "eighteen bytes of " }, { key })).status).toBe(200);
    await eventually(async () => (await usageOf(key)) === 0.006);
    const sum = "select sum(cost_usd)::text as cost from all_calls where key_hash = $1";
    expect((await database.query(sum, [hashKey(key)])).rows).toEqual([{ cost: "0.006000000000" }]);
  });

  test("a limit of tokens counts with its tokens", async () => {
    const key = await newKey("--tokens-per-minute", "1000");
    const usage = { prompt_tokens: 900, total_tokens: 900 };
    upstream.script([json({ data: [{ index: 0, embedding: [1] }], usage })]);
    const first = await embed({ model: "near/one", input: "Hi" }, { key });
    expect(first.headers.get("x-ratelimit-limit-tokens")).toBe("1000");
    const next = await embed({ model: "near/one", input: "Hi" }, { key });
    // The limit regains 17 tokens each second, and a busy machine may take some seconds.
    expect(Number(next.headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(500);
  });
});
