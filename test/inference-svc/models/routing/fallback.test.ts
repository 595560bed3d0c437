/** The order of fallback, its effect on the caller, and its record in the receipt. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { serviceMetadata } from "@sluice/inference-svc/models/routing/records/service-metadata.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import {
  type Reply,
  type Upstream,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.js";
import { preferencesOf } from "../../features/routers/deciding.js";
import {
  type Engine,
  testRequest,
  functionTool,
  testConfig,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";

let first: Upstream;
let second: Upstream;
let third: Upstream;
let engine: Engine;
/** Milliseconds of the clock of endpoint measurements, which only a test moves. */
let clock: { now: number };

beforeEach(async () => {
  [first, second, third] = await Promise.all([
    startUpstream([chatStream("first")]),
    startUpstream([chatStream("second")]),
    startUpstream([chatStream("third")]),
  ]);
  const provider = (id: string, name: string, upstream: Upstream, dialect = "chat") => ({
    id,
    name,
    dialect,
    base_url: `${upstream.url}/v1`,
  });
  const acme = (more: object = {}) => ({ provider: "acme", ...more });
  clock = { now: 1_000_000 };
  engine = openEngine(
    testConfig({
      providers: [
        provider("acme", "Acme", first),
        provider("borealis", "Borealis", second),
        provider("corona", "Corona", third),
        provider("delphi", "Delphi", third, "responses"),
        provider("epsilon", "Epsilon", first),
        provider("zeta", "Zeta", first),
      ],
      models: [
        { id: "acme/large-2", endpoints: [acme(), { provider: "borealis" }] },
        { id: "corona/small", endpoints: [{ provider: "corona" }] },
        { id: "many", endpoints: ["acme", "borealis", "corona", "epsilon", "zeta"].map((provider) => ({ provider })) },
        { id: "three", endpoints: [acme(), { provider: "borealis" }, { provider: "corona" }] },
        {
          id: "limited",
          endpoints: [
            acme({ supported_parameters: ["temperature"] }),
            { provider: "borealis", supported_parameters: ["tools", "structured_outputs"] },
          ],
        },
        { id: "mixed", endpoints: [acme(), { provider: "delphi" }] },
        { id: "no-tools", endpoints: [acme({ supported_parameters: [] })] },
        {
          id: "painter",
          output_modalities: ["text", "image"],
          input_modalities: ["text", "image"],
          endpoints: [acme()],
        },
        {
          id: "tiers",
          endpoints: [
            acme({ upstream_model: "default" }),
            acme({ upstream_model: "priority", tier: "priority" }),
            acme({ upstream_model: "flex", tier: "flex" }),
            acme({ upstream_model: "ultrafast", tier: "ultrafast" }),
          ],
        },
      ],
    }),
    new EndpointRecords(() => clock.now),
  );
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([first.stop(), second.stop(), third.stop()]);
});

const error = (
  status: number,
  body: object = { error: { message: "no" } },
  headers: Record<string, string> = {},
): Reply => ({ status, headers, chunks: [{ json: body }] });
const textOf = (events: readonly object[]) =>
  events.map((event) => ("delta" in event ? String(event.delta) : "")).join("");

describe("a fallback", () => {
  test.each<[string, Reply]>([
    ["408", error(408)],
    ["409", error(409)],
    ["425", error(425)],
    ["429", error(429)],
    ["401", error(401)],
    ["404", error(404)],
    ["529", error(529)],
    ["503 that names a time", error(503, {}, { "retry-after": "2" })],
    ["broken connection", { cut: true }],
    ["garbage", { chunks: [{ bytes: "data: {\n\n" }] }],
    ["no finish", { chunks: [{ sse: [chatChunk({ role: "assistant" })] }] }],
    ["an error in a 200", { chunks: [{ sse: [{ error: { message: "quota" } }] }] }],
  ])("%s moves to the next endpoint, invisible to the client", async (_, reply) => {
    first.script([reply]);
    const testScope = newScope();
    const { events, fault } = await runTestTurn(engine.turn, testRequest(), testScope);
    expect([fault, textOf(events), events[0]]).toEqual([undefined, "second", { type: "start", model: "acme/large-2" }]);
    expect(events.filter((event) => event.type === "start")).toHaveLength(1);
    expect(testScope.scope.trace.attempts.map((attempt) => attempt.provider)).toEqual(["Acme", "Borealis"]);
    expect(testScope.scope.trace.selected).toBe(1);
    expect(engine.warnings).toHaveLength(1);
  });

  const alone = { models: ["corona/small"] };
  const providersOf = ({ scope }: ReturnType<typeof newScope>) => scope.trace.attempts.map(({ provider }) => provider);

  test.each([500, 502, 503, 504])(
    "for %i is, at a model's single endpoint, a second call after a pause",
    async (status) => {
      third.script([error(status), chatStream("third")]);
      const testScope = newScope();
      const at = performance.now();
      expect(textOf((await runTestTurn(engine.turn, testRequest(alone), testScope)).events)).toBe("third");
      expect(performance.now() - at).toBeGreaterThan(95);
      expect(testScope.scope.trace.attempts.map((attempt) => attempt.status)).toEqual([status, 200]);
    },
  );

  test.each<[string, Reply]>([
    ["408", error(408)],
    ["529", error(529)],
    ["503 that names a time", error(503, {}, { "retry-after": "2" })],
    ["a connection that breaks", { cut: true }],
    ["an error in a 200", { chunks: [{ sse: [{ error: { message: "no", code: 502 } }] }] }],
  ])("does not happen after %s", async (_, reply) => {
    third.script([reply]);
    expect((await runTestTurn(engine.turn, testRequest(alone))).fault?.status).toBeGreaterThanOrEqual(500);
    expect(third.requests).toHaveLength(1);
  });

  test("to the same endpoint does not happen when there are others", async () => {
    for (const upstream of [first, second, third]) upstream.script([error(500)]);
    const [two, three] = [newScope(), newScope()];
    await runTestTurn(engine.turn, testRequest(), two);
    await runTestTurn(engine.turn, testRequest({ models: ["three"] }), three);
    expect([providersOf(two), providersOf(three)]).toEqual([
      ["Acme", "Borealis"],
      ["Acme", "Borealis", "Corona"],
    ]);
  });

  test("calls the single endpoint of a model once more before another model", async () => {
    for (const upstream of [first, second, third]) upstream.script([error(500)]);
    const testScope = newScope();
    await runTestTurn(engine.turn, testRequest({ models: ["acme/large-2", "corona/small"] }), testScope);
    expect(providersOf(testScope)).toEqual(["Acme", "Borealis", "Corona", "Corona"]);
  });

  test("ends during the pause when the client leaves", async () => {
    third.script([error(500)]);
    const testScope = newScope();
    const ending = runTestTurn(engine.turn, testRequest(alone), testScope);
    await third.nextRequest();
    // The pause is a tenth of a second at least, and its end would be another request.
    setTimeout(() => testScope.abort.abort(new Error("gone")), 50);
    expect((await ending).rejected).toBe(true);
    expect(third.requests).toHaveLength(1);
  });

  test("does not happen after the deadline", async () => {
    third.script([error(500)]);
    const { scope, abort } = newScope();
    await runTestTurn(engine.turn, testRequest(alone), { scope: scope.with({ deadline: clock.now + 400 }), abort });
    expect(third.requests).toHaveLength(1);
  });

  test("leaves a fifth of the time for the last endpoint, in spite of the limits of earlier ones", async () => {
    first.script([{ hang: true }]);
    const { scope, abort } = newScope();
    const at = performance.now();
    const { events } = await runTestTurn(engine.turn, testRequest(), {
      scope: scope.with({ deadline: clock.now + 5_000 }),
      abort,
    });
    expect(textOf(events)).toBe("second");
    expect(performance.now() - at).toBeGreaterThan(3_950);
  });

  test.each([400, 413, 422])("for the caller's own %i moves to another model only", async (status) => {
    first.script([error(status)]);
    const alone = await runTestTurn(engine.turn, testRequest());
    expect([alone.fault?.status, second.requests.length]).toEqual([status, 0]);
    const { events } = await runTestTurn(engine.turn, testRequest({ models: ["acme/large-2", "corona/small"] }));
    expect([textOf(events), events[0], second.requests.length]).toEqual([
      "third",
      { type: "start", model: "corona/small" },
      0,
    ]);
  });

  test("happens for half an answer without a stream, too", async () => {
    first.script([{ chunks: [{ sse: [chatChunk({ content: "half" })] }], cut: true }]);
    const { events, batches } = await runTestTurn(engine.turn, testRequest({ stream: false }));
    expect([events.map((event) => event.type), batches]).toEqual([["start", "item.end", "end"], 1]);
    expect(events[1]).toMatchObject({ item: { content: [{ text: "second" }] } });
  });

  test("does not happen after the first text", async () => {
    first.script([{ chunks: [{ sse: [chatChunk({ content: "half" })] }], hang: true }]);
    const { scope, abort } = newScope();
    const batches = engine.turn(testRequest(), scope)[Symbol.asyncIterator]();
    await batches.next();
    await first.stop();
    await expect(batches.next()).rejects.toMatchObject({ message: "Provider connection lost" });
    expect(second.requests).toHaveLength(0);
    abort.abort(new Error("left"));
  });

  test("ends with an abort between attempts", async () => {
    const testScope = newScope();
    first.script([{ hang: true }]);
    const ending = runTestTurn(engine.turn, testRequest(), testScope);
    await first.nextRequest();
    testScope.abort.abort(new Error("gone"));
    expect((await ending).rejected).toBe(true);
    expect(second.requests).toHaveLength(0);
  });
});

describe("a turn with every endpoint failing", () => {
  test("returns the last failure, with the earlier ones in short", async () => {
    first.script([error(409, { error: { message: "x", code: "busy" } })]);
    second.script([error(529)]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect([fault?.reason, fault?.metadata]).toEqual([
      FaultReason.PROVIDER_OVERLOADED,
      {
        error_type: "provider_overloaded",
        provider_name: "borealis",
        provider_status: 529,
        previous_errors: [{ provider: "Acme", code: "provider_unavailable", status: 409 }],
      },
    ]);
  });

  test("calls a single endpoint after any number of failures, but without a retry once it is ejected", async () => {
    third.script([error(500)]);
    const runRequest = () => runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }));
    for (let index = 0; index < 4; index++) {
      const { fault } = await runRequest();
      expect([fault?.status, fault?.metadata]).toEqual([
        502,
        { error_type: "provider_unavailable", provider_name: "corona", provider_status: 500 },
      ]);
    }
    // Two requests call the endpoint twice each, and a fifth failure in a row ejects it.
    expect(third.requests).toHaveLength(6);
    third.script([chatStream("third")]);
    expect(textOf((await runRequest()).events)).toBe("third");
  });

  test("at most four endpoints of a model are called, three if they may have done the work", async () => {
    const runRequest = async (reply: Reply): Promise<number> => {
      for (const upstream of [first, second, third]) upstream.script([reply]);
      const testScope = newScope();
      await runTestTurn(engine.turn, testRequest({ models: ["many"] }), testScope);
      return testScope.scope.trace.attempts.length;
    };
    expect(await runRequest(error(500))).toBe(3);
    // A refused key does not count as work that the endpoint may have done.
    expect(await runRequest(error(401))).toBe(4);
  });

  test("names the provider and its answer in a 502, also without an answer", async () => {
    third.script([error(401, { error: { message: "key sk-secret is unknown" } })]);
    const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }));
    expect(fault).toMatchObject({
      status: 502,
      message: "Provider returned error",
      metadata: { provider_name: "corona", provider_status: 401 },
    });
    await third.stop();
    // The request may first try a connection kept from an earlier one.
    const refusedOrLost = /^(connect_refused|connection_lost)$/;
    const gone = await runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }));
    expect(gone.fault).toMatchObject({
      status: 502,
      metadata: {
        provider_name: "corona",
        provider_status: null,
        provider_error: expect.stringMatching(refusedOrLost),
      },
    });
  });

  test("names a provider that does not know the model, without its message", async () => {
    for (const reply of [
      error(404, { error: { message: "The model `large` does not exist for org-7", code: "model_not_found" } }),
      error(404),
    ]) {
      third.script([reply]);
      const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }));
      expect(fault).toMatchObject({
        status: 404,
        message: "Provider corona does not serve corona/small under its configured name (it answered 404)",
        metadata: { provider_name: "corona", provider_status: 404 },
      });
    }
  });

  test("has no previous errors after one attempt", async () => {
    third.script([error(529)]);
    expect((await runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }))).fault?.metadata).toEqual({
      error_type: "provider_overloaded",
      provider_name: "corona",
      provider_status: 529,
    });
  });
});

describe("the choice of eligible endpoints", () => {
  test("refuses an unknown slug anywhere in a list as the caller's mistake", async () => {
    for (const models of [["nobody/x"], ["acme/large-2", "nobody/x"]]) {
      const { fault } = await runTestTurn(engine.turn, testRequest({ models }));
      expect([fault?.status, fault?.reason, fault?.message]).toEqual([
        404,
        FaultReason.NOT_FOUND,
        "model: nobody/x is not in the catalogue; GET /api/v1/models lists the models",
      ]);
    }
    expect(first.requests).toHaveLength(0);
  });

  const tools = [functionTool()];
  test.each<[string, Parameters<typeof testRequest>[0], string]>([
    ["image output", { outputModalities: ["text", "image"] }, "acme/large-2 gives no image output"],
    [
      "image input",
      { input: [{ type: "message", role: "user", content: [{ type: "input_image", image_url: "data:," }] }] },
      "acme/large-2 takes no image input (input.0.content.0)",
    ],
    [
      "a screenshot",
      {
        input: [
          { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", image_url: "data:," } },
        ],
      },
      "acme/large-2 takes no image input (input.0.output)",
    ],
    ["tools", { models: ["no-tools"], tools }, "no-tools takes no tools"],
    [
      "tools in an item",
      { models: ["no-tools"], input: [{ type: "additional_tools", tools: [] }] },
      "no-tools takes no tools",
    ],
    [
      "schema, where every parameter is required",
      {
        models: ["no-tools"],
        provider: preferencesOf({ require_parameters: true }),
        textFormat: { type: "json_schema", name: "n", schemaJson: "{}" },
      },
      "no-tools gives no structured outputs",
    ],
  ])("refuses with 404 when no endpoint supports %s", async (_, request, message) => {
    const { fault } = await runTestTurn(engine.turn, testRequest(request));
    expect([fault?.status, fault?.reason, fault?.message]).toEqual([
      404,
      FaultReason.NO_ENDPOINTS,
      `No endpoint can serve this request: ${message}`,
    ]);
    expect(first.requests).toHaveLength(0);
  });

  const hosted = (kind: string) => ({ type: "hosted", kind, spelling: kind, json: `{"type":"${kind}"}` }) as const;
  const search = hosted("web_search");
  const refusal = "no provider of this model runs tools of type service:browser_use";

  test("refuses a setting that no endpoint supports, with the path and the reason", async () => {
    const { fault } = await runTestTurn(
      engine.turn,
      testRequest({ models: ["acme/large-2", "corona/small"], tools: [functionTool(), hosted("service:browser_use")] }),
    );
    expect([fault?.status, fault?.reason, fault?.message, fault?.metadata]).toEqual([
      400,
      FaultReason.INVALID_REQUEST,
      `tools.1: ${refusal}`,
      { error_type: "invalid_request", param: "tools.1", issues: [{ path: "tools.1", message: refusal }] },
    ]);
    expect(first.requests).toHaveLength(0);
  });

  test("excludes an endpoint that does not support a required setting", async () => {
    const testScope = newScope();
    await runTestTurn(engine.turn, testRequest({ models: ["mixed"], tools: [search] }), testScope);
    expect(testScope.scope.trace.candidates).toEqual([{ provider: "Delphi", model: "mixed" }]);
    expect([first.requests.length, third.requests.length]).toEqual([0, 1]);
  });

  test("refuses with 404 for a filter unrelated to the format", async () => {
    const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["no-tools"], tools: [search] }));
    expect([fault?.status, fault?.reason]).toEqual([404, FaultReason.NO_ENDPOINTS]);
  });

  test("prefers a model that can serve the request", async () => {
    const { events } = await runTestTurn(engine.turn, testRequest({ models: ["no-tools", "corona/small"], tools }));
    expect(textOf(events)).toBe("third");
  });

  test("prefers an endpoint with tools", async () => {
    expect(textOf((await runTestTurn(engine.turn, testRequest({ models: ["limited"], tools }))).events)).toBe("second");
  });

  test("does not send settings that an endpoint does not know, and lists them in the receipt", async () => {
    const testScope = newScope();
    await runTestTurn(
      engine.turn,
      testRequest({ models: ["limited"], temperature: 1, topP: 0.5, reasoning: { effort: "low" }, maxOutputTokens: 5 }),
      testScope,
    );
    expect(serviceMetadata(testScope.scope.trace, { requested: "limited", region: "local" }).params).toEqual({
      policy_generation: 7,
      not_sent: [
        { path: "top_p", reason: "the endpoint does not support it" },
        { path: "reasoning", reason: "the endpoint does not support it" },
      ],
    });
    expect(first.requests[0]?.json).toMatchObject({ temperature: 1, max_tokens: 5 });
    for (const field of ["top_p", "reasoning_effort"]) expect(first.requests[0]?.json).not.toHaveProperty(field);
  });

  test("sends an image to a model with image input", async () => {
    const input = [
      { type: "message", role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] },
    ];
    expect(
      (await runTestTurn(engine.turn, testRequest({ models: ["painter"], input, outputModalities: ["image"] }))).fault,
    ).toBeUndefined();
  });

  test.each([
    [undefined, ["default"]],
    ["auto", ["default"]],
    ["priority", ["priority", "default"]],
    ["fast", ["priority", "default"]],
    ["flex", ["flex"]],
    ["ultrafast", ["ultrafast", "priority", "default"]],
    ["scale", ["default"]],
  ])("for tier %s calls %j", async (serviceTier, expected) => {
    first.script([error(529)]);
    await runTestTurn(engine.turn, testRequest({ models: ["tiers"], ...(serviceTier && { serviceTier }) }));
    expect(first.requests.map((request) => request.json.model)).toEqual(expected);
  });
});

describe("measurements of endpoints in routing", () => {
  const asked = (provider?: object) => testRequest({ ...(provider && { provider: preferencesOf(provider) }) });
  const served = async (request = asked()): Promise<string> => textOf((await runTestTurn(engine.turn, request)).events);

  test("put an endpoint with five failures behind the others, and it is tried again", async () => {
    first.script([error(529), error(529), error(529), error(529), error(529), chatStream("first")]);
    for (let index = 0; index < 6; index++) expect(await served()).toBe("second");
    expect(first.requests).toHaveLength(5);
    clock.now += 29_999;
    expect(await served()).toBe("second");
    clock.now += 6_001;
    expect(await served()).toBe("first");
    second.script([error(529)]);
    expect(await served()).toBe("first");
  });

  test("give an overload a short retry hint, and a longer one if the endpoint keeps failing", async () => {
    third.script(Array.from({ length: 5 }, () => error(529)));
    const pauses: number[] = [];
    for (let index = 0; index < 5; index++) {
      const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["corona/small"] }));
      pauses.push(fault?.retryAfterMs ?? 0);
    }
    for (const pause of pauses.slice(0, 4)) expect([pause >= 500, pause <= 1_500]).toEqual([true, true]);
    expect(pauses[4]).toBeGreaterThanOrEqual(5_000);
  });

  test("leave a failing endpoint as the last choice when the others fail as well", async () => {
    first.script([error(529), error(529), error(529), error(529), error(529), chatStream("first")]);
    for (let index = 0; index < 5; index++) await served();
    second.script([error(529)]);
    expect(await served()).toBe("first");
  });

  test("do not count the caller's own errors as failures of the endpoint", async () => {
    first.script([error(400), error(400), error(400), error(400), error(400), chatStream("first")]);
    for (let index = 0; index < 5; index++) expect((await runTestTurn(engine.turn, asked())).fault?.status).toBe(400);
    expect(await served()).toBe("first");
  });

  test("count a broken-off answer as a failure", async () => {
    const broken: Reply = { chunks: [{ sse: [chatChunk({ content: "half" })] }], cut: true };
    first.script([broken]);
    for (let index = 0; index < 5; index++) {
      expect((await runTestTurn(engine.turn, asked())).fault?.message).toBe("Provider connection lost");
    }
    expect(await served()).toBe("second");
    expect(first.requests).toHaveLength(5);
  });

  test("cover the first token of an answer, and the tokens after it", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 400, total_tokens: 401 };
    const answer = (text: string, after: Promise<unknown>): Reply => ({
      chunks: [
        { sse: [chatChunk({ content: text })] },
        { after, sse: [chatChunk({}, "stop"), { choices: [], usage }, "[DONE]"] },
      ],
    });
    /** Name of the provider that answers when its tokens take this long. */
    const served = async (ms: number): Promise<string> => {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      first.script([answer("first", released)]);
      second.script([answer("second", released)]);
      const { scope } = newScope();
      const batches = await openAnswer(engine.turn(asked({ sort: "throughput" }), scope));
      clock.now += ms;
      release();
      const events = [];
      for await (const batch of batches) events.push(...batch);
      return textOf(events);
    };
    // An endpoint without measurements comes first.
    expect([await served(2_000), await served(200), await served(8_000)]).toEqual(["first", "second", "second"]);
    // The median of 2,000 and 50 tokens per second is the lower one.
    expect(await served(200)).toBe("first");
  });

  test("without fallbacks return the failure of the first endpoint", async () => {
    first.script([error(529)]);
    const { fault } = await runTestTurn(engine.turn, asked({ allow_fallbacks: false }));
    expect([fault?.attemptStatus, second.requests.length]).toEqual([529, 0]);
  });

  test("follow an order named by the client", async () => {
    expect(await served(asked({ order: ["borealis"] }))).toBe("second");
    expect(first.requests).toHaveLength(0);
  });
});

describe("the receipt of a turn with fallbacks", () => {
  const parts = { requested: "acme/large-2", region: "local" };

  test("names both endpoints of a turn served by the second one", async () => {
    first.script([error(409)]);
    const testScope = newScope();
    await runTestTurn(engine.turn, testRequest(), testScope);
    const receipt = serviceMetadata(testScope.scope.trace, parts);
    expect(receipt.generation_time).toEqual(expect.any(Number));
    expect({ ...receipt, generation_time: 812 }).toEqual({
      attempt: 2,
      attempts: [
        { model: "acme/large-2", provider: "Acme", status: 409 },
        { model: "acme/large-2", provider: "Borealis", status: 200 },
      ],
      endpoints: {
        available: [
          { model: "acme/large-2", provider: "Acme", selected: false },
          { model: "acme/large-2", provider: "Borealis", selected: true },
        ],
        total: 2,
      },
      generation_time: 812,
      is_byok: false,
      params: { policy_generation: 7 },
      pipeline: [],
      region: "local",
      requested: "acme/large-2",
      strategy: "direct",
      summary: "available=2, selected=Borealis",
    });
  });

  test("names the model itself as the choice for a variant", async () => {
    const testScope = newScope();
    const { events } = await runTestTurn(engine.turn, testRequest({ models: ["acme/large-2:nitro"] }), testScope);
    expect(events[0]).toEqual({ type: "start", model: "acme/large-2" });
    expect(serviceMetadata(testScope.scope.trace, { ...parts, requested: "acme/large-2:nitro" })).toMatchObject({
      requested: "acme/large-2:nitro",
      strategy: "direct",
    });
  });

  test("lists the settings that were not sent to the serving endpoint, and none of an earlier one", async () => {
    first.script([error(503)]);
    const testScope = newScope();
    await runTestTurn(engine.turn, testRequest({ models: ["limited"], temperature: 1, topP: 0.5 }), testScope);
    expect(serviceMetadata(testScope.scope.trace, parts).params).toMatchObject({
      not_sent: [{ path: "temperature" }, { path: "top_p" }],
    });
  });

  test("lists the attempts on both models for a failed turn", async () => {
    for (const upstream of [first, second, third]) upstream.script([error(529)]);
    const testScope = newScope();
    await runTestTurn(engine.turn, testRequest({ models: ["acme/large-2", "corona/small"] }), testScope);
    expect(serviceMetadata(testScope.scope.trace, parts)).toMatchObject({
      attempt: 3,
      strategy: "fallback",
      summary: "available=3",
    });
    expect(serviceMetadata(testScope.scope.trace, parts)).not.toHaveProperty("generation_time");
  });
});
