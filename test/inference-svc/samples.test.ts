/** The worked examples of the contract, as far as inference-svc is concerned, from scripted providers of both dialects. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { EventScanner } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../support/providers/upstream.js";
import { testRequest, testConfig, itemsOf, maskIds, openEngine, runTestTurn } from "./asking.js";

const folder = new URL("../../fixtures/contract/", import.meta.url);
const sample = (name: string) => readFileSync(new URL(name, folder));

type Data = Record<string, unknown> & { type: string };

function dataOf(name: string): Data[] {
  const all: Data[] = [];
  const scanner = new EventScanner((_, data) => void (data === "[DONE]" || all.push(JSON.parse(data) as Data)));
  scanner.feed(sample(name));
  return all;
}

const deltas: Readonly<Record<string, string>> = {
  "response.output_text.delta": "text.delta",
  "response.refusal.delta": "refusal.delta",
  "response.reasoning_text.delta": "reasoning.delta",
  "response.reasoning_summary_text.delta": "summary.delta",
};

/** The events of a sample, converted to turn events. */
function expected(name: string): unknown[] {
  return dataOf(name).flatMap((event): unknown[] => {
    const index = event.output_index;
    if (event.type === "response.output_item.added") return [{ type: "item.start", index, item: event.item }];
    if (event.type === "response.output_item.done") return [{ type: "item.end", index, item: event.item }];
    if (event.type === "response.function_call_arguments.delta")
      return [{ type: "arguments.delta", index, delta: event.delta }];
    const type = deltas[event.type];
    if (type !== undefined)
      return [{ type, index, part: event.content_index ?? event.summary_index, delta: event.delta }];
    const { response } = event as { response?: Record<string, unknown> };
    if (event.type !== "response.completed" && event.type !== "response.incomplete") return [];
    return [{ type: "end", outcome: outcomeOf(response ?? {}) }];
  });
}

function outcomeOf(response: Record<string, unknown>): unknown {
  const usage = response.usage as Record<string, Record<string, number> & number>;
  const details = response.incomplete_details as { reason: string } | null;
  return {
    status: response.status,
    ...(details && { reason: details.reason }),
    usage: {
      inputTokens: usage.input_tokens,
      cachedTokens: usage.input_tokens_details?.cached_tokens,
      cacheWriteTokens: usage.input_tokens_details?.cache_write_tokens,
      outputTokens: usage.output_tokens,
      reasoningTokens: usage.output_tokens_details?.reasoning_tokens,
    },
    serviceTier: response.service_tier,
  };
}

let upstream: Upstream | undefined;
let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  await upstream?.stop();
});

async function runRequest(dialect: string, reply: Reply, request: Parameters<typeof testRequest>[0] = {}) {
  upstream = await startUpstream([reply]);
  const engine = openEngine(testConfig({ url: upstream.url, dialect }));
  close = () => engine.upstreams.close();
  return runTestTurn(engine.turn, testRequest(request));
}

const start: TurnEvent = { type: "start", model: "acme/large-2" };
const streamed = [
  "02-text-stream.sse",
  "03-function-call-stream.sse",
  "05-reasoning-stream.sse",
  "06-refusal-stream.sse",
  "08-incomplete.sse",
];

describe("a provider with the responses format", () => {
  test.each(streamed)("passes %s event by event", async (name) => {
    const { events } = await runRequest(
      "responses",
      { chunks: [{ bytes: sample(name) }] },
      { include: ["reasoning.encrypted_content"] },
    );
    expect(events).toEqual([start, ...expected(name)]);
    itemsOf(events);
  });

  test("keeps the sealed text of 05-reasoning-stream back without the include", async () => {
    const { events } = await runRequest("responses", { chunks: [{ bytes: sample("05-reasoning-stream.sse") }] });
    expect(JSON.stringify(events)).not.toContain("encrypted_content");
  });

  test("answers 20-failed-only with a fault before any output", async () => {
    const { fault, rejected, events } = await runRequest("responses", {
      chunks: [{ bytes: sample("20-failed-only.sse") }],
    });
    expect([fault?.reason, fault?.message, fault?.errorType, fault?.responseCode]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "Provider returned error",
      "provider_unavailable",
      "server_error",
    ]);
    expect([rejected, events]).toEqual([true, []]);
  });

  test.each(["01-text.response.json", "04-function-output.response.json"])(
    "answers %s without a stream as one batch",
    async (name) => {
      const response = JSON.parse(sample(name).toString()) as Record<string, unknown> & { output: unknown[] };
      const { events, batches } = await runRequest("responses", { chunks: [{ json: response }] }, { stream: false });
      expect(events).toEqual([
        start,
        ...response.output.map((item, index) => ({ type: "item.end", index, item })),
        { type: "end", outcome: outcomeOf(response) },
      ]);
      expect(batches).toBe(1);
    },
  );
});

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  choices: [],
  usage: { prompt_tokens, completion_tokens },
});
const piece = (index: number, id: string | undefined, json: string) =>
  chatChunk({
    tool_calls: [
      { index, ...(id && { id, type: "function" }), function: { ...(id && { name: "get_weather" }), arguments: json } },
    ],
  });

const chatScripts: Readonly<Record<string, readonly unknown[]>> = {
  "02-text-stream.sse": [
    chatChunk({ role: "assistant", content: "" }),
    chatChunk({ content: "One, " }),
    chatChunk({ content: "two, " }),
    chatChunk({ content: "three." }),
    chatChunk({}, "stop"),
    usage(12, 7),
  ],
  "03-function-call-stream.sse": [
    chatChunk({ content: "Checking both towns." }),
    piece(0, "call_a", '{"town":'),
    piece(0, undefined, '"Oslo"}'),
    piece(1, "call_b", '{"town":'),
    piece(1, undefined, '"Rome"}'),
    chatChunk({}, "tool_calls"),
    usage(61, 38),
  ],
  "06-refusal-stream.sse": [
    chatChunk({ refusal: "I cannot help " }),
    chatChunk({ refusal: "with that." }),
    chatChunk({}, "stop"),
    usage(21, 9),
  ],
  "08-incomplete.sse": [chatChunk({ content: "Once there was a town" }), chatChunk({}, "length"), usage(9, 16)],
};

describe("a provider with the chat format", () => {
  test.each(Object.keys(chatScripts))("answers the sample %s", async (name) => {
    const { events } = await runRequest("chat", { chunks: [{ sse: [...(chatScripts[name] ?? []), "[DONE]"] }] });
    expect(maskIds(events)).toEqual(maskIds([start, ...expected(name)]));
    itemsOf(events);
  });

  test.each([
    ["01-text.response.json", "Titan.", 14, 3],
    ["04-function-output.response.json", "Oslo is clear at minus three degrees.", 88, 11],
  ] as const)("gives the response of the sample %s", async (name, content, prompt, completion) => {
    const response = JSON.parse(sample(name).toString()) as { output: unknown[] } & Record<string, unknown>;
    const reply = chatAnswer({ role: "assistant", content }, "stop", usage(prompt, completion));
    const answer = {
      chunks: [
        {
          json: {
            ...(reply.chunks?.[0]?.json as object),
            choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
          },
        },
      ],
    };
    const { events } = await runRequest("chat", answer, { stream: false });
    expect(maskIds(events)).toEqual(
      maskIds([
        start,
        ...response.output.map((item, index) => ({ type: "item.end", index, item })),
        { type: "end", outcome: outcomeOf(response) },
      ]),
    );
  });

  test("answers the sample 20 of a failure", async () => {
    const { fault, rejected } = await runRequest("chat", {
      chunks: [{ sse: [{ error: { message: "no", code: "server_error" } }] }],
    });
    expect([fault?.reason, fault?.message, rejected]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "Provider returned error",
      true,
    ]);
  });
});
