/**
 * Any answer of a provider, in any dialect and cut into reads at any byte, is a stream that obeys the order rules and folds into the object
 * of the same answer given whole. A failure prints seed and path; `fc.assert(..., { seed, path })` gives it again.
 */
import { describe, expect, test } from "@jest/globals";
import { Ladder } from "@sluice/gateway/responses/ladder.js";
import { ResponseObject } from "@sluice/gateway/responses/object.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { openAnswer } from "@sluice/inference-svc/upstream/answer.js";
import { chat } from "@sluice/inference-svc/upstream/chat/dialect.js";
import type { Dialect } from "@sluice/inference-svc/upstream/dialect.js";
import { responses } from "@sluice/inference-svc/upstream/responses/dialect.js";
import { toWire } from "@sluice/inference-svc/wire.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import fc from "fast-check";
import { asking } from "../inference-svc/asking.ts";
import { kinds, streamOf } from "../inference-svc/item-stories.ts";
import { masked } from "../support/contract.ts";
import { type Answer, checkLadder } from "../support/ladder-rules.ts";
import { parseSse } from "../support/sse.ts";
import { chatChunk, sse } from "../support/upstream.ts";

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };
const newObject = () => new ResponseObject({ id: "resp_1", createdAt: 1_790_000_000, model: "acme/large-2", echo });
const request = asking({ include: ["reasoning.encrypted_content"], topLogprobs: 1 });
const target = { upstreamModel: "large-2", tier: "default", original: false };
const wire = (batch: readonly TurnEvent[]) => toWire(batch, () => new Uint8Array()).events;

/** The events that each read makes known. */
function readings(dialect: Dialect, type: string, reads: readonly Uint8Array[]): TurnEvent[][] {
  let batch: TurnEvent[] = [];
  const translator = dialect.open(request, target, (event) => batch.push(event));
  const head = { status: 200, headers: { "content-type": type } };
  const answer = openAnswer(head, true, translator, () => new Fault(FaultReason.PROVIDER_FAILED));
  const take = (step: () => void) => {
    step();
    const taken = batch;
    batch = [];
    return taken;
  };
  return [...reads.map((bytes) => take(() => answer.feed(bytes))), take(() => answer.end())];
}

function cut(text: string, cuts: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text);
  const borders = [...new Set([0, ...cuts.map((at) => at % bytes.length), bytes.length])].sort((a, b) => a - b);
  return borders.slice(1).map((border, position) => bytes.subarray(borders[position], border));
}

/** The stream of an answer, checked. @param failAfter reads before its end after which the provider is lost; absent when it is not */
function streamed(dialect: Dialect, text: string, cuts: readonly number[], failAfter?: number): Answer {
  const batches = readings(dialect, "text/event-stream", cut(text, cuts));
  const ladder = new Ladder(newObject());
  const last = batches.findIndex((batch) => batch.some((event) => event.type === "end"));
  const kept = failAfter === undefined ? batches : batches.slice(0, failAfter % (last + 1));
  let written = kept.map((batch) => ladder.events(wire(batch))).join("");
  if (failAfter !== undefined) written += ladder.failed(new Fault(FaultReason.PROVIDER_FAILED));
  return checkLadder(parseSse(written));
}

function whole(dialect: Dialect, body: unknown): Answer {
  const [, events = []] = readings(dialect, "application/json", [Buffer.from(JSON.stringify(body))]);
  const object = newObject();
  for (const { event } of wire(events)) object.apply(event);
  return JSON.parse(object.terminal()?.json ?? "null") as Answer;
}

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const words = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }), { maxLength: 4 });
const runs = { numRuns: 50 };

interface ChatStory {
  readonly thoughts: readonly string[];
  readonly texts: readonly string[];
  readonly refusals: readonly string[];
  readonly citations: readonly string[];
  /** Pieces of the arguments of each call. */
  readonly calls: readonly (readonly string[])[];
  readonly interleaved: boolean;
  readonly finish: string;
}

const chatStories = fc.record<ChatStory>({
  thoughts: words,
  texts: words,
  refusals: fc.oneof(fc.constant([]), words),
  citations: fc.array(fc.webUrl(), { maxLength: 2 }),
  calls: fc.array(
    fc
      .array(fc.string({ unit: "grapheme", maxLength: 4 }), { minLength: 1, maxLength: 3 })
      .map((values) => [
        '{"a":[',
        ...values.map((value, at) => `${at === 0 ? "" : ","}${JSON.stringify(value)}`),
        "]}",
      ]),
    { maxLength: 3 },
  ),
  interleaved: fc.boolean(),
  finish: fc.constantFrom("stop", "tool_calls", "length", "content_filter"),
});

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const citation = (url: string) => ({
  type: "url_citation",
  url_citation: { url, title: "", start_index: 0, end_index: 1 },
});

function chatText({ thoughts, texts, refusals, citations, calls, interleaved, finish }: ChatStory): string {
  const begin = (index: number, args: string) => ({
    tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: "f", arguments: args } }],
  });
  const piece = (index: number, args: string) => ({ tool_calls: [{ index, function: { arguments: args } }] });
  const pieces = calls.map((parts, index) =>
    parts.map((args, at) => (at === 0 ? begin(index, args) : piece(index, args))),
  );
  const longest = Math.max(0, ...pieces.map(({ length }) => length));
  const rounds = Array.from({ length: longest }, (_, at) => pieces.flatMap((parts) => parts.slice(at, at + 1))).flat();
  return sse(
    chatChunk({ role: "assistant", content: "" }),
    ...thoughts.map((reasoning_content) => chatChunk({ reasoning_content })),
    ...texts.map((content) => chatChunk({ content })),
    ...refusals.map((refusal) => chatChunk({ refusal })),
    ...citations.map((url) => chatChunk({ annotations: [citation(url)] })),
    ...(interleaved ? rounds : pieces.flat()).map((delta) => chatChunk(delta)),
    chatChunk({}, finish),
    { choices: [], usage },
    "[DONE]",
  );
}

function chatBody({ thoughts, texts, refusals, citations, calls, finish }: ChatStory): unknown {
  const message = {
    role: "assistant",
    reasoning_content: thoughts.join(""),
    content: texts.join(""),
    refusal: refusals.join(""),
    annotations: citations.map(citation),
    tool_calls: calls.map((parts, index) => ({
      id: `call_${index}`,
      type: "function",
      function: { name: "f", arguments: parts.join("") },
    })),
  };
  return { choices: [{ index: 0, message, finish_reason: finish }], usage };
}

describe("chat", () => {
  test("any answer folds into the same object that it is whole", () => {
    fc.assert(
      fc.property(chatStories, cuts, (story, borders) => {
        expect(masked(streamed(chat, chatText(story), borders))).toEqual(masked(whole(chat, chatBody(story))));
      }),
      runs,
    );
  });

  test("any answer that stops anywhere ends in response.failed with what there was", () => {
    fc.assert(
      fc.property(chatStories, cuts, fc.nat(), (story, borders, failAfter) => {
        expect(streamed(chat, chatText(story), borders, failAfter)).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});

describe("responses", () => {
  const stories = fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 6 });
  const bodyOf = (events: readonly unknown[]) => (events.at(-1) as { response: object }).response;

  test.each(kinds.map((kind) => [kind.type, kind] as const))("%s", (_, kind) => {
    const events = streamOf([kind]);
    expect(masked(streamed(responses, sse(...events), []))).toEqual(masked(whole(responses, bodyOf(events))));
  });

  test("any answer folds into the same object that it is whole", () => {
    fc.assert(
      fc.property(stories, cuts, (chosen, borders) => {
        const events = streamOf(chosen);
        expect(masked(streamed(responses, sse(...events), borders))).toEqual(masked(whole(responses, bodyOf(events))));
      }),
      runs,
    );
  });

  test("any answer that stops anywhere ends in response.failed with what there was", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (chosen, borders, failAfter) => {
        expect(streamed(responses, sse(...streamOf(chosen)), borders, failAfter)).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});
