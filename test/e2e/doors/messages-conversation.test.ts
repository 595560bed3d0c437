/** A conversation of eight turns through the messages door: each turn repeats the provider's earlier input byte for byte, and signatures stay. */
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type StreamedBlock, claudeStream } from "../../support/providers/anthropic.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const turns = 8;
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An answer with reasoning; every second answer also has text and two tool calls. */
interface Script {
  readonly thought: string;
  readonly words: string;
  readonly calls: readonly { readonly id: string; readonly json: string }[];
}

const scriptOf = (turn: number): Script => ({
  thought: `Thought ${turn}: naïve — “so”.`,
  words: `Answer ${turn}.`,
  calls:
    turn % 2 === 0
      ? [
          { id: `toolu_${turn}_a`, json: `{"town": "Oslo",\n "day": ${turn}, "x": 1.50}` },
          { id: `toolu_${turn}_b`, json: "{}" },
        ]
      : [],
});

function claudeReply({ thought, words, calls }: Script): Reply {
  const blocks: StreamedBlock[] = [
    [
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: thought },
      { type: "signature_delta", signature: Buffer.from(thought).toString("base64") },
    ],
    [{ type: "redacted_thinking", data: btoa(words) }],
    [
      { type: "text", text: "" },
      { type: "text_delta", text: words },
    ],
    ...calls.map(
      ({ id, json }): StreamedBlock => [
        { type: "tool_use", id, name: "weather", input: {} },
        { type: "input_json_delta", partial_json: json },
      ],
    ),
  ];
  return claudeStream(blocks, calls.length > 0 ? "tool_use" : "end_turn");
}

/** Reasoning is signed after even turns and sealed after odd ones. */
const detailsOf = ({ thought, words, calls }: Script): readonly object[] =>
  calls.length > 0
    ? [{ type: "reasoning.text", text: thought, signature: btoa(words), format: "anthropic-claude-v1", index: 0 }]
    : [
        { type: "reasoning.summary", summary: thought, format: "openai-responses-v1", index: 0 },
        { type: "reasoning.encrypted", data: btoa(words), format: "openai-responses-v1", index: 0 },
      ];

function chatReply(script: Script): Reply {
  const { words, calls } = script;
  const sse = [
    chatChunk({ role: "assistant", reasoning_details: detailsOf(script) }),
    chatChunk({ content: words }),
    ...calls.map(({ id, json }, index) =>
      chatChunk({ tool_calls: [{ index, id, type: "function", function: { name: "weather", arguments: json } }] }),
    ),
    chatChunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    { id: "c", choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } },
    "[DONE]",
  ];
  return { chunks: [{ sse }] };
}

let upstream: Upstream;
let installation: Installation;
let client: Anthropic;

beforeAll(async () => {
  upstream = await startUpstream();
  const inputs = "input_modalities: [text, image]";
  const details = "reasoning_details.anthropic-claude-v1, reasoning_details.openai-responses-v1";
  const parameters = `supported_parameters: [tools, reasoning, ${details}]`;
  installation = await startInstallation({
    config: `
providers:
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: t/claude, ${inputs}, max_output_tokens: 8192, endpoints: [{provider: claude}]}
  - {id: t/chat, ${inputs}, endpoints: [{provider: chatty, ${parameters}}]}
`,
  });
  client = new Anthropic({
    baseURL: installation.baseUrl.replace(/\/v1$/, ""),
    apiKey: installation.apiKey,
    maxRetries: 0,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const image = {
  type: "image" as const,
  source: { type: "base64" as const, media_type: "image/png" as const, data: png },
};

/** The user's next message: results of the tools with an image, or a question, in the different forms that programs use. */
function nextContent(turn: number, calls: Script["calls"]): Anthropic.ContentBlockParam[] {
  if (calls.length === 0) return [{ type: "text", text: `Question ${turn}?` }, ...(turn % 3 === 0 ? [image] : [])];
  return [
    ...calls.map(({ id }, index) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: index === 0 ? "clear sky" : [{ type: "text" as const, text: "See:" }, image],
      ...(turn % 4 === 0 && index === 0 && { is_error: true }),
    })),
    { type: "text", text: `Go on ${turn}.` },
  ];
}

/** The cache mark moves to the end of the last message, as in requests of programs. */
function marked(messages: readonly Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  return messages.map((message, index) => {
    if (index < messages.length - 1 || typeof message.content === "string") return message;
    const content = message.content.map((block, at) =>
      at === message.content.length - 1 ? { ...block, cache_control: { type: "ephemeral" as const } } : block,
    );
    return { ...message, content } as Anthropic.MessageParam;
  });
}

/** The body as sent, without cache marks, which move. */
const unmarked = (body: string): string => body.replaceAll(/,"cache_control":\{"type":"ephemeral"\}/g, "");

/** The body up to the end of its messages. */
const prefixOf = (body: string, messages: number): string => {
  const whole = unmarked(body);
  const parsed = JSON.parse(whole) as { messages: unknown[] };
  expect(parsed.messages.length).toBeGreaterThanOrEqual(messages);
  const start = whole.indexOf('"messages":[');
  let at = start + '"messages":['.length;
  for (let count = 0; count < messages; count++) at = endOfObject(whole, at) + 1;
  return whole.slice(0, at - 1);
};

function endOfObject(json: string, start: number): number {
  let depth = 0;
  let inText = false;
  for (let at = start; at < json.length; at++) {
    const character = json[at];
    if (inText && character === "\\") at++;
    else if (character === '"') inText = !inText;
    else if (!inText && character === "{") depth++;
    else if (!inText && character === "}" && --depth === 0) return at + 1;
  }
  throw new Error("not an object");
}

const dialects: readonly (readonly [model: string, reply: (script: Script) => Reply])[] = [
  ["t/claude", claudeReply],
  ["t/chat", chatReply],
];

test.each(dialects)("a conversation of Anthropic's format reaches the model %s", async (model, reply) => {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: [{ type: "text", text: "Question 0?" }] }];
  const from = upstream.requests.length;
  for (let turn = 0; turn < turns; turn++) {
    const script = scriptOf(turn);
    upstream.script([reply(script)]);
    const stream = client.messages.stream({
      model,
      max_tokens: 4_096,
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      thinking: { type: "adaptive" },
      tools: [
        {
          name: "weather",
          description: "Weather",
          input_schema: { type: "object", properties: { town: { type: "string" } } },
        },
      ],
      messages: marked(messages),
    });
    const { content, stop_reason: reason } = await stream.finalMessage();
    expect(reason).toBe(script.calls.length > 0 ? "tool_use" : "end_turn");
    messages.push({ role: "assistant", content }, { role: "user", content: nextContent(turn + 1, script.calls) });
  }
  const bodies = upstream.requests.slice(from).map(({ body }) => body);
  expect(bodies).toHaveLength(turns);
  for (const [index, body] of bodies.slice(0, -1).entries()) {
    const sent = (JSON.parse(body) as { messages: unknown[] }).messages.length;
    const before = prefixOf(body, sent);
    expect(prefixOf(bodies[index + 1] ?? "", sent)).toBe(before);
  }
  const last = bodies.at(-1) ?? "";
  for (let turn = 0; turn < turns - 1; turn++) expectThought(last, scriptOf(turn), model);
});

/** Reasoning comes back unchanged, with all its signatures and ids for the provider. */
function expectThought(body: string, script: Script, model: string): void {
  const { thought, words, calls } = script;
  if (model === "t/claude") {
    const signature = Buffer.from(thought).toString("base64");
    expect(body).toContain(JSON.stringify({ thinking: thought, signature }).slice(1));
    expect(body).toContain(`"data":"${btoa(words)}"`);
    return;
  }
  const sealed = calls.length > 0 ? `"signature":"${btoa(words)}"` : `"data":"${btoa(words)}"`;
  expect(body).toContain(sealed);
  expect(body).toContain(JSON.stringify(thought));
}
