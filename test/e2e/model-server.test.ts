/** A real model server behind Sluice: llama.cpp in three formats, and the embedding model all-MiniLM-L6-v2. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { install } from "../support/clients/languages.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { type ModelServer, modelServer, startModelServer } from "../support/model-server/model-server.ts";
import { eventually } from "../support/processes.ts";

const dialects = ["chat", "responses", "messages"] as const;
/** An answer of 30,000 tokens takes the server over ten seconds. */
const noticedMs = 5_000;

const town = {
  type: "object",
  properties: { town: { type: "string", enum: ["Oslo", "Rome"] } },
  required: ["town"],
  additionalProperties: false,
};
const weather = { type: "function", name: "weather", description: "Weather of a town", parameters: town };

interface Item {
  readonly type: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly call_id?: string;
  readonly content?: readonly { readonly text: string; readonly logprobs?: readonly object[] }[];
}

interface Answer {
  readonly status: string;
  readonly output: readonly Item[];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

const textOf = ({ output }: Answer): string =>
  output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join("");

const installation = await install(modelServer);
if ("missing" in installation) {
  describe(`a real model server: skipped, because ${installation.missing}`, () =>
    test.skip("llama.cpp answers through the gateway", () => {}));
} else testModelServer(installation.folder);

function testModelServer(folder: string): void {
  let chat: ModelServer;
  let embeddings: ModelServer;
  let installation: Installation;
  beforeAll(async () => {
    [chat, embeddings] = await Promise.all([startModelServer(folder, "chat"), startModelServer(folder, "embeddings")]);
    installation = await startInstallation({
      config: `
providers:
${dialects.map((dialect) => `  - {id: ${dialect}, dialect: ${dialect}, base_url: "${chat.url}/v1"}\n`).join("")}
  - {id: vectors, dialect: chat, base_url: "${embeddings.url}/v1"}
models:
${dialects.map((dialect) => `  - {id: own/${dialect}, context_length: 32768, endpoints: [{provider: ${dialect}}]}\n`).join("")}
  - {id: own/embed, context_length: 512, output_modalities: [embeddings], endpoints: [{provider: vectors}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await chat?.stop();
    await embeddings?.stop();
  });

  const post = (path: string, body: object, signal?: AbortSignal) =>
    fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });

  /** Requests a whole answer, or a stream with the whole answer in its last event. */
  async function sendRequest(isStream: boolean, body: object): Promise<Answer> {
    const response = await post("/responses", { temperature: 0, ...body, stream: isStream });
    const text = await response.text();
    expect([response.status, response.ok ? "" : text]).toEqual([200, ""]);
    if (!isStream) return JSON.parse(text) as Answer;
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string));
    return events.at(-1).response as Answer;
  }

  const forms = dialects.flatMap((dialect) => [
    [dialect, "whole", false] as const,
    [dialect, "streamed", true] as const,
  ]);

  describe.each(forms)("a local model server: %s, %s", (dialect, _, isStream) => {
    const model = `own/${dialect}`;

    test("sends text with the server's words and usage, and stops at the token limit", async () => {
      const answer = await sendRequest(isStream, { model, input: "Hello", max_output_tokens: 8 });
      expect(textOf(answer).trim()).toBe("Hi! Hi!");
      // The server's own Responses door says "completed" at the limit, too.
      expect(answer.status).toBe(dialect === "responses" ? "completed" : "incomplete");
      expect(answer.usage.output_tokens).toBe(8);
      expect(answer.usage.input_tokens).toBeGreaterThan(10);
    });

    test("calls a tool with arguments of its schema, and takes the result in the next turn", async () => {
      const tools = { tools: [weather], tool_choice: "required", parallel_tool_calls: false };
      const first = await sendRequest(isStream, { model, input: "Weather?", max_output_tokens: 400, ...tools });
      const calls = first.output.filter(({ type }) => type === "function_call");
      expect(calls[0]).toMatchObject({ name: "weather" });
      expect(["Oslo", "Rome"]).toContain(JSON.parse(calls[0]?.arguments ?? "").town);
      const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "Clear." }));
      const input = [{ role: "user", content: "Weather?" }, ...calls, ...results];
      const second = await sendRequest(isStream, { model, input, max_output_tokens: 4 });
      expect(textOf(second)).toContain("Hi!");
    });
  });

  test.each([false, true])(
    "a local model server keeps to the schema of a chat answer (stream %s)",
    async (isStream) => {
      const format = { type: "json_schema", name: "place", strict: true, schema: town };
      const answer = await sendRequest(isStream, { model: "own/chat", input: "Where?", text: { format } });
      expect(["Oslo", "Rome"]).toContain(JSON.parse(textOf(answer)).town);
    },
  );

  test.each([false, true])(
    "a local model server sends log probabilities for each token (stream %s)",
    async (isStream) => {
      const include = ["message.output_text.logprobs"];
      const answer = await sendRequest(isStream, { model: "own/chat", input: "Hello", max_output_tokens: 4, include });
      expect(
        answer.output.flatMap(({ content = [] }) => content.flatMap(({ logprobs = [] }) => logprobs)),
      ).toHaveLength(4);
    },
  );

  test.each(dialects)(
    "a prompt beyond the context of %s is refused with 400 context_length_exceeded",
    async (dialect) => {
      const response = await post("/responses", {
        model: `own/${dialect}`,
        input: "a".repeat(40_000),
        truncation: "disabled",
      });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining("context_length_exceeded"),
      ]);
    },
  );

  // This server goes on with a whole answer whose client has left, also without Sluice between them.
  test.each(dialects)(
    "a local model server's generation by %s stops when the client of a stream leaves",
    async (dialect) => {
      const leaving = new AbortController();
      const body = { model: `own/${dialect}`, input: "Hello", max_output_tokens: 30_000, stream: true };
      const answered = post("/responses", body, leaving.signal).then((response) => response.text());
      const left = expect(answered).rejects.toThrow();
      await eventually(async () => (await chat.busy()) === 1);
      leaving.abort();
      await left;
      await eventually(async () => (await chat.busy()) === 0, noticedMs);
    },
  );

  test("a local model server's embeddings are near each other for similar sentences", async () => {
    const input = ["A kitten sleeps on the sofa.", "A young cat naps on the couch.", "The invoice is due on Friday."];
    const response = await post("/embeddings", { model: "own/embed", input });
    const { data, usage } = (await response.json()) as {
      readonly data: readonly { readonly embedding: readonly number[] }[];
      readonly usage: { readonly prompt_tokens: number };
    };
    const [kitten = [], cat = [], invoice = []] = data.map(({ embedding }) => embedding);
    expect(kitten).toHaveLength(384);
    const product = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0);
    expect(product(kitten, cat)).toBeGreaterThan(0.6);
    expect(product(kitten, invoice)).toBeLessThan(0.2);
    expect(usage.prompt_tokens).toBeGreaterThan(15);
  });

  test("dimensions that a local model server does not take are refused by name", async () => {
    const response = await post("/embeddings", { model: "own/embed", input: "Hello", dimensions: 8 });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.text()).toContain("dimensions");
  });
}
