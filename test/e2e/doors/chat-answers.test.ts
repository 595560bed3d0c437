/** Parts of answers of chat completions other than text: citations, probabilities, refusals, calls of custom tools; whole and in chunks. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readSample, sampleStream } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

interface Piece {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly annotations?: readonly {
    readonly url_citation: { readonly start_index: number; readonly end_index: number };
  }[];
  readonly tool_calls?: readonly {
    readonly index?: number;
    readonly id?: string;
    readonly custom?: { readonly name?: string; readonly input?: string };
  }[];
}
interface Body {
  readonly choices: readonly {
    readonly message: Piece;
    readonly delta: Piece;
    readonly finish_reason: string | null;
    readonly logprobs?: unknown;
  }[];
}

const logprob = (token: string) => ({ token, logprob: -0.5, bytes: [...Buffer.from(token)], top_logprobs: [] });
const question = { role: "user", content: "x" };

describe("an answer of chat completions", () => {
  let installation: Installation;
  let chat: Upstream;
  let native: Upstream;

  beforeAll(async () => {
    chat = await startUpstream();
    native = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: echo, dialect: echo}
  - {id: chat, dialect: chat, base_url: "${chat.url}/v1"}
  - {id: native, dialect: responses, base_url: "${native.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: echo}]}
  - {id: far/chat, endpoints: [{provider: chat}]}
  - {id: far/native, endpoints: [{provider: native}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all([chat?.stop(), native?.stop()]);
  });

  async function post(body: object): Promise<string> {
    const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    expect([answer.status, text]).toEqual([200, expect.any(String)]);
    return text;
  }
  const whole = async (body: object) => (JSON.parse(await post(body)) as Body).choices[0]!;
  async function chunks(body: object): Promise<Body["choices"]> {
    const events = (await post({ ...body, stream: true })).split("\n\n").filter((event) => event.startsWith("data: {"));
    return events.flatMap((event) => (JSON.parse(event.slice(6)) as Body).choices);
  }

  test("has citations at the same places of the text, whole and streamed", async () => {
    const name = "09-web-search-stream.sse";
    native.script([{ chunks: [{ json: sampleStream(name).events.at(-1)?.["response"] }] }]);
    const request = { model: "far/native", messages: [question], web_search_options: {} };
    const { message } = await whole(request);
    expect(message.annotations).toMatchObject([
      { type: "url_citation", url_citation: { url: expect.stringMatching(/^https:/), title: expect.any(String) } },
    ]);
    const place = message.annotations?.[0]?.url_citation;
    expect(
      Array.from(message.content as string)
        .slice(place?.start_index, place?.end_index)
        .join(""),
    ).not.toBe("");
    native.script([{ chunks: [{ bytes: readSample(name) }] }]);
    const deltas = (await chunks(request)).map(({ delta }) => delta);
    expect(deltas.flatMap(({ annotations = [] }) => annotations)).toEqual(message.annotations);
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe(message.content);
  });

  test("has log probabilities with their pieces of text", async () => {
    const words = ["Hi", " you"];
    const sse = words.map((token) => ({
      choices: [{ index: 0, delta: { content: token }, logprobs: { content: [logprob(token)] }, finish_reason: null }],
    }));
    const reply = { chunks: [{ sse: [...sse, chatChunk({}, "stop"), "[DONE]"] }] };
    chat.script([reply]);
    const request = { model: "far/chat", messages: [question], logprobs: true };
    expect((await whole(request)).logprobs).toEqual({ content: words.map(logprob), refusal: null });
    const pieces = (await chunks(request)).filter(({ logprobs }) => logprobs);
    expect(pieces.map(({ delta, logprobs }) => [delta.content, logprobs])).toEqual(
      words.map((token) => [token, { content: [logprob(token)], refusal: null }]),
    );
  });

  test("has a provider's refusal as a refusal, not as content", async () => {
    const sse = [
      chatChunk({ role: "assistant", refusal: "I can" }),
      chatChunk({ refusal: "not." }),
      chatChunk({}, "stop"),
    ];
    chat.script([{ chunks: [{ sse: [...sse, "[DONE]"] }] }]);
    const request = { model: "far/chat", messages: [question] };
    expect((await whole(request)).message).toMatchObject({ content: null, refusal: "I cannot." });
    const deltas = (await chunks(request)).map(({ delta }) => delta);
    expect(deltas.map(({ refusal }) => refusal ?? "").join("")).toBe("I cannot.");
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe("");
  });

  test("has the input of a custom tool as text, and takes its result back", async () => {
    const tools = [{ type: "custom", custom: { name: "run_sql", description: "Runs SQL", format: { type: "text" } } }];
    const request = { model: "sluice/echo", messages: [question], tools };
    const { message, finish_reason: reason } = await whole(request);
    const [call] = message.tool_calls ?? [];
    expect([reason, call]).toEqual([
      "tool_calls",
      { id: expect.any(String), type: "custom", custom: { name: "run_sql", input: expect.stringMatching(/./) } },
    ]);
    const pieces = (await chunks(request)).flatMap(({ delta }) => delta.tool_calls ?? []);
    expect(pieces[0]).toMatchObject({ index: 0, type: "custom", custom: { name: "run_sql", input: "" } });
    expect(pieces.map(({ custom }) => custom?.input ?? "").join("")).toBe(call?.custom?.input);
    const result = { role: "tool", tool_call_id: call?.id, content: "79" };
    const answer = await whole({ ...request, messages: [question, { role: "assistant", ...message }, result] });
    expect(answer.message.content).toContain("79");
  });

  test("calls no tool outside the allowed tools of its tool choice", async () => {
    const named = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
    const only = { type: "function", function: { name: "second" } };
    const { message } = await whole({
      model: "sluice/echo",
      messages: [question],
      tools: [named("first"), named("second")],
      tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [only] } },
    });
    expect(message.tool_calls).toMatchObject([{ function: { name: "second" } }]);
  });
});
