/**
 * Clients get events in the right order, for any events of a provider in any order. A failure prints seed and path; `fc.assert(..., { seed, path })`
 * repeats it.
 */
import { describe, expect, test } from "@jest/globals";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import fc from "../support/properties.js";
import * as command from "../inference-svc/models/dialects/cohere-translation.ts";
import * as told from "../inference-svc/models/dialects/converse-translation.ts";
import {
  geminiCallPart as callOf,
  geminiStreamChunk,
  lastGeminiChunk,
  geminiTextPart as textOf,
  geminiThoughtPart,
} from "../inference-svc/models/dialects/gemini-translation.ts";
import { type Json, itemKinds, streamOf } from "../inference-svc/models/dialects/item-stories.ts";
import {
  messagesBlockStart,
  messagesBlockStop,
  messagesDelta as deltaOf,
  messagesStop,
} from "../inference-svc/models/dialects/messages-translation.ts";
import { chatChunk, sse } from "../support/providers/upstream.ts";
import { streamAnswer } from "./answering.ts";

const cuts = fc.array(fc.nat(), { maxLength: 8 });
const runs = { numRuns: 100 };
const settled = /^(completed|incomplete|failed)$/;

describe("a stream of a provider of chat completions", () => {
  const index = fc.constantFrom(0, 1, 2, undefined);
  const word = fc.string({ unit: "grapheme", maxLength: 4 });
  const call = fc.record({
    index,
    id: fc.constantFrom("a", "b", "", undefined),
    function: fc.record({
      name: fc.constantFrom("f", "g", "", undefined),
      arguments: fc.oneof(fc.constantFrom("{}", '{"a":', "1}", "", null), word),
    }),
  });
  const detail = fc.record({
    type: fc.constant("reasoning.text"),
    text: fc.constantFrom("t", "", undefined),
    data: fc.constantFrom("d", undefined),
    signature: fc.constantFrom("s", undefined),
  });
  const delta = fc.record(
    {
      content: word,
      refusal: word,
      reasoning_content: word,
      reasoning_details: fc.array(detail, { maxLength: 2 }),
      annotations: fc.constant([{ type: "url_citation", url_citation: { url: "https://a.example/" } }]),
      images: fc.constant([{ type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } }]),
      tool_calls: fc.array(call, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  const finish = fc.constantFrom("stop", "length", "content_filter", "error", null);

  test("with any chunks is sent in the required order", () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 10 }), finish, cuts, (deltas, reason, borders) => {
        const text = sse(...deltas.map((each) => chatChunk(each)), chatChunk({}, reason), "[DONE]");
        expect(streamAnswer(chat, text, { cuts: borders }).status).toMatch(settled);
      }),
      runs,
    );
  });
});

describe("a stream of a provider of Converse", () => {
  const index = fc.nat({ max: 3 });
  const start = fc.constantFrom<object>(
    {},
    { toolUse: { toolUseId: "a", name: "f" } },
    { toolUse: { name: "" } },
    { toolResult: { toolUseId: "a" } },
    { later: {} },
  );
  const said = fc.constantFrom<object>(
    { text: "t" },
    { text: "" },
    { toolUse: { input: '{"x":' } },
    { toolUse: { input: "1}" } },
    { reasoningContent: { text: "t" } },
    { reasoningContent: { signature: "s" } },
    { reasoningContent: { redactedContent: "c2VhbGVk" } },
    { citation: { title: "d" } },
    { later: {} },
  );
  const frame = fc.oneof(
    fc.tuple(index, start).map(([at, block]) => told.converseBlockStart(at, block)),
    fc.tuple(index, said).map(([at, words]) => told.converseDelta(at, words)),
    index.map(told.converseBlockStop),
  );
  const ends = fc.constantFrom("end_turn", "max_tokens", "malformed_tool_use").map((reason) => told.endEvents(reason));

  test("with any events, in any order, is sent in the required order", () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 15 }), fc.oneof(ends, fc.constant([])), cuts, (frames, end, borders) => {
        const bytes = Buffer.concat([told.converseStart(), ...frames, ...end]);
        expect(streamAnswer(converse, bytes, { cuts: borders }).status).toMatch(settled);
      }),
      runs,
    );
  });
});

describe("a stream of a provider of Cohere", () => {
  const index = fc.nat({ max: 3 });
  const content = fc.constantFrom<object>(
    { type: "text", text: "" },
    { text: "t" },
    { type: "thinking", thinking: "" },
    { thinking: "t" },
    { text: 7, thinking: null },
    { later: "t" },
  );
  const args = fc.constantFrom("", "nu", "ll", "{}", '{"x":', "1}");
  const cited = fc.constantFrom<object>(
    { start: 9, end: -3, sources: [{ document: { url: "https://a.example/" } }, null] },
    { start: "x", text: "t", content_index: 2, sources: [{ tool_output: { url: "https://a.example/" } }] },
    [],
  );
  const event = fc.oneof(
    fc.tuple(index, content).map(([at, block]) => command.cohereBlockStart(at, block)),
    fc.tuple(index, content).map(([at, block]) => command.cohereDelta(at, block)),
    index.map(command.cohereBlockEnd),
    fc
      .tuple(index, fc.constantFrom("f", "g", ""), args)
      .map(([at, name, json]) => command.cohereCallStart(at, name, json)),
    fc.tuple(index, args).map(([at, json]) => command.cohereCallDelta(at, json)),
    index.map(command.cohereCallEnd),
    cited.map((citation) => command.cohereCitation(0, citation)[0] as object),
    fc.constantFrom<object>(...command.coherePlan("p", ""), { type: "later" }, { type: "tool-call-start" }),
  );
  const ends = fc.constantFrom("COMPLETE", "MAX_TOKENS", "ERROR", "").map((reason) => [command.cohereEnd(reason)]);

  test("with any events, in any order, is sent in the required order", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 15 }), fc.oneof(ends, fc.constant([])), cuts, (events, end, borders) => {
        expect(streamAnswer(cohere, sse(...events, ...end), { cuts: borders }).status).toMatch(settled);
      }),
      runs,
    );
  });

  test("with citations in any order among texts is sent in the required order", () => {
    const said = fc.oneof(
      fc.tuple(index, content).map(([at, block]) => command.cohereDelta(at, block)),
      cited.map((citation) => command.cohereCitation(0, citation)[0] as object),
    );
    fc.assert(
      fc.property(fc.array(said, { maxLength: 10 }), cuts, (events, borders) => {
        const written = sse(...events, command.cohereEnd());
        expect(streamAnswer(cohere, written, { cuts: borders }).status).toBe("completed");
      }),
      runs,
    );
  });
});

describe("a stream of a provider of Messages", () => {
  const start = fc.constantFrom<object>(
    { type: "text", text: "" },
    { type: "text", text: "whole" },
    { type: "thinking", thinking: "" },
    { type: "redacted_thinking", data: "b64" },
    { type: "tool_use", id: "a", name: "f", input: {} },
    { type: "tool_use", name: "", input: { x: 1 } },
    { type: "server_tool_use", id: "s", name: "web_search", input: {} },
    { type: "web_search_tool_result", tool_use_id: "s", content: [] },
    { type: "later" },
  );
  const said = fc.constantFrom<object>(
    { type: "text_delta", text: "t" },
    { type: "thinking_delta", thinking: "t" },
    { type: "signature_delta", signature: "s" },
    { type: "input_json_delta", partial_json: '{"x":' },
    { type: "input_json_delta", partial_json: "1}" },
    { type: "citations_delta", citation: { type: "web_search_result_location", url: "https://a.example/" } },
  );
  const index = fc.nat({ max: 3 });
  const event = fc.oneof(
    fc.tuple(index, start).map(([at, block]) => messagesBlockStart(at, block)),
    fc.tuple(index, said).map(([at, words]) => deltaOf(at, words)),
    index.map(messagesBlockStop),
  );
  const ends = fc
    .constantFrom("end_turn", "max_tokens", "refusal")
    .map((reason) => messagesStop(reason, { output_tokens: 1 }, { stop_details: { explanation: "no" } }));

  test("with any events, in any order, is sent in the required order", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 15 }), fc.oneof(ends, fc.constant([])), cuts, (events, end, borders) => {
        expect(streamAnswer(messages, sse(...events, ...end), { cuts: borders }).status).toMatch(settled);
      }),
      runs,
    );
  });
});

describe("a stream of a provider of Gemini", () => {
  const signed = fc.constantFrom({}, { thoughtSignature: "s" });
  const part = fc.oneof(
    fc.tuple(fc.constantFrom("t", "", "☕"), signed).map(([words, more]) => textOf(words, more)),
    fc.tuple(fc.constantFrom("t", ""), signed).map(([words, more]) => geminiThoughtPart(words, more)),
    signed.map((more) => callOf("f", { x: 1 }, more)),
    fc.constantFrom<object>(
      { functionCall: {} },
      { functionCall: { name: "f", args: null, id: 7 } },
      { inlineData: { mimeType: "image/png", data: "QUJD" } },
      { inlineData: {} },
      { text: 7 },
      {},
    ),
  );
  const candidate = fc.record(
    {
      index: fc.constantFrom(0, 1),
      finishReason: fc.constantFrom("STOP", "MAX_TOKENS", "OTHER", ""),
      groundingMetadata: fc.constantFrom<unknown>(
        { webSearchQueries: ["q", 7] },
        { groundingChunks: [{ web: { uri: "https://a.example/" } }, null], groundingSupports: [{}, null] },
        {
          groundingChunks: [null, { web: { uri: "https://a.example/" } }],
          groundingSupports: [{ segment: { startIndex: 9, endIndex: 3 }, groundingChunkIndices: [0, 1, "x"] }],
        },
        [],
      ),
      logprobsResult: fc.constantFrom<unknown>({ chosenCandidates: [{ token: "t" }] }, 7),
    },
    { requiredKeys: [] },
  );
  const said = fc.oneof(
    fc.tuple(fc.array(part, { maxLength: 3 }), candidate).map(([parts, more]) => geminiStreamChunk(parts, more)),
    fc.constantFrom<object>({}, { candidates: [null] }, { candidates: [{ content: 7 }] }, { promptFeedback: {} }),
  );

  test("with any chunks is sent in the required order", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 10 }), fc.boolean(), cuts, (chunks, ends, borders) => {
        const written = sse(...chunks, ...(ends ? [lastGeminiChunk()] : []));
        expect(streamAnswer(gemini, written, { cuts: borders }).status).toMatch(settled);
      }),
      runs,
    );
  });
});

describe("a stream of a provider of Responses", () => {
  const stories = fc.array(fc.constantFrom(...itemKinds), { minLength: 1, maxLength: 4 });
  /** Every event except those of the response itself. */
  const parted = (events: readonly Json[]) => [events.slice(0, 2), events.slice(2, -1), events.slice(-1)] as const;

  /** Interleaves the items; events of each item stay in their order. */
  function mixed(events: readonly Json[], turns: readonly number[]): Json[] {
    const indexes = new Set(events.map((event) => event["output_index"]));
    const queues = [...indexes].map((index) => events.filter((event) => event["output_index"] === index));
    const given: Json[] = [];
    for (let at = 0; given.length < events.length; at++) {
      const open = queues.filter((queue) => queue.length > 0);
      given.push(...(open[(turns[at % turns.length] ?? 0) % open.length]?.splice(0, 1) ?? []));
    }
    return given;
  }

  test("with interleaved items is sent in the required order", () => {
    fc.assert(
      fc.property(stories, fc.array(fc.nat(), { minLength: 1 }), cuts, (chosen, turns, borders) => {
        const [begin, events, end] = parted(streamOf(chosen));
        const answer = streamAnswer(responses, sse(...begin, ...mixed(events, turns), ...end), {
          cuts: borders,
          orderly: false,
        });
        expect(answer).toMatchObject({ status: "completed", output: { length: chosen.length } });
      }),
      runs,
    );
  });

  test("with any events, in any order, is sent in the required order", () => {
    fc.assert(
      fc.property(
        stories.chain((chosen) => {
          const [begin, events, end] = parted(streamOf(chosen));
          const any = fc.array(fc.constantFrom(...begin, ...events), { maxLength: 15 });
          return fc.record({ events: any, end: fc.constantFrom(end, []) });
        }),
        cuts,
        ({ events, end }, borders) => {
          expect(
            streamAnswer(responses, sse(...events, ...end, "[DONE]"), { cuts: borders, orderly: false }).status,
          ).toMatch(settled);
        },
      ),
      runs,
    );
  });

  const mistakes = (whats: readonly string[], maxLength: number) =>
    fc.array(fc.record({ what: fc.constantFrom(...whats), from: fc.nat(), to: fc.nat() }), { minLength: 1, maxLength });

  // The text of a misplaced event may come too late to be delivered.
  test.each([
    ["one said twice", mistakes(["repeat"], 1), /^completed$/],
    ["left out, said twice and moved", mistakes(["drop", "repeat", "move"], 4), settled],
  ] as const)("with %s is put in order or fails the answer", (_, mistaken, statuses) => {
    fc.assert(
      fc.property(stories, mistaken, cuts, (chosen, made, borders) => {
        const [begin, events, end] = parted(streamOf(chosen));
        for (const { what, from, to } of made) {
          const [event] = events.splice(from % events.length, what === "repeat" ? 0 : 1);
          const said = what === "repeat" ? events[from % events.length] : event;
          if (what !== "drop" && said) events.splice(to % (events.length + 1), 0, said);
        }
        expect(
          streamAnswer(responses, sse(...begin, ...events, ...end), { cuts: borders, orderly: false }).status,
        ).toMatch(statuses);
      }),
      runs,
    );
  });
});
