/**
 * Any answer of a provider, in any dialect and cut into reads at any byte, is a stream that obeys the order rules and folds into the object
 * of the same answer given whole. A failure prints seed and path; `fc.assert(..., { seed, path })` gives it again.
 */
import { describe, expect, test } from "@jest/globals";
import { chat } from "@sluice/inference-svc/upstream/chat/dialect.js";
import { responses } from "@sluice/inference-svc/upstream/responses/dialect.js";
import fc from "fast-check";
import { kinds, streamOf } from "../inference-svc/item-stories.ts";
import { masked } from "../support/contract.ts";
import { chatChunk, sse } from "../support/upstream.ts";
import { streamed, whole } from "./answering.ts";

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const words = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }), { maxLength: 4 });
const runs = { numRuns: 200 };

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
        expect(masked(streamed(chat, chatText(story), { cuts: borders }))).toEqual(
          masked(whole(chat, chatBody(story))),
        );
      }),
      runs,
    );
  });

  test("any answer that stops anywhere ends in response.failed with what there was", () => {
    fc.assert(
      fc.property(chatStories, cuts, fc.nat(), (story, borders, lostAfter) => {
        expect(streamed(chat, chatText(story), { cuts: borders, lostAfter })).toMatchObject({ status: "failed" });
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
    expect(masked(streamed(responses, sse(...events), { cuts: [] }))).toEqual(masked(whole(responses, bodyOf(events))));
  });

  test("any answer folds into the same object that it is whole", () => {
    fc.assert(
      fc.property(stories, cuts, (chosen, borders) => {
        const events = streamOf(chosen);
        expect(masked(streamed(responses, sse(...events), { cuts: borders }))).toEqual(
          masked(whole(responses, bodyOf(events))),
        );
      }),
      runs,
    );
  });

  test("any answer that stops anywhere ends in response.failed with what there was", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (chosen, borders, lostAfter) => {
        expect(streamed(responses, sse(...streamOf(chosen)), { cuts: borders, lostAfter })).toMatchObject({
          status: "failed",
        });
      }),
      runs,
    );
  });
});
