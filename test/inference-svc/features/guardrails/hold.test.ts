/** The amount that a budget reserves for a call, and how it follows the call's real cost. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  startUpstream,
} from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, newScope, openEngine } from "../../asking.js";

let acme: Upstream;
let engine: Engine;
/** Amounts in 10^-12 USD, in order of arrival. */
let reserved: bigint[];
let raised: bigint[];
let settled: bigint[];
let answerSettle: () => void;

beforeEach(async () => {
  acme = await startUpstream();
  reserved = [];
  raised = [];
  settled = [];
  const answered = new Promise<void>((resolve) => {
    answerSettle = resolve;
  });
  const budgets = {
    reserve: (_: unknown, pico: bigint) => {
      reserved.push(pico);
      return Promise.resolve({
        raise: (more: bigint) => {
          raised.push(more);
          return Promise.resolve();
        },
        settle: (cost: bigint) => {
          settled.push(cost);
          return answered;
        },
      });
    },
  };
  const endpoint = { provider: "acme", upstream_model: "large-2", pricing: { prompt: "1", completion: "2" } };
  const file = testConfig({
    url: acme.url,
    models: [{ id: "acme/large-2", max_output_tokens: 9_000, endpoints: [endpoint] }],
  });
  engine = openEngine(file, undefined, undefined, budgets);
});
afterEach(async () => {
  await engine.upstreams.close();
  await acme.stop();
});

const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
});

const streamed = (prompt: number, completion: number): Reply => ({
  chunks: [
    {
      sse: [
        chatChunk({ content: "Hi" }),
        chatChunk({}, "stop"),
        { choices: [], ...usage(prompt, completion) },
        "[DONE]",
      ],
    },
  ],
});

/**
 * Runs the turn.
 * @returns a promise for its end, and whether its end event has arrived
 */
function begin(stream: boolean, more: object = {}): { readonly ended: () => boolean; readonly over: Promise<void> } {
  const { scope } = newScope({ hasBudget: true });
  let ended = false;
  const over = (async () => {
    for await (const batch of engine.turn(testRequest({ stream, ...more }), scope))
      ended ||= batch.some(({ type }) => type === "end");
  })();
  return { ended: () => ended, over };
}

test.each([true, false])(
  "the end event of an answer waits until the budget has settled the cost; stream: %s",
  async (stream) => {
    acme.script([stream ? streamed(20, 16) : chatAnswer({ role: "assistant", content: "Hi" }, "stop", usage(20, 16))]);
    const turn = begin(stream, { maxOutputTokens: 16 });
    while (settled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    // A call that did not wait would have ended by now.
    for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
    expect(turn.ended()).toBe(false);
    expect(settled).toEqual([52_000_000n]);
    expect(reserved[0]).toBeGreaterThan(52_000_000n);
    answerSettle();
    await turn.over;
    expect(turn.ended()).toBe(true);
  },
);

test("a call within its reservation raises no further amount, and settles its cost at the end", async () => {
  acme.script([streamed(20, 16)]);
  answerSettle();
  await begin(true, { maxOutputTokens: 16 }).over;
  expect(raised).toEqual([]);
  expect(settled).toEqual([52_000_000n]);
});

test.each([
  [undefined, {}, 4_096],
  [100, {}, 100],
  [undefined, { reasoning: { maxTokens: 2_000 } }, 6_096],
  [undefined, { reasoning: { maxTokens: 20_000 } }, 9_000],
])(
  "an answer with a maximum of %s and %p reserves and requests at most %i tokens",
  async (maxOutputTokens, more, told) => {
    acme.script([streamed(20, 16)]);
    answerSettle();
    await begin(true, { ...more, ...(maxOutputTokens !== undefined && { maxOutputTokens }) }).over;
    expect(acme.requests[0]?.json["max_tokens"]).toBe(told);
    expect(reserved[0]).toBeGreaterThanOrEqual(BigInt(told) * 2_000_000n);
    expect(reserved[0]).toBeLessThan(BigInt(told) * 2_000_000n + 500_000_000n);
  },
);
