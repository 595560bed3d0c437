/**
 * Conversations of eight turns with reasoning, tools and pictures, in whole answers and in streams: signatures go back unchanged, and each turn begins with
 * the bytes of the turn before.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import {
  readStreamedCompletion,
  readStreamedMessage,
  readStreamedResponse,
} from "../../support/answers/streamed-answers.ts";
import { pixelUrl } from "../../support/clients/stage.ts";

const turns = 8;
const thoughtOf = (turn: number) => `Thinking about step ${turn}, "as told" \u00e9.`;
const signatureOf = (turn: number) => Buffer.from(`signature ${turn}`).toString("base64");
const format = "anthropic-claude-v1";
const args = { q: "caf\u00e9", n: 1.5 };

/** Every second turn of the model is a call. */
const calls = (turn: number) => turn % 2 === 1;

const detailOf = (turn: number) => ({ type: "reasoning.text", text: thoughtOf(turn), format, index: 0 });
const callOf = (turn: number) => ({
  id: `call_${turn}`,
  type: "function",
  function: { name: "find", arguments: JSON.stringify(args) },
});

function chatStreamed(turn: number): Reply {
  const said = calls(turn)
    ? chatChunk({ tool_calls: [{ index: 0, ...callOf(turn) }] })
    : chatChunk({ content: `Answer ${turn}.` });
  const signed = { type: "reasoning.text", signature: signatureOf(turn), format, index: 0 };
  const events = [
    chatChunk({ role: "assistant", reasoning: thoughtOf(turn), reasoning_details: [detailOf(turn)] }),
    chatChunk({ reasoning_details: [signed] }),
    said,
    chatChunk({}, calls(turn) ? "tool_calls" : "stop"),
    "[DONE]",
  ];
  return { chunks: [{ sse: events }] };
}

const chatWhole = (turn: number): Reply =>
  chatAnswer(
    {
      role: "assistant",
      content: calls(turn) ? null : `Answer ${turn}.`,
      reasoning: thoughtOf(turn),
      reasoning_details: [{ ...detailOf(turn), signature: signatureOf(turn) }],
      ...(calls(turn) && { tool_calls: [callOf(turn)] }),
    },
    calls(turn) ? "tool_calls" : "stop",
  );

const stopOf = (turn: number) => (calls(turn) ? "tool_use" : "end_turn");

const messagesStreamed = (turn: number): Reply =>
  claudeStream(
    [
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: thoughtOf(turn) },
        { type: "signature_delta", signature: signatureOf(turn) },
      ],
      calls(turn)
        ? [
            { type: "tool_use", id: `call_${turn}`, name: "find", input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(args) },
          ]
        : [
            { type: "text", text: "" },
            { type: "text_delta", text: `Answer ${turn}.` },
          ],
    ],
    stopOf(turn),
  );

const messagesWhole = (turn: number): Reply =>
  claudeMessage(
    [
      { type: "thinking", thinking: thoughtOf(turn), signature: signatureOf(turn) },
      calls(turn)
        ? { type: "tool_use", id: `call_${turn}`, name: "find", input: args }
        : { type: "text", text: `Answer ${turn}.` },
    ],
    stopOf(turn),
  );

/** The answer of a provider in its format, by the number of the turn. */
const answers = {
  chat: { whole: chatWhole, streamed: chatStreamed },
  messages: { whole: messagesWhole, streamed: messagesStreamed },
};
type Dialect = keyof typeof answers;

interface ChatBody {
  readonly choices: readonly { readonly message: object }[];
}
interface ResponseBody {
  readonly output: readonly object[];
}
interface MessageBody {
  readonly content: readonly object[];
}

const parameters = { type: "object", properties: { q: { type: "string" } } };
const pixel = { type: "base64", media_type: "image/png", data: pixelUrl.split(",")[1] };
const isPictured = (turn: number) => turn % 4 === 0;

/** The formats: how a conversation is sent, how an answer joins it, and how to continue. */
const doors = {
  "/chat/completions": {
    request: (messages: readonly object[]) => ({
      messages: [{ role: "system", content: "Be exact." }, ...messages],
      tools: [{ type: "function", function: { name: "find", parameters } }],
      reasoning: { effort: "low" },
    }),
    answered: (body: unknown) => [(body as ChatBody).choices[0]?.message as object],
    folded: (text: string) => [readStreamedCompletion(text)],
    said: (turn: number) => ({
      role: "user",
      content: [
        { type: "text", text: `Question ${turn}` },
        ...(isPictured(turn) ? [{ type: "image_url", image_url: { url: pixelUrl } }] : []),
      ],
    }),
    found: (turn: number) => ({ role: "tool", tool_call_id: `call_${turn}`, content: `Found ${turn}` }),
  },
  "/responses": {
    request: (input: readonly object[]) => ({
      instructions: "Be exact.",
      input,
      tools: [{ type: "function", name: "find", parameters }],
      reasoning: { effort: "low" },
      include: ["reasoning.encrypted_content"],
    }),
    answered: (body: unknown) => (body as ResponseBody).output,
    folded: readStreamedResponse,
    said: (turn: number) => ({
      role: "user",
      content: [
        { type: "input_text", text: `Question ${turn}` },
        ...(isPictured(turn) ? [{ type: "input_image", image_url: pixelUrl }] : []),
      ],
    }),
    found: (turn: number) => ({ type: "function_call_output", call_id: `call_${turn}`, output: `Found ${turn}` }),
  },
  "/messages": {
    request: (messages: readonly object[]) => ({
      system: "Be exact.",
      messages,
      max_tokens: 2_048,
      tools: [{ name: "find", input_schema: parameters }],
      thinking: { type: "adaptive" },
    }),
    answered: (body: unknown) => [{ role: "assistant", content: (body as MessageBody).content }],
    folded: (text: string) => [{ role: "assistant", content: readStreamedMessage(text) }],
    said: (turn: number) => ({
      role: "user",
      content: [
        { type: "text", text: `Question ${turn}` },
        ...(isPictured(turn) ? [{ type: "image", source: pixel }] : []),
      ],
    }),
    found: (turn: number) => ({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `call_${turn}`, content: `Found ${turn}` }],
    }),
  },
};

/** The beginning of a body up to its last message; the next turn repeats all of it before its new messages. */
const prefixOf = (body: string): string => {
  const { messages } = JSON.parse(body) as { messages: unknown[] };
  const prefix = `"messages":${JSON.stringify(messages).slice(0, -1)}`;
  expect(body).toContain(prefix);
  return prefix;
};

describe("a conversation of eight turns", () => {
  const upstreams = {} as Record<Dialect, Upstream>;
  let installation: Installation;

  beforeAll(async () => {
    upstreams.chat = await startUpstream();
    upstreams.messages = await startUpstream();
    const takes = `[tools, tool_choice, reasoning, "reasoning_details.${format}"]`;
    installation = await startInstallation({
      config: `
providers:
  - {id: chat, dialect: chat, base_url: "${upstreams.chat.url}/v1"}
  - {id: messages, dialect: messages, base_url: "${upstreams.messages.url}/v1"}
models:
  - {id: far/chat, input_modalities: [text, image], endpoints: [{provider: chat, supported_parameters: ${takes}}]}
  - {id: far/messages, input_modalities: [text, image], endpoints: [{provider: messages}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
  });

  async function post(path: string, body: object): Promise<string> {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.text();
    expect([response.status, answer]).toEqual([200, expect.anything()]);
    return answer;
  }

  const cases = Object.entries(doors).flatMap(([path, door]) =>
    (["chat", "messages"] as const).flatMap((dialect) =>
      (["whole", "streamed"] as const).map((form) => [path, dialect, form, door] as const),
    ),
  );

  test.each(cases)(
    "reaches the provider unchanged through %s in the format %s, %s",
    async (path, dialect, form, door) => {
      const upstream = upstreams[dialect];
      const from = upstream.requests.length;
      const conversation: object[] = [door.said(0)];
      for (let turn = 1; turn <= turns; turn++) {
        upstream.script([answers[dialect][form](turn)]);
        const stream = form === "streamed";
        const answer = await post(path, { model: `far/${dialect}`, stream, ...door.request(conversation) });
        const items = stream ? door.folded(answer) : door.answered(JSON.parse(answer));
        conversation.push(...items, calls(turn) ? door.found(turn) : door.said(turn));
      }
      const bodies = upstream.requests.slice(from).map(({ body }) => body);
      expect(bodies).toHaveLength(turns);
      for (let turn = 1; turn < turns; turn++) {
        expect(bodies[turn]).toContain(prefixOf(bodies[turn - 1] as string));
        expect(bodies[turn]).toContain(JSON.stringify(thoughtOf(turn)));
        expect(bodies[turn]).toContain(`"signature":"${signatureOf(turn)}"`);
      }
      expect(bodies.at(-1)).toContain(pixelUrl.split(",")[1]);
    },
  );
});
