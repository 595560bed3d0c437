/**
 * Answers of Gemini servers as output items. The fixtures are made by hand after the examples of
 * https://ai.google.dev/gemini-api/docs/text-generation and the pages of the features.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { readGoogleError } from "@sluice/inference-svc/models/upstream/translate/google-error.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import { testRequest, testConfig, maskIds, openEngine, runTestTurn } from "../../asking.js";
import {
  geminiCallPart,
  geminiStreamChunk,
  lastGeminiChunk,
  readGemini,
  geminiTextPart,
  geminiThoughtPart,
} from "./gemini-translation.js";
import { thrownFault, shownCall, shownMessage, shownPart, shownThought } from "./shown-items.js";

const reasoned = (summary: string | undefined, more: object = {}) =>
  shownThought(undefined, {
    format: "google-gemini-v1",
    summary: summary === undefined ? [] : [{ type: "summary_text", text: summary }],
    ...more,
  });

describe("the text of a Gemini answer", () => {
  test("that is empty is a failure, after reasoning too", () => {
    const saysWhy = "The provider ended the answer with the reason STOP: the answer is empty";
    expect(thrownFault(() => readGemini([lastGeminiChunk()])).message).toBe(saysWhy);
    expect(
      thrownFault(() => readGemini([geminiStreamChunk([geminiThoughtPart("hm")]), lastGeminiChunk()])).message,
    ).toBe(saysWhy);
  });

  test("is not interrupted by a call without a name", () => {
    expect(maskIds(readGemini([lastGeminiChunk([geminiCallPart("f", {}), { functionCall: {} }])]).items)).toEqual([
      shownCall("f", "{}"),
    ]);
  });

  test("comes from the first of several candidates", () => {
    const candidates = [1, 0].map((index) => ({
      index,
      content: { parts: [geminiTextPart(`${index}`), geminiCallPart("f", { index })] },
    }));
    const { items } = readGemini([{ candidates }, lastGeminiChunk()]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart("0")), shownCall("f", '{"index":0}')]);
  });

  // https://ai.google.dev/api/generate-content#LogprobsResult
  test("has log probabilities on request", () => {
    const logprobsResult = {
      chosenCandidates: [{ token: "Hé", tokenId: 1, logProbability: -0.5 }],
      topCandidates: [{ candidates: [{ token: "Hé", logProbability: -0.5 }] }],
    };
    const chunks = [
      geminiStreamChunk([geminiThoughtPart("x"), geminiTextPart("Hé"), geminiTextPart("!")], { logprobsResult }),
      lastGeminiChunk(),
    ];
    const entry = { token: "Hé", bytes: [72, 195, 169], logprob: -0.5 };
    expect(maskIds(readGemini(chunks, { topLogprobs: 1 }).items[1])).toEqual(
      shownMessage({ ...shownPart("Hé!"), logprobs: [{ ...entry, top_logprobs: [entry] }] }),
    );
    expect(maskIds(readGemini(chunks).items[1])).toEqual(shownMessage(shownPart("Hé!")));
  });
});

describe("calls and reasoning of a Gemini answer", () => {
  test("arrive as items of one chunk: reasoning, text and two calls", () => {
    const { items } = readGemini([
      geminiStreamChunk([geminiThoughtPart("Let me ")]),
      geminiStreamChunk([geminiThoughtPart("think. ☕")]),
      geminiStreamChunk([geminiTextPart("Okay.")]),
      geminiStreamChunk([
        geminiCallPart("get_weather", { town: "Zürich" }, { thoughtSignature: "AbC=" }),
        geminiCallPart("now"),
      ]),
      lastGeminiChunk([geminiTextPart("")]),
    ]);
    expect(maskIds(items)).toEqual([
      reasoned("Let me think. ☕"),
      shownMessage(shownPart("Okay.")),
      reasoned(undefined, { signature: "AbC=" }),
      shownCall("get_weather", '{"town":"Zürich"}'),
      shownCall("now", "{}"),
    ]);
    expect(items.slice(3).map((item) => item.call_id)).toEqual(["id_get_weather", "id_now"]);
  });

  test("have a signature on a call right after reasoning as the reasoning's", () => {
    const { items } = readGemini([
      geminiStreamChunk([geminiThoughtPart("hm")]),
      lastGeminiChunk([geminiCallPart("f", {}, { thoughtSignature: "S" })]),
    ]);
    expect(maskIds(items)).toEqual([reasoned("hm", { signature: "S" }), shownCall("f", "{}")]);
  });

  test("keep numbers unrounded, and arguments on one line", () => {
    const pretty = JSON.stringify(
      lastGeminiChunk([geminiTextPart("x"), geminiCallPart("f", { n: "N", "a b": 1 }), geminiCallPart("g")]),
      null,
      2,
    );
    const { items } = readGemini([pretty.replace('"N"', "12345678901234567890")]);
    expect(maskIds(items.slice(1))).toEqual([
      shownCall("f", '{"n":12345678901234567890,"a b":1}'),
      shownCall("g", "{}"),
    ]);
  });
});

// https://ai.google.dev/gemini-api/docs/thought-signatures
describe("signatures of text in a Gemini answer", () => {
  const sealed = { include: ["reasoning.encrypted_content"] };
  const encrypted = reasoned(undefined, { encrypted_content: "sluice:google-gemini-v1:signature:S" });

  test.each([
    ["on the text", [lastGeminiChunk([geminiTextPart("Hi", { thoughtSignature: "S" })])]],
    [
      "on an empty text after it",
      [geminiStreamChunk([geminiTextPart("Hi")]), lastGeminiChunk([geminiTextPart("", { thoughtSignature: "S" })])],
    ],
  ])("are an item after the text if sealed reasoning is requested: %s", (_, chunks) => {
    expect(maskIds(readGemini(chunks, sealed).items)).toEqual([shownMessage(shownPart("Hi")), encrypted]);
    expect(maskIds(readGemini(chunks).items)).toEqual([shownMessage(shownPart("Hi"))]);
  });

  test("do not divide a message when its text continues", () => {
    const chunks = [
      geminiStreamChunk([geminiTextPart("H", { thoughtSignature: "S" })]),
      lastGeminiChunk([geminiTextPart("i")]),
    ];
    expect(maskIds(readGemini(chunks, sealed).items)).toEqual([shownMessage(shownPart("Hi")), encrypted]);
  });

  test("that come after the reasoning, or on the reasoning itself, belong to the reasoning", () => {
    const after = [
      geminiStreamChunk([geminiThoughtPart("hm")]),
      lastGeminiChunk([geminiTextPart("Hi", { thoughtSignature: "S" })]),
    ];
    const itself = [
      geminiStreamChunk([geminiThoughtPart("hm", { thoughtSignature: "S" })]),
      lastGeminiChunk([geminiTextPart("Hi")]),
    ];
    const wanted = [reasoned("hm", { signature: "S" }), shownMessage(shownPart("Hi"))];
    expect([maskIds(readGemini(after).items), maskIds(readGemini(itself).items)]).toEqual([wanted, wanted]);
  });
});

// https://ai.google.dev/gemini-api/docs/google-search
describe("the web search of Gemini", () => {
  const words = "“Spain” won. It beat England.";
  const metadata = {
    webSearchQueries: ["who won euro 2024", "euro 2024 final"],
    searchEntryPoint: { renderedContent: "<div></div>" },
    groundingChunks: [
      { web: { uri: "https://a.example/1", title: "a.example" } },
      { web: { uri: "https://b.example/2" } },
      { maps: { uri: "https://maps.example/" } },
    ],
    groundingSupports: [
      { segment: { startIndex: 0, endIndex: 16, text: "“Spain” won." }, groundingChunkIndices: [0, 2] },
      { segment: { startIndex: 17, endIndex: 33, text: "It beat England." }, groundingChunkIndices: [0, 1, 9] },
    ],
  };
  const citation = (url: string, title: string, start_index: number, end_index: number) => ({
    type: "url_citation",
    url,
    title,
    start_index,
    end_index,
  });
  const searchItem = (sources?: unknown) => ({
    type: "web_search_call",
    id: "masked",
    status: "completed",
    action: {
      type: "search",
      query: "who won euro 2024",
      queries: ["who won euro 2024", "euro 2024 final"],
      ...(sources !== undefined && { sources }),
    },
  });
  const streamed = [
    geminiStreamChunk([geminiTextPart(words.slice(0, 9))], {
      groundingMetadata: { webSearchQueries: metadata.webSearchQueries },
    }),
    lastGeminiChunk([geminiTextPart(words.slice(9))], "STOP", {
      groundingMetadata: { ...metadata, webSearchQueries: [] },
    }),
  ];

  test("has citations counted in characters even if the provider counts bytes, and shows its progress", () => {
    const { items, events, outcome } = readGemini(streamed);
    expect(maskIds(items)).toEqual([
      shownMessage(
        shownPart(
          words,
          citation("https://a.example/1", "a.example", 0, 12),
          citation("https://a.example/1", "a.example", 13, 29),
          citation("https://b.example/2", "", 13, 29),
        ),
      ),
      searchItem(),
    ]);
    expect(events.flatMap((event) => (event.type === "native" ? [[event.name, event.index]] : []))).toEqual([
      ["response.web_search_call.in_progress", 1],
      ["response.web_search_call.searching", 1],
      ["response.web_search_call.completed", 1],
    ]);
    expect(outcome.usage?.serverToolUse).toEqual({ webSearchRequests: 2 });
  });

  test("has sources on request, in streams and whole answers", () => {
    const include = ["web_search_call.action.sources"];
    const found = ["https://a.example/1", "https://b.example/2"].map((url) => ({ type: "url", url }));
    const items = maskIds(readGemini(streamed, { include }).items);
    expect((items as unknown[])[1]).toEqual(searchItem(found));
    const whole = lastGeminiChunk([geminiTextPart(words)], "STOP", { groundingMetadata: metadata });
    expect(maskIds(readGemini([whole], { include }).items)).toEqual(items);
  });

  test.each<[string, object, number, number]>([
    ["their words decide", { startIndex: 2, endIndex: 9, text: "England" }, 21, 28],
    ["no words: the place as it is", { startIndex: 17 }, 13, 29],
    ["nowhere: the whole text", { startIndex: 1, endIndex: 5, text: "France" }, 0, 29],
  ])("is cited correctly with the provider's different offsets: %s", (_, segment, start, end) => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: "https://a.example/" } }],
      groundingSupports: [{ segment, groundingChunkIndices: [0] }],
    };
    const { items } = readGemini([lastGeminiChunk([geminiTextPart(words)], "STOP", { groundingMetadata })]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart(words, citation("https://a.example/", "", start, end)))]);
  });
});

// https://ai.google.dev/gemini-api/docs/image-generation
describe("images of a Gemini answer", () => {
  test("come between texts, and images of the reasoning are left out", () => {
    const image = (data: string, more: object = {}) => ({ inlineData: { mimeType: "image/png", data }, ...more });
    const parts = [
      image("NO", { thought: true }),
      geminiTextPart("Here: "),
      image("QUJD", { thoughtSignature: "S" }),
      geminiTextPart("!"),
    ];
    const { items } = readGemini([lastGeminiChunk([...parts, { inlineData: { mimeType: "audio/wav", data: "NO" } }])]);
    expect(maskIds(items.slice(-3))).toEqual([
      shownMessage(shownPart("Here: ")),
      { type: "image_generation_call", id: "masked", status: "completed", result: "QUJD" },
      shownMessage(shownPart("!")),
    ]);
  });
});

// https://ai.google.dev/api/generate-content#FinishReason
describe("the end of a Gemini answer", () => {
  test("has the reason of a failure, with the provider's message", () => {
    const candidate = { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: f(" };
    const fault = thrownFault(() => readGemini([{ candidates: [candidate] }]));
    expect([fault.message, fault.cause]).toEqual([
      "The provider ended the answer with the reason MALFORMED_FUNCTION_CALL: Malformed function call: f(",
      new Error("finish reason MALFORMED_FUNCTION_CALL"),
    ]);
  });

  test("has no arguments for a call with null as arguments", () => {
    const { items } = readGemini([lastGeminiChunk([{ functionCall: { name: "f", args: null } }])]);
    expect(items).toMatchObject([{ type: "function_call", name: "f", arguments: "{}" }]);
  });

  test("has the tier standard as the default", () => {
    const usageMetadata = { serviceTier: "standard" };
    const { outcome } = readGemini([
      geminiStreamChunk([geminiTextPart("Hi")], { finishReason: "STOP" }, { usageMetadata }),
    ]);
    expect(outcome.serviceTier).toBe("default");
  });

  test("is a refusal for a blocked prompt", () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 3 } };
    const fault = thrownFault(() => readGemini([blocked]));
    expect([fault.reason, fault.message]).toEqual([
      FaultReason.CONTENT_POLICY,
      "The provider blocked the prompt: PROHIBITED_CONTENT",
    ]);
    expect(
      readGemini([{ promptFeedback: { safetyRatings: [] } }, lastGeminiChunk([geminiTextPart("Hi")])]).items,
    ).toHaveLength(1);
  });
});

// https://ai.google.dev/gemini-api/docs/troubleshooting
describe("errors of Gemini", () => {
  const error = (code: number, status: string, more: object = {}) => ({
    error: { code, message: "Why", status, ...more },
  });
  const info = (type: string, fields: object) => ({ "@type": `type.googleapis.com/google.rpc.${type}`, ...fields });

  test.each([
    ["INVALID_ARGUMENT", 400, FaultReason.INVALID_REQUEST],
    ["FAILED_PRECONDITION", 400, FaultReason.PROVIDER_FAILED],
    ["UNAUTHENTICATED", 401, FaultReason.PROVIDER_FAILED],
    ["PERMISSION_DENIED", 403, FaultReason.PROVIDER_FAILED],
    ["NOT_FOUND", 404, FaultReason.NO_ENDPOINTS],
    ["RESOURCE_EXHAUSTED", 429, FaultReason.RATE_LIMITED],
    ["CANCELLED", 499, FaultReason.PROVIDER_FAILED],
    ["INTERNAL", 500, FaultReason.PROVIDER_FAILED],
    ["UNAVAILABLE", 503, FaultReason.PROVIDER_OVERLOADED],
    ["DEADLINE_EXCEEDED", 504, FaultReason.PROVIDER_TIMEOUT],
    ["OF_TOMORROW", 429, FaultReason.RATE_LIMITED],
  ])("mean the same as an answer and within a stream: %s", (status, code, reason) => {
    const answered = providerFault(readGoogleError(code, error(code, status)));
    const listed = providerFault(readGoogleError(code, [error(code, status)]));
    const inside = thrownFault(() => readGemini([geminiStreamChunk([geminiTextPart("Hi")]), error(code, status)]));
    expect([answered.reason, listed.reason, inside.reason]).toEqual([reason, reason, reason]);
  });

  test("follow their status without a body, and from a proxy", () => {
    expect(providerFault(readGoogleError(503, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(providerFault(readGoogleError(429, { message: "slow down" })).reason).toBe(FaultReason.RATE_LIMITED);
  });

  test("have the names of the refused fields", () => {
    const fieldViolations = [
      { field: "generation_config.response_schema", description: "should be non-empty" },
      { description: "Of no field." },
    ];
    const details = [info("BadRequest", { fieldViolations })];
    const message = "Request contains an invalid argument.";
    expect(providerFault(readGoogleError(400, error(400, "INVALID_ARGUMENT", { message, details }))).message).toBe(
      "Request contains an invalid argument. generation_config.response_schema: should be non-empty Of no field.",
    );
  });

  test("keep the retry hint", () => {
    const hint = (retryDelay: string) =>
      readGoogleError(
        429,
        error(429, "RESOURCE_EXHAUSTED", { details: [info("Help", {}), info("RetryInfo", { retryDelay })] }),
      ).retryAfterMs;
    expect([hint("34.0748s"), hint("8s"), hint("soon"), hint("9999999s")]).toEqual([
      34_075,
      8_000,
      undefined,
      86_400_000,
    ]);
    const details = [info("RetryInfo", { retryDelay: "2s" })];
    expect(thrownFault(() => readGemini([error(429, "RESOURCE_EXHAUSTED", { details })])).retryAfterMs).toBe(2_000);
  });

  test("blame the caller for a prompt that is too long, and the operator for key and billing", () => {
    const message = "The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).";
    const long = error(400, "INVALID_ARGUMENT", { message });
    expect(providerFault(readGoogleError(400, long)).reason).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    const details = [info("ErrorInfo", { reason: "API_KEY_INVALID", domain: "googleapis.com" })];
    const key = providerFault(readGoogleError(400, error(400, "INVALID_ARGUMENT", { details })));
    expect([key.reason, key.attemptStatus]).toEqual([FaultReason.PROVIDER_FAILED, 401]);
    const unpaid = error(429, "RESOURCE_EXHAUSTED", { message: "Your prepayment credits are depleted." });
    expect(providerFault(readGoogleError(429, unpaid)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("Gemini over a socket", () => {
  const upstreams: Upstream[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
  });

  interface Settings {
    readonly model?: string;
    readonly query?: string;
    readonly keys?: readonly string[];
  }

  async function open(replies: readonly Reply[], settings: Settings = {}): Promise<[Upstream, Turn]> {
    const { model = "gemini-3.6-flash", query = "", keys = ["upstream-key"] } = settings;
    const upstream = await startUpstream(replies);
    upstreams.push(upstream);
    const base_url = `${upstream.url}/v1beta${query}`;
    const engine = openEngine(
      testConfig({
        providers: ["one", "two"].map((id) => ({ id, dialect: "gemini", base_url, api_keys: keys })),
        models: [
          { id: "acme/large-2", endpoints: ["one", "two"].map((provider) => ({ provider, upstream_model: model })) },
        ],
      }),
    );
    closers.push(() => engine.upstreams.close());
    return [upstream, engine.turn];
  }
  const answer = [geminiStreamChunk([geminiTextPart("Hi")]), lastGeminiChunk()];

  test("keeps a model's collection in the path, such as tunedModels, and the query of the base URL", async () => {
    const [upstream, turn] = await open([{ chunks: [{ sse: answer }] }], {
      model: "tunedModels/mine",
      query: "?zone=a",
    });
    await runTestTurn(turn, testRequest());
    expect(upstream.requests[0]?.path).toBe("/v1beta/tunedModels/mine:streamGenerateContent?alt=sse&zone=a");
  });

  test("pauses a key refused with 400", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
    const refused = { error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT", details } };
    const good: Reply = { chunks: [{ sse: answer }] };
    const [upstream, turn] = await open([{ status: 400, chunks: [{ json: refused }] }, good], { keys: ["a", "b"] });
    for (let count = 0; count < 3; count++) expect((await runTestTurn(turn, testRequest())).fault).toBeUndefined();
    expect(upstream.requests.map(({ headers }) => headers["x-goog-api-key"])).toEqual(["a", "b", "b", "b"]);
  });
});
