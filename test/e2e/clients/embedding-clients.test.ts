/** Embeddings with unmodified clients other than openai: LangChain with its defaults, and the AI SDK. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embed, embedMany } from "ai";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: near, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: near/embed, context_length: 8192, output_modalities: [embeddings], endpoints: [{provider: near}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const vectorsOf = [
  [0.5, 1],
  [0.25, 2],
];
const answerOf = (count: number) => ({
  chunks: [
    {
      json: {
        object: "list",
        data: vectorsOf.slice(0, count).map((embedding, index) => ({ object: "embedding", index, embedding })),
        usage: { prompt_tokens: 4, total_tokens: 4 },
      },
    },
  ],
});

beforeEach(() => upstream.script([answerOf(2)]));

describe("embeddings with LangChain's OpenAIEmbeddings", () => {
  const embeddings = (more: object = {}) =>
    new OpenAIEmbeddings({
      model: "near/embed",
      apiKey: installation.apiKey,
      configuration: { baseURL: installation.baseUrl },
      maxRetries: 0,
      ...more,
    });

  test("are made of documents and of a query", async () => {
    expect(await embeddings().embedDocuments(["a b", "c d"])).toEqual(vectorsOf);
    expect(upstream.requests.at(-1)?.json["input"]).toEqual(["a b", "c d"]);
    upstream.script([answerOf(1)]);
    expect(await embeddings({ dimensions: 2 }).embedQuery("a b")).toEqual(vectorsOf[0]);
    expect(upstream.requests.at(-1)?.json["dimensions"]).toBe(2);
  });

  test("fail with the gateway's message", async () => {
    await expect(embeddings({ model: "near/none" }).embedQuery("a b")).rejects.toThrow("not in the catalogue");
  });
});

describe("embeddings with the AI SDK", () => {
  const model = () =>
    createOpenAICompatible({
      name: "sluice",
      baseURL: installation.baseUrl,
      apiKey: installation.apiKey,
    }).embeddingModel("near/embed");

  test("are returned by embed and embedMany", async () => {
    const { embeddings, usage } = await embedMany({ model: model(), values: ["a b", "c d"], maxRetries: 0 });
    expect(embeddings).toEqual(vectorsOf);
    expect(usage.tokens).toBe(4);
    upstream.script([answerOf(1)]);
    const { embedding } = await embed({ model: model(), value: "a b", maxRetries: 0 });
    expect(embedding).toEqual(vectorsOf[0]);
  });

  test("fail with the gateway's message, and stop when aborted", async () => {
    upstream.script([{ status: 400, chunks: [{ json: { error: { message: "too many words" } } }] }]);
    await expect(embed({ model: model(), value: "a b", maxRetries: 0 })).rejects.toThrow("too many words");
    upstream.script([{ hang: true }]);
    const leaving = new AbortController();
    const asked = upstream.nextRequest();
    const answer = embed({ model: model(), value: "a b", maxRetries: 0, abortSignal: leaving.signal });
    const failure = answer.catch((error: unknown) => error);
    await asked;
    const closed = upstream.nextClose();
    leaving.abort();
    await closed;
    expect(await failure).toMatchObject({ name: "AbortError" });
  });
});
