/**
 * Any answer of a provider, in any dialect and cut into reads at any byte, is a stream in the required order and folds into the object
 * of the same answer given whole. A failure prints seed and path; `fc.assert(..., { seed, path })` repeats it.
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
  geminiCallPart,
  geminiStreamChunk,
  geminiTextPart,
  lastGeminiChunk,
  geminiThoughtPart,
} from "../inference-svc/models/dialects/gemini-translation.ts";
import { itemKinds, streamOf } from "../inference-svc/models/dialects/item-stories.ts";
import {
  messagesStart,
  messagesBlock,
  wholeMessage,
  messagesStop,
} from "../inference-svc/models/dialects/messages-translation.ts";
import { maskVolatile } from "../support/contract.ts";
import { chatChunk, sse } from "../support/providers/upstream.ts";
import { streamAnswer, readWholeAnswer } from "./answering.ts";

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const words = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }), { maxLength: 4 });
const runs = { numRuns: 100 };

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
  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(chatStories, cuts, (story, borders) => {
        expect(maskVolatile(streamAnswer(chat, chatText(story), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(chat, chatBody(story))),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(chatStories, cuts, fc.nat(), (story, borders, lostAfter) => {
        expect(streamAnswer(chat, chatText(story), { cuts: borders, lostAfter })).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});

describe("responses", () => {
  const stories = fc.array(fc.constantFrom(...itemKinds), { minLength: 1, maxLength: 6 });
  const bodyOf = (events: readonly unknown[]) => (events.at(-1) as { response: object }).response;

  test.each(itemKinds.map((kind) => [kind.type, kind] as const))(
    "are the same, streamed and whole, with the item %s",
    (_, kind) => {
      const events = streamOf([kind]);
      expect(maskVolatile(streamAnswer(responses, sse(...events), { cuts: [] }))).toEqual(
        maskVolatile(readWholeAnswer(responses, bodyOf(events))),
      );
    },
  );

  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(stories, cuts, (chosen, borders) => {
        const events = streamOf(chosen);
        expect(maskVolatile(streamAnswer(responses, sse(...events), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(responses, bodyOf(events))),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (chosen, borders, lostAfter) => {
        expect(streamAnswer(responses, sse(...streamOf(chosen)), { cuts: borders, lostAfter })).toMatchObject({
          status: "failed",
        });
      }),
      runs,
    );
  });
});

/** A block as a stream begins it, its deltas, and what it is in a whole message. */
interface Block {
  readonly start: object;
  readonly deltas: readonly object[];
  readonly whole: object;
}

const source = { url: "https://a.example/", title: "A" };
const searchCall = { type: "server_tool_use", id: "srv_1", name: "web_search" };
const searchResult = {
  type: "web_search_tool_result",
  tool_use_id: "srv_1",
  content: [{ type: "web_search_result", ...source }],
};

const blockStories = fc.oneof(
  fc.tuple(words, fc.boolean()).map(([texts, cites]): Block => {
    const citations = cites ? [{ type: "web_search_result_location", cited_text: "c", ...source }] : [];
    return {
      start: { type: "text", text: "" },
      deltas: [
        ...texts.map((text) => ({ type: "text_delta", text })),
        ...citations.map((citation) => ({ type: "citations_delta", citation })),
      ],
      whole: { type: "text", text: texts.join(""), citations },
    };
  }),
  words.map(
    (thoughts): Block => ({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: "s" },
      ],
      whole: { type: "thinking", thinking: thoughts.join(""), signature: "s" },
    }),
  ),
  words.map((values): Block => {
    const call = { type: "tool_use", id: "toolu_1", name: "f" };
    const pieces = ['{"a":[', ...values.map((value, at) => `${at === 0 ? "" : ","}${JSON.stringify(value)}`), "]}"];
    return {
      start: { ...call, input: {} },
      deltas: pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      whole: { ...call, input: { a: values } },
    };
  }),
  fc.constant<Block>({
    start: { ...searchCall, input: {} },
    deltas: [{ type: "input_json_delta", partial_json: '{"query":"q"}' }],
    whole: { ...searchCall, input: { query: "q" } },
  }),
  fc
    .constantFrom<object>(searchResult, { type: "redacted_thinking", data: "b64" }, { type: "later" })
    .map((whole): Block => ({ start: whole, deltas: [], whole })),
);

describe("messages", () => {
  const stories = fc.array(blockStories, { maxLength: 6 });
  const reasons = fc.constantFrom("end_turn", "tool_use", "max_tokens", "refusal");
  const textOf = (blocks: readonly Block[], reason: string) =>
    sse(
      messagesStart(),
      ...blocks.flatMap(({ start, deltas }, at) => messagesBlock(at, start, ...deltas)),
      ...messagesStop(reason),
    );

  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(stories, reasons, cuts, (blocks, reason, borders) => {
        const body = wholeMessage(
          blocks.map((each) => each.whole),
          { stop_reason: reason },
        );
        expect(maskVolatile(streamAnswer(messages, textOf(blocks, reason), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(messages, body)),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (blocks, borders, lostAfter) => {
        const text = textOf(blocks, "end_turn");
        expect(streamAnswer(messages, text, { cuts: borders, lostAfter })).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});

describe("converse", () => {
  /** A block as frames, by its number, and what it is in a whole answer. */
  interface ConverseBlock {
    readonly frames: (index: number) => readonly Uint8Array[];
    readonly whole: object;
  }

  const stories = fc.array(
    fc.oneof(
      words.map(
        (texts): ConverseBlock => ({
          frames: (index) => told.converseTextBlock(index, ...texts),
          whole: { text: texts.join("") },
        }),
      ),
      fc.tuple(words, fc.constantFrom("s", "")).map(
        ([thoughts, signature]): ConverseBlock => ({
          frames: (index) => told.thoughtBlock(index, ...thoughts.map((text) => ({ text })), { signature }),
          whole: { reasoningContent: { reasoningText: { text: thoughts.join(""), signature } } },
        }),
      ),
      words.map((values): ConverseBlock => {
        const pieces = ['{"a":[', ...values.map((value, at) => `${at === 0 ? "" : ","}${JSON.stringify(value)}`), "]}"];
        return {
          frames: (index) => told.callBlock(index, "f", ...pieces),
          whole: { toolUse: { toolUseId: "tooluse_f", name: "f", input: { a: values } } },
        };
      }),
      fc.constant<ConverseBlock>({
        frames: (index) => told.thoughtBlock(index, { redactedContent: "c2VhbGVk" }),
        whole: { reasoningContent: { redactedContent: "c2VhbGVk" } },
      }),
    ),
    { maxLength: 6 },
  );
  const reasons = fc.constantFrom("end_turn", "tool_use", "max_tokens", "content_filtered");
  const bytesOf = (blocks: readonly ConverseBlock[], reason: string) =>
    Buffer.concat([
      told.converseStart(),
      ...blocks.flatMap(({ frames }, index) => frames(index)),
      ...told.endEvents(reason),
    ]);

  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(stories, reasons, cuts, (blocks, reason, borders) => {
        const body = told.converseAnswer(
          blocks.map((block) => block.whole),
          { stopReason: reason },
        );
        expect(maskVolatile(streamAnswer(converse, bytesOf(blocks, reason), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(converse, body)),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (blocks, borders, lostAfter) => {
        const bytes = bytesOf(blocks, "end_turn");
        expect(streamAnswer(converse, bytes, { cuts: borders, lostAfter })).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});

describe("cohere", () => {
  /** A content block by its number, in the pieces of a stream and whole. */
  interface CohereBlock {
    readonly events: (index: number) => readonly object[];
    readonly whole: object;
    readonly citations: (index: number) => readonly object[];
  }

  const none = () => [];
  const cited = (content_index: number) => [
    { start: 0, end: 1, text: "a", content_index, sources: [{ type: "document", document: source }] },
  ];
  const blocks = fc.array(
    fc.oneof(
      fc.tuple(words, fc.constantFrom(none, cited)).map(
        ([texts, citations]): CohereBlock => ({
          events: (index) => [
            ...command.cohereTextBlock(index, ...texts),
            ...(texts.length > 0 ? citations(index).flatMap((each) => command.cohereCitation(index, each)) : []),
          ],
          whole: { type: "text", text: texts.join("") },
          citations: texts.length > 0 ? citations : none,
        }),
      ),
      words.map(
        (thoughts): CohereBlock => ({
          events: (index) => command.cohereThoughtBlock(index, ...thoughts),
          whole: { type: "thinking", thinking: thoughts.join("") },
          citations: none,
        }),
      ),
    ),
    { maxLength: 4 },
  );
  const calls = fc.array(
    words.map((values) => [
      '{"a":[',
      ...values.map((value, at) => `${at === 0 ? "" : ","}${JSON.stringify(value)}`),
      "]}",
    ]),
    { maxLength: 3 },
  );
  const stories = fc.record({ blocks, plan: words, calls });
  const reasons = fc.constantFrom("COMPLETE", "TOOL_CALL", "MAX_TOKENS");
  type Story = Parameters<Parameters<typeof stories.map>[0]>[0];

  const textOf = (story: Story, reason: string) =>
    sse(
      command.cohereStart,
      ...story.blocks.flatMap(({ events }, index) => events(index)),
      ...command.coherePlan(...story.plan),
      ...story.calls.flatMap((pieces, index) => command.cohereCall(index, "f", ...pieces)),
      command.cohereEnd(reason),
    );

  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(stories, reasons, cuts, (story, reason, borders) => {
        const message = {
          content: story.blocks.map((block) => block.whole),
          tool_plan: story.plan.join(""),
          tool_calls: story.calls.map((pieces, index) => command.wholeCohereCall(index, "f", pieces.join(""))),
          citations: story.blocks.flatMap(({ citations }, index) => citations(index)),
        };
        expect(maskVolatile(streamAnswer(cohere, textOf(story, reason), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(cohere, command.wholeCohere(message, { finish_reason: reason }))),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (story, borders, lostAfter) => {
        expect(streamAnswer(cohere, textOf(story, "COMPLETE"), { cuts: borders, lostAfter })).toMatchObject({
          status: "failed",
        });
      }),
      runs,
    );
  });
});

/** A part as it streams, in pieces, and its form in a whole answer. */
interface Part {
  readonly pieces: readonly object[];
  readonly whole: readonly object[];
}

const partStories = fc.oneof(
  words.map(
    (texts): Part => ({ pieces: texts.map((said) => geminiTextPart(said)), whole: [geminiTextPart(texts.join(""))] }),
  ),
  words.map(
    (texts): Part => ({
      pieces: texts.map((said) => geminiThoughtPart(said)),
      whole: [geminiThoughtPart(texts.join(""))],
    }),
  ),
  words.map((values): Part => {
    const whole = [geminiCallPart("f", { a: values }, { thoughtSignature: "s" }), geminiCallPart("g")];
    return { pieces: whole, whole };
  }),
  fc
    .constantFrom<object>(
      { inlineData: { mimeType: "image/png", data: "QUJD" } },
      geminiTextPart("", { thoughtSignature: "s" }),
      { later: 1 },
    )
    .map((part): Part => ({ pieces: [part], whole: [part] })),
);

describe("gemini", () => {
  const stories = fc.array(partStories, { maxLength: 6 });
  const reasons = fc.constantFrom("STOP", "MAX_TOKENS", "SAFETY");
  const grounding = fc.constantFrom(
    {},
    {
      groundingMetadata: {
        webSearchQueries: ["q"],
        groundingChunks: [{ web: { uri: "https://a.example/", title: "A" } }],
        groundingSupports: [{ segment: {}, groundingChunkIndices: [0] }],
      },
    },
  );
  const textOf = (parts: readonly Part[], reason: string, more: object) =>
    sse(
      ...parts.flatMap(({ pieces }) => pieces.map((piece) => geminiStreamChunk([piece]))),
      lastGeminiChunk([], reason, more),
    );

  test("any stream folds into the object of the whole answer", () => {
    fc.assert(
      fc.property(stories, reasons, grounding, cuts, (story, reason, more, borders) => {
        // An answer without text is a failure when its reason is STOP.
        const parts = reason === "STOP" ? [...story, { pieces: [{ text: "." }], whole: [{ text: "." }] }] : story;
        const body = lastGeminiChunk(
          parts.flatMap((part) => part.whole),
          reason,
          more,
        );
        expect(maskVolatile(streamAnswer(gemini, textOf(parts, reason, more), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(gemini, body)),
        );
      }),
      runs,
    );
  });

  test("any broken-off answer ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(stories, cuts, fc.nat(), (parts, borders, lostAfter) => {
        const written = textOf(parts, "STOP", {});
        expect(streamAnswer(gemini, written, { cuts: borders, lostAfter })).toMatchObject({ status: "failed" });
      }),
      runs,
    );
  });
});
