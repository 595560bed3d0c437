/** Chat completions on their way to a provider and back: the sent fields, reasoning sent back, images, log probabilities. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, chatChunk, sse, startUpstream } from "../../support/providers/upstream.ts";

interface Delta {
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly object[];
  readonly images?: readonly object[];
}

interface Answer {
  readonly choices: readonly {
    readonly message: Delta;
    readonly delta: Delta;
    readonly logprobs: unknown;
    readonly finish_reason: string | null;
  }[];
  readonly [field: string]: unknown;
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const logprob = { token: "Hi", logprob: -0.5, bytes: [72, 105], top_logprobs: [] };

const chatReply: Reply = {
  chunks: [
    {
      sse: [
        chatChunk({ role: "assistant", content: "Hi" }, null),
        chatChunk({ images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } }] }),
        chatChunk({}, "stop", { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }),
        "[DONE]",
      ],
    },
  ],
};

const block = (index: number, start: object, ...deltas: object[]) => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];

const thinkingReply: Reply = {
  chunks: [
    {
      bytes: sse(
        { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 5 } } },
        ...block(
          0,
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "Is it " },
          { type: "thinking_delta", thinking: "prime?" },
          { type: "signature_delta", signature: "c2lnbmVk" },
        ),
        ...block(1, { type: "redacted_thinking", data: "aGlkZGVu" }),
        ...block(2, { type: "text", text: "" }, { type: "text_delta", text: "No: 7 x 13." }),
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ),
    },
  ],
};

describe("a chat completion and its provider", () => {
  let installation: Installation;
  let chat: Upstream;
  let messages: Upstream;

  beforeAll(async () => {
    chat = await startUpstream([chatReply]);
    messages = await startUpstream([thinkingReply]);
    installation = await startInstallation({
      config: `
providers:
  - {id: open, dialect: chat, base_url: "${chat.url}/v1"}
  - {id: thinker, dialect: messages, base_url: "${messages.url}/v1"}
models:
  - {id: far/open, input_modalities: [text, image], output_modalities: [text, image], endpoints: [{provider: open}]}
  - {id: far/thinker, endpoints: [{provider: thinker}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all([chat.stop(), messages.stop()]);
  });

  async function post(body: object, headers: Record<string, string> = {}): Promise<string> {
    const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
    return text;
  }
  const sendRequest = async (body: object, headers?: Record<string, string>) =>
    JSON.parse(await post(body, headers)) as Answer;
  async function stream(body: object): Promise<Answer[]> {
    const events = (await post({ ...body, stream: true })).split("\n\n").filter((event) => event.startsWith("data: "));
    expect(events.pop()).toBe("data: [DONE]");
    return events.map((event) => JSON.parse(event.slice(6)) as Answer);
  }

  test("pass fields of the format to a provider of the same format", async () => {
    await sendRequest({
      model: "far/open",
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", name: "ann", content: "Hello" },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}`, detail: "low" } },
          ],
        },
      ],
      stop: "END",
      seed: 7,
      logit_bias: { "50256": -100 },
      max_tokens: 20,
      temperature: 0.5,
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object", minimum: 1.0 } } }],
      tool_choice: { type: "function", function: { name: "f" } },
      response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object" }, strict: true } },
      reasoning_effort: "low",
    });
    expect(chat.requests.at(-1)?.json).toMatchObject({
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", name: "ann", content: "Hello" },
        { role: "user", content: [{ type: "text" }, { type: "image_url", image_url: { detail: "low" } }] },
      ],
      seed: 7,
      logit_bias: { "50256": -100 },
      temperature: 0.5,
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
      tool_choice: { type: "function", function: { name: "f" } },
      response_format: { type: "json_schema", json_schema: { name: "x", strict: true } },
      reasoning_effort: "low",
    });
  });

  test("carry an image in an answer, whole and streamed, and back in the next request", async () => {
    const request = { model: "far/open", messages: [{ role: "user", content: "Draw" }], modalities: ["text", "image"] };
    const { choices } = await sendRequest(request);
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` }, index: 0 };
    expect(choices[0]?.message).toMatchObject({ content: "Hi", images: [image] });
    const chunks = await stream(request);
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.delta.images ?? [])).toEqual([image]);
    const again = [
      ...request.messages,
      { role: "assistant", ...choices[0]?.message },
      { role: "user", content: "Again" },
    ];
    await sendRequest({ ...request, messages: again });
  });

  test("carry log probabilities of tokens to the client", async () => {
    chat.script([
      {
        chunks: [
          {
            sse: [
              {
                choices: [
                  {
                    index: 0,
                    delta: { role: "assistant", content: "Hi" },
                    logprobs: { content: [logprob] },
                    finish_reason: "stop",
                  },
                ],
              },
              "[DONE]",
            ],
          },
        ],
      },
      chatReply,
    ]);
    const { choices } = await sendRequest({
      model: "far/open",
      messages: [{ role: "user", content: "x" }],
      logprobs: true,
      top_logprobs: 0,
    });
    expect(choices[0]?.logprobs).toEqual({ content: [logprob], refusal: null });
  });

  test("report unsent fields and a name that the format does not allow in the receipt", async () => {
    const { service_metadata: receipt } = await sendRequest(
      { model: "far/thinker", messages: [{ role: "user", name: "ann", content: "x" }], seed: 1 },
      { "x-service-metadata": "enabled" },
    );
    const notSent = JSON.stringify((receipt as { params: { not_sent: unknown } }).params.not_sent);
    expect(notSent).toContain("seed");
    expect(notSent).toContain("name");
  });

  describe("reasoning goes back to the provider unchanged:", () => {
    const question = { role: "user", content: "Is 91 prime?" };
    const request = { model: "far/thinker", messages: [question], reasoning: { max_tokens: 2_000 }, max_tokens: 4_000 };
    const thoughts = [
      { type: "thinking", thinking: "Is it prime?", signature: "c2lnbmVk" },
      { type: "redacted_thinking", data: "aGlkZGVu" },
      { type: "text", text: "No: 7 x 13." },
    ];

    const sentBack = async (answer: Delta): Promise<unknown> => {
      const next = [question, { role: "assistant", ...answer }, { role: "user", content: "Sure?" }];
      await sendRequest({ ...request, messages: next });
      const sent = messages.requests.at(-1)?.json as { messages: { role: string; content: unknown }[] };
      return sent.messages.find(({ role }) => role === "assistant")?.content;
    };

    test("of a whole answer", async () => {
      const { choices } = await sendRequest(request);
      expect(choices[0]?.message).toMatchObject({ content: "No: 7 x 13.", reasoning: "Is it prime?" });
      expect(await sentBack(choices[0]!.message)).toMatchObject(thoughts);
    });

    test("of a stream, with its entries collected one by one", async () => {
      const deltas = (await stream(request)).map((chunk) => chunk.choices[0]?.delta ?? {});
      const details = deltas.flatMap((delta) => delta.reasoning_details ?? []);
      expect(deltas.map((delta) => delta.reasoning ?? "").join("")).toBe("Is it prime?");
      expect(await sentBack({ content: "No: 7 x 13.", reasoning_details: details })).toMatchObject(thoughts);
    });

    test("reasoning is hidden if the request excludes it", async () => {
      const { choices } = await sendRequest({ ...request, reasoning: { max_tokens: 2_000, exclude: true } });
      expect(Object.keys(choices[0]!.message)).toEqual(["role", "content", "refusal"]);
    });
  });
});
