/** Embeddings with an unmodified openai client: both forms of vectors, failures, retries and an abort. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { findShortest } from "../../support/clock.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
limits: {turn_ms: 5000}
providers:
  - {id: near, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [upstream-key]}
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
models:
  - id: near/embed
    context_length: 8192
    output_modalities: [embeddings]
    endpoints: [{provider: near, upstream_model: embed-small, pricing: {prompt: "0.02", completion: "0"}}]
  - {id: claude/embed, output_modalities: [embeddings], endpoints: [{provider: claude}]}
  - {id: near/chat, endpoints: [{provider: near}]}
`,
  });
  client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const usage = { prompt_tokens: 5, total_tokens: 5 };
const answerOf = (...vectors: readonly unknown[]): Reply => ({
  chunks: [
    {
      json: {
        object: "list",
        data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
        model: "embed-small",
        usage,
      },
    },
  ],
});
const base64 = (...numbers: readonly number[]): string =>
  Buffer.from(Float32Array.from(numbers).buffer).toString("base64");

const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${installation.baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const lastRequest = () => upstream.requests.at(-1);

beforeEach(() => upstream.script([answerOf(base64(0.5, -0.25, 1))]));

describe("vectors of the openai client", () => {
  test("are by default in the client's format: base64, decoded by the client", async () => {
    const { data: answer, response } = await client.embeddings
      .create({ model: "near/embed", input: "The house is blue." })
      .withResponse();
    expect(answer).toEqual({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.5, -0.25, 1] }],
      model: "near/embed",
      usage: { ...usage, cost: 1e-7 },
    });
    expect(response.headers.get("x-generation-id")).toMatch(/^gen-/);
    expect(lastRequest()).toMatchObject({ path: "/v1/embeddings", headers: { authorization: "Bearer upstream-key" } });
    expect(lastRequest()?.json).toEqual({
      model: "embed-small",
      input: ["The house is blue."],
      encoding_format: "base64",
    });
  });

  test("may be numbers, copied as the provider wrote them", async () => {
    const entry = '{"object":"embedding","index":0,"embedding":[0.10, -1.5e-3,1]}';
    upstream.script([
      {
        headers: { "content-type": "application/json" },
        chunks: [{ bytes: `{"object":"list","data":[${entry}],"usage":{"prompt_tokens":5,"total_tokens":5}}` }],
      },
    ]);
    const response = await post({ model: "near/embed", input: "Hi", encoding_format: "float" });
    expect(await response.text()).toContain('"embedding":[0.10, -1.5e-3,1]');
    expect(lastRequest()?.json["encoding_format"]).toBe("float");
  });

  test("are converted if the provider gives the other form", async () => {
    upstream.script([answerOf([0.5, -0.25, 1])]);
    const asBase64 = await client.embeddings.create({ model: "near/embed", input: "Hi" });
    expect(asBase64.data[0]?.embedding).toEqual([0.5, -0.25, 1]);
    upstream.script([answerOf(base64(0.5, -0.25, 1))]);
    const asFloats = await client.embeddings.create({ model: "near/embed", input: "Hi", encoding_format: "float" });
    expect(asFloats.data[0]?.embedding).toEqual([0.5, -0.25, 1]);
  });

  test("are in the order of the input, by their index", async () => {
    const entries = [1, 0].map((index) => ({ object: "embedding", index, embedding: [index, 7] }));
    upstream.script([{ chunks: [{ json: { object: "list", data: entries, usage } }] }]);
    const { data } = await client.embeddings.create({ model: "near/embed", input: ["a", "b"] });
    expect(data.map(({ index, embedding }) => [index, ...embedding])).toEqual([
      [0, 0, 7],
      [1, 1, 7],
    ]);
  });

  test("are made from token ids, with dimensions", async () => {
    upstream.script([answerOf([1, 2], [3, 4])]);
    const input = [[1, 2, 3], [4]];
    const { data } = await client.embeddings.create({ model: "near/embed", input, dimensions: 2 });
    expect(data).toHaveLength(2);
    expect(lastRequest()?.json).toMatchObject({ input, dimensions: 2 });
  });

  test("without usage are estimated and marked", async () => {
    upstream.script([{ chunks: [{ json: { data: [{ embedding: [1] }] } }] }]);
    const answer = await client.embeddings.create({ model: "near/embed", input: "12345678" });
    expect(answer.usage).toEqual({ prompt_tokens: 2, total_tokens: 2, is_estimated: true, cost: 4e-8 });
  });

  test("have a receipt on request, and unknown fields are named", async () => {
    const response = await post(
      { model: "near/embed", input: "Hi", dimension: 3 },
      { "x-service-metadata": "enabled" },
    );
    expect(response.headers.get("x-sluice-warning")).toBe("unknown field dimension; did you mean dimensions?");
    expect(await response.json()).toMatchObject({
      service_metadata: { requested: "near/embed", strategy: "direct", attempts: [{ provider: "near", status: 200 }] },
    });
  });
});

describe("a refused embedding request", () => {
  test.each([
    [{ input: "Hi", model: "near/chat" }, 400, "near/chat gives no embeddings"],
    [{ input: "Hi", model: "claude/embed" }, 400, "has no embeddings"],
    [{ input: "Hi", model: "near/none" }, 404, "not in the catalogue"],
    [{ input: "Hi" }, 400, "model: required"],
    [{ model: "near/embed" }, 400, "input: required"],
    [{ model: "near/embed", input: [] }, 400, "input: at least 1 input"],
    [{ model: "near/embed", input: ["a", 1] }, 400, "input.1: must be a string"],
    [{ model: "near/embed", input: [1, "a"] }, 400, "input.1: must be an integer"],
    [{ model: "near/embed", input: Array.from({ length: 2_049 }, () => "a") }, 400, "at most 2048 inputs"],
    [{ model: "near/embed", input: "Hi", encoding_format: "int8" }, 400, "encoding_format: must be one of"],
    [{ model: "near/embed", input: "Hi", dimensions: 0 }, 400, "dimensions: must be between 1 and 16384"],
  ])("with %j gets %i: %s", async (body, status, message) => {
    const asked = upstream.requests.length;
    const response = await post(body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: { message: string } }).error.message).toContain(message);
    expect(upstream.requests).toHaveLength(asked);
  });

  test("is a turn for an embedding model", async () => {
    const asked = client.responses.create({ model: "near/embed", input: "Hi" });
    await expect(asked).rejects.toMatchObject({ status: 400, message: expect.stringContaining("POST /embeddings") });
  });

  test("is 403 with a management key, and 401 without a key", async () => {
    const failure = (apiKey: string) =>
      new OpenAI({ baseURL: installation.baseUrl, apiKey, maxRetries: 0 }).embeddings
        .create({ model: "near/embed", input: "Hi" })
        .catch((error: unknown) => error);
    expect(await failure(installation.managementKey)).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(await failure("sk-unknown")).toBeInstanceOf(OpenAI.AuthenticationError);
  });
});

describe("a provider of embeddings", () => {
  const failureOf = async (reply: Reply, input: string | string[] = "Hi"): Promise<unknown> => {
    upstream.script([reply]);
    return client.embeddings
      .create({ model: "near/embed", input, encoding_format: "float" })
      .catch((error: unknown) => error);
  };
  const json = (bytes: string): Reply => ({ headers: { "content-type": "application/json" }, chunks: [{ bytes }] });

  test.each<[string, Reply]>([
    ["one vector for two inputs", answerOf([1])],
    ["three vectors for two inputs", answerOf([1], [2], [3])],
    ["vectors of different lengths", answerOf([1], [2, 3])],
    ["an empty vector", answerOf([], [])],
    ["a text that is no vector", answerOf("abc", "def")],
    ["words in a vector", answerOf(["1"], [2])],
    ["null in a vector", answerOf([null], [2])],
    ["an infinite number", json('{"data":[{"embedding":[1e999]},{"embedding":[1]}]}')],
    ["NaN", json('{"data":[{"embedding":[NaN]},{"embedding":[1]}]}')],
    ["a base64 NaN", answerOf(base64(Number.NaN), base64(1))],
    ["an index twice", json('{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}')],
    ["an index out of the list", json('{"data":[{"index":2,"embedding":[1]},{"index":0,"embedding":[1]}]}')],
    ["two vectors in one entry", json('{"data":[{"embedding":[1],"embedding":[1]},{"embedding":[1]}]}')],
    ["entries that are no objects", json('{"data":[[1],[2]]}')],
    ["a list that is none", json('{"data":"[1],[2]"}')],
    ["no list", json("{}")],
    ["half an answer", json('{"data":[{"embedding":[1')],
    ["a page", json("<html>")],
  ])("with %s gives 502", async (_, reply) => {
    expect(await failureOf(reply, ["a", "b"])).toMatchObject({ status: 502, error: { code: 502 } });
  });

  test("that ignores dimensions gives 400 with the name of the field", async () => {
    upstream.script([answerOf([1, 2, 3])]);
    const asked = client.embeddings.create({
      model: "near/embed",
      input: "Hi",
      dimensions: 2,
      encoding_format: "float",
    });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      param: "dimensions",
      message: expect.stringContaining("gives vectors of 3 numbers only; leave it out"),
    });
  });

  test("with 500 MB gives 502, and its socket is closed", async () => {
    const closed = upstream.nextClose();
    const chunk = Buffer.alloc(1024 * 1024, "1,");
    const head = { headers: { "content-type": "application/json" } };
    const failure = await failureOf({
      ...head,
      chunks: [{ bytes: '{"data":[{"embedding":[1,' }, { bytes: chunk, repeat: 500 }],
    });
    expect(failure).toMatchObject({ status: 502 });
    await closed;
  });

  test("with an endless answer gives 408 at the configured time limit", async () => {
    expect(
      await failureOf({ chunks: [{ bytes: "{" }], headers: { "content-type": "application/json" }, hang: true }),
    ).toMatchObject({
      status: 408,
    });
  });

  test("that refuses a request is quoted in the error", async () => {
    const error = { message: "too many dimensions", type: "invalid_request_error" };
    expect(await failureOf({ status: 400, chunks: [{ json: { error } }] })).toMatchObject({
      status: 400,
      message: expect.stringContaining("too many dimensions"),
    });
  });

  test("that fails once is called again by the client", async () => {
    const retrying = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 2 });
    upstream.script([{ status: 529 }, answerOf([1])]);
    const { data } = await retrying.embeddings.create({ model: "near/embed", input: "Hi", encoding_format: "float" });
    expect(data[0]?.embedding).toEqual([1]);
  });

  test("is disconnected as soon as the client leaves", async () => {
    upstream.script([{ chunks: [{ bytes: "{" }], headers: { "content-type": "application/json" }, hang: true }]);
    const leave = async () => {
      const asked = upstream.nextRequest();
      const leaving = new AbortController();
      const answer = client.embeddings.create({ model: "near/embed", input: "Hi" }, { signal: leaving.signal });
      const failure = answer.catch((error: unknown) => error);
      await asked;
      const closed = upstream.nextClose();
      const leftAt = performance.now();
      leaving.abort();
      const tookMs = (await closed) - leftAt;
      expect(await failure).toBeInstanceOf(OpenAI.APIUserAbortError);
      return tookMs;
    };
    expect(await findShortest(1_000, leave, 5)).toBeLessThan(1_000);
  });
});
