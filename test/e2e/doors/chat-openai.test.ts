/** Chat completions as the unmodified openai client sees them. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI, { type ClientOptions } from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

type Message = OpenAI.ChatCompletionMessageParam;

const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Current weather of a town",
    parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
  },
};

const Moon = z.object({ name: z.string(), planet: z.enum(["Mars", "Jupiter"]), radius_km: z.number() });

const scripts: Readonly<Record<string, readonly Reply[]>> = {
  "busy-once": [{ status: 429, headers: { "retry-after": "1" } }, chatAnswer({ role: "assistant", content: "Now." })],
  broken: [{ status: 500 }],
  torn: [],
  endless: [{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true }],
};

const configOf = (upstreams: Readonly<Record<string, Upstream>>) => `
providers:
  - {id: echo, dialect: echo}
${Object.entries(upstreams)
  .map(([name, { url }]) => `  - {id: ${name}, dialect: chat, base_url: "${url}/v1"}`)
  .join("\n")}
models:
  - {id: sluice/echo, endpoints: [{provider: echo}]}
${Object.keys(upstreams)
  .map((name) => `  - {id: far/${name}, endpoints: [{provider: ${name}}]}`)
  .join("\n")}
`;

const question = (content: string): Message[] => [{ role: "user", content }];

describe("the openai client's chat completions with only its base URL and key changed", () => {
  const upstreams: Record<string, Upstream> = {};
  let installation: Installation;
  let client: OpenAI;

  beforeAll(async () => {
    for (const [name, replies] of Object.entries(scripts)) upstreams[name] = await startUpstream(replies);
    installation = await startInstallation({ config: configOf(upstreams) });
    client = clientOf();
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
  });

  const clientOf = (options: ClientOptions = {}) =>
    new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0, ...options });

  test("read one whole completion by create", async () => {
    const asked = client.chat.completions.create({ model: "sluice/echo", messages: question("Name a moon.") });
    const { data: completion, request_id: requestId, response } = await asked.withResponse();
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: "chat.completion",
      model: "sluice/echo",
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: { role: "assistant", refusal: null, content: expect.stringContaining("Name a moon.") },
        },
      ],
    });
    const { usage } = completion;
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect([requestId, response.headers.get("x-generation-id")]).toEqual([expect.any(String), expect.any(String)]);
  });

  test.each([null, { include_usage: true }])(
    "read a stream with role, text, finish reason, and usage in a separate chunk (%j)",
    async (options) => {
      const stream = await client.chat.completions.create({
        model: "sluice/echo",
        messages: question("Count to three."),
        stream: true,
        stream_options: options,
      });
      const chunks = [];
      for await (const chunk of stream) chunks.push(chunk);
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
      expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toContain("Count to three.");
      const finished = chunks.findIndex((chunk) => chunk.choices[0]?.finish_reason);
      expect(chunks[finished]?.choices[0]?.finish_reason).toBe("stop");
      const counted = chunks.filter((chunk) => chunk.usage);
      expect(counted).toEqual([chunks.at(-1)]);
      expect(counted[0]?.usage?.completion_tokens).toBeGreaterThan(0);
      const empty = { index: 0, delta: {}, finish_reason: null };
      expect(chunks.slice(finished + 1).map((chunk) => chunk.choices)).toEqual(options ? [[]] : [[empty]]);
    },
  );

  test("leave out usage that was not requested, so that the SDK for Go keeps the finish reason", async () => {
    const asGo = clientOf({ defaultHeaders: { "x-stainless-lang": "go" } });
    const sendRequest = async (options: { include_usage: boolean } | null) => {
      const request = {
        model: "sluice/echo",
        messages: question("Hi"),
        stream: true as const,
        stream_options: options,
      };
      const chunks = [];
      for await (const chunk of await asGo.chat.completions.create(request)) chunks.push(chunk);
      return chunks;
    };
    const plain = await sendRequest(null);
    expect([plain.some(({ usage }) => usage), plain.at(-1)?.choices[0]?.finish_reason]).toEqual([false, "stop"]);
    expect((await sendRequest({ include_usage: true })).at(-1)).toMatchObject({ choices: [], usage: {} });
  });

  test.each([false, true])("run a tool loop to its answer (stream: %s)", async (streamed) => {
    const messages = question("Weather in Oslo?");
    const request = { model: "sluice/echo", messages, tools: [weather] };
    const first = streamed
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request);
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    const answer = first.choices[0]?.message;
    expect(answer?.content ?? "").toBe("");
    const [call] = answer?.tool_calls ?? [];
    expect(call).toMatchObject({ type: "function", function: { name: "get_weather" } });
    messages.push(answer as Message, { role: "tool", tool_call_id: call!.id, content: "clear sky" });
    const second = await client.chat.completions.create(request);
    expect(second.choices[0]?.message.content).toContain("clear sky");
  });

  test("call functions by runTools until the model has no more calls", async () => {
    const runner = client.chat.completions.runTools({
      model: "sluice/echo",
      messages: question("Weather in Oslo?"),
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "Weather",
            parameters: { type: "object", properties: { town: { type: "string" } } },
            parse: JSON.parse,
            function: () => "clear sky",
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain("clear sky");
  });

  test("take the deprecated functions, with one function_call answered by its name", async () => {
    const messages = question("Weather in Oslo?");
    const functions = [weather.type === "function" ? weather.function : { name: "" }];
    const request = { model: "sluice/echo", messages, functions };
    const first = await client.chat.completions.create(request);
    const [choice] = first.choices;
    expect(choice).toMatchObject({ finish_reason: "function_call", message: { content: null } });
    expect(choice?.message.function_call).toMatchObject({
      name: "get_weather",
      arguments: expect.stringMatching(/^{/),
    });
    messages.push(choice!.message, { role: "function", name: "get_weather", content: "clear sky" });
    const second = await client.chat.completions.create(request);
    expect(second.choices[0]?.message.content).toContain("clear sky");
    const chunks = [];
    const stream = await client.chat.completions.create({ ...request, messages: question("Oslo?"), stream: true });
    for await (const chunk of stream) chunks.push(chunk.choices[0]?.delta.function_call);
    expect(chunks.find((call) => call?.name)).toEqual({ name: "get_weather", arguments: "" });
  });

  test("read a structured answer by parse(), whole and streamed", async () => {
    const request = {
      model: "sluice/echo",
      messages: question("A moon?"),
      response_format: zodResponseFormat(Moon, "moon"),
    };
    const whole = await client.chat.completions.parse(request);
    expect(whole.choices[0]?.message.parsed).toMatchObject({ planet: "Mars" });
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(whole.choices[0]?.message.parsed);
  });

  test("read a function's arguments by parse()", async () => {
    const tools = [zodFunction({ name: "land", parameters: Moon })];
    const { choices } = await client.chat.completions.parse({
      model: "sluice/echo",
      messages: question("Land."),
      tools,
    });
    expect(choices[0]?.message.tool_calls?.[0]?.function.parsed_arguments).toMatchObject({ planet: "Mars" });
  });

  test("read a refusal as a refusal, not as content", async () => {
    const request = { model: "sluice/echo", messages: question("refuse: this") };
    for (const { choices } of [
      await client.chat.completions.create(request),
      await client.chat.completions.stream(request).finalChatCompletion(),
    ]) {
      expect(choices[0]?.message).toMatchObject({ refusal: expect.stringMatching(/./) });
      expect(choices[0]?.message.content ?? "").toBe("");
    }
  });

  test("read the reason of a truncated answer", async () => {
    const request = { model: "sluice/echo", messages: question("Count."), max_tokens: 3 };
    const { choices, usage } = await client.chat.completions.create(request);
    expect([choices[0]?.finish_reason, usage?.completion_tokens]).toEqual(["length", 3]);
  });

  test("throw errors of their classes for wrong fields, an unknown model and a wrong key", async () => {
    const sendRequest = (fields: object, options: ClientOptions = {}) =>
      clientOf(options).chat.completions.create({ model: "sluice/echo", messages: question("x"), ...fields });
    await expect(sendRequest({ temperature: 3 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("temperature"),
    });
    await expect(sendRequest({ n: 2 })).rejects.toThrow("n: must be 1");
    await expect(sendRequest({ audio: { voice: "a", format: "mp3" } })).rejects.toThrow("audio: sound");
    await expect(sendRequest({ messages: [{ role: "tool", tool_call_id: "x", content: "y" }] })).rejects.toThrow(
      "messages.0.tool_call_id",
    );
    await expect(sendRequest({ model: "nobody/nothing" })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(sendRequest({}, { apiKey: "sk-unknown" })).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test("throw the status of a failure before the first chunk, after the client's own retries", async () => {
    const broken = client.chat.completions.create({ model: "far/broken", messages: question("x"), stream: true });
    await expect(broken).rejects.toMatchObject({ status: 502 });
    const { choices } = await clientOf({ maxRetries: 2 }).chat.completions.create({
      model: "far/busy-once",
      messages: question("x"),
    });
    expect(choices[0]?.message.content).toBe("Now.");
  });

  test("throw a failure in the middle of a stream after the delivered chunks", async () => {
    let tear = () => {};
    const after = new Promise<void>((resolve) => (tear = resolve));
    const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
    upstreams["torn"]!.script([{ chunks: [word, { bytes: ": \n\n", after }], cut: true }]);
    const stream = await client.chat.completions.create({ model: "far/torn", messages: question("x"), stream: true });
    const texts: string[] = [];
    const reading = (async () => {
      for await (const chunk of stream) {
        texts.push(chunk.choices[0]?.delta.content ?? "");
        if (texts.includes("One")) tear();
      }
    })();
    await expect(reading).rejects.toMatchObject({ error: { code: 502, message: expect.any(String) } });
    expect(texts.join("")).toBe("One");
  });

  test("end the call of the provider when they are aborted", async () => {
    const closed = upstreams["endless"]!.nextClose();
    const stream = await client.chat.completions.create({
      model: "far/endless",
      messages: question("x"),
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "One") stream.controller.abort();
    await closed;
  });
});
