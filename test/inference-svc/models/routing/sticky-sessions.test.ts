/** A moved session stays at the endpoint that answered last, because its cache is there; a dry run changes no routing of later requests. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { StickySessions } from "@sluice/inference-svc/models/routing/choose/sticky-sessions.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { FilterAction, GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Reply, type Upstream, chatAnswer, startUpstream } from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";
import { preferencesOf } from "../../features/routers/deciding.js";

const failing: Reply = { status: 503, chunks: [{ json: { error: { message: "no" } } }] };
const answer = (cached_tokens = 0): Reply =>
  chatAnswer({ role: "assistant", content: "Hi" }, "stop", {
    usage: { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens } },
  });

let upstreams: Record<string, Upstream>;
let engine: Engine;
let records: EndpointRecords;
/** Milliseconds of the clock, which only a test moves. */
let clock: { now: number };

beforeEach(async () => {
  upstreams = { a: await startUpstream([answer()]), b: await startUpstream([answer()]) };
  clock = { now: 1_000_000 };
  records = new EndpointRecords(() => clock.now);
  engine = open();
});
afterEach(async () => {
  await engine.upstreams.close();
  for (const upstream of Object.values(upstreams)) await upstream.stop();
});

const pricing = { prompt: "1", completion: "1" };
const open = (): Engine =>
  openEngine(
    testConfig({
      providers: ["a", "b"].map((id) => ({ id, dialect: "chat", base_url: `${upstreams[id]?.url}/v1` })),
      models: [
        { id: "shared", endpoints: ["a", "b"].map((provider) => ({ provider, pricing })) },
        { id: "ordered", endpoints: ["a", "b"].map((provider) => ({ provider })) },
      ],
    }),
    records,
  );

type Asking = Partial<TurnRequest> & { readonly text?: string };

/** Name of the provider answering a request without a stream. */
async function askedOf(request: Asking): Promise<string> {
  const testScope = newScope({ keyHash: "key" });
  const { fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: ["shared"], stream: false, ...request }),
    testScope,
  );
  expect(fault).toBeUndefined();
  return testScope.scope.trace.candidates[testScope.scope.trace.selected ?? -1]?.provider ?? "nobody";
}

/**
 * Moves the session of a request by a failure.
 * @returns the endpoint before, and the other of the two endpoints
 */
async function moved(request: Asking): Promise<{ own: string; other: string }> {
  const own = await askedOf(request);
  const other = own === "a" ? "b" : "a";
  upstreams[own]?.script([failing, answer()]);
  expect(await askedOf(request)).toBe(other);
  return { own, other };
}

/** The order in which a request tries the endpoints. */
const plannedDryRun = (request: Asking) =>
  engine.planDryRun(testRequest({ models: ["shared"], stream: false, ...request }), newScope({ keyHash: "key" }).scope);

describe("a session moved to another endpoint by a failure", () => {
  test.each<[string, Asking]>([
    ["by its name", { sessionId: "s" }],
    ["by the key of its cache", { promptCacheKey: "k" }],
  ])("stays there when it is known %s", async (_, request) => {
    const { other } = await moved(request);
    expect([await askedOf(request), await askedOf(request)]).toEqual([other, other]);
  });

  test("returns after ten minutes without a request", async () => {
    const { own, other } = await moved({ sessionId: "s" });
    clock.now += 599_000;
    expect(await askedOf({ sessionId: "s" })).toBe(other);
    clock.now += 599_000;
    expect(await askedOf({ sessionId: "s" })).toBe(other);
    clock.now += 600_000;
    expect(await askedOf({ sessionId: "s" })).toBe(own);
  });

  test("stays there when the configuration is reloaded", async () => {
    const { other } = await moved({ sessionId: "s" });
    const before = engine;
    engine = open();
    await before.upstreams.close();
    expect(await askedOf({ sessionId: "s" })).toBe(other);
  });

  test("moves on when the endpoint fails, too, and stays with the endpoint that answers", async () => {
    const { own, other } = await moved({ sessionId: "s" });
    upstreams[other]?.script([failing, answer()]);
    expect([await askedOf({ sessionId: "s" }), await askedOf({ sessionId: "s" })]).toEqual([own, own]);
  });

  test("does not stay with an endpoint in an outage", async () => {
    const { own, other } = await moved({ sessionId: "s" });
    const { plan } = await plannedDryRun({ sessionId: "s" });
    expect(plan.map(({ endpoint }) => endpoint.provider)).toEqual([other, own]);
    const { ejection } = records.get(plan[0]?.endpoint as Endpoint);
    for (let index = 0; index < 5; index++) ejection.begin(clock.now).end("failed", clock.now);
    const { plan: then } = await plannedDryRun({ sessionId: "s" });
    expect(then.map(({ endpoint }) => endpoint.provider)).toEqual([own, other]);
  });

  test("moves no other session, model or key", async () => {
    const sessions = Array.from({ length: 8 }, (_, index) => `s${index}`);
    const before = [];
    for (const sessionId of sessions) before.push(await askedOf({ sessionId }));
    await moved({ sessionId: "s" });
    const after = [];
    for (const sessionId of sessions) after.push(await askedOf({ sessionId }));
    expect(after).toEqual(before);
  });
});

describe("a conversation without a session", () => {
  test("returns to its endpoint, unless its answers came from a cache", async () => {
    const { own } = await moved({ text: "A question" });
    expect(await askedOf({ text: "A question" })).toBe(own);
  });

  test("stays with the endpoint that has its cache", async () => {
    const own = await askedOf({ text: "A question" });
    const other = own === "a" ? "b" : "a";
    upstreams[own]?.script([failing, answer()]);
    upstreams[other]?.script([answer(80)]);
    expect(await askedOf({ text: "A question" })).toBe(other);
    expect(await askedOf({ text: "A question" })).toBe(other);
  });
});

test.each<[string, Asking, string]>([
  ["an order of the caller", { models: ["shared"], provider: preferencesOf({ order: ["a"] }) }, "a"],
  ["an order of the configuration", { models: ["ordered"] }, "a"],
])("a preference for %s takes precedence over a cached prompt", async (_, request, first) => {
  upstreams[first]?.script([failing, answer()]);
  expect(await askedOf({ ...request, sessionId: "s" })).toBe("b");
  expect(await askedOf({ ...request, sessionId: "s" })).toBe(first);
});

test("only a limited number of moved sessions is remembered, the latest ones", () => {
  const warm = new StickySessions<{ high: number; low: number }>(600_000);
  const endpoint = { high: 7, low: 8 };
  const seed = (low: number) => ({ high: 1, low });
  for (let index = 0; index <= 20_000; index++) warm.note(seed(index), endpoint, 0);
  expect([warm.find(seed(0), 0), warm.find(seed(1), 0)]).toEqual([undefined, endpoint]);
});

test("a dry run does not use up the trial of an ejected endpoint", async () => {
  const request = testRequest({ models: ["ordered"], stream: false });
  const planned = async () => {
    const { plan } = await engine.planDryRun(request, newScope({ keyHash: "key" }).scope);
    return plan[0]?.endpoint.provider;
  };
  const tried = async () => {
    const testScope = newScope({ keyHash: "key" });
    await runTestTurn(engine.turn, request, testScope);
    return testScope.scope.trace.candidates[0]?.provider;
  };
  upstreams["a"]?.script([failing]);
  for (let index = 0; index < 5; index++) await askedOf({ models: ["ordered"] });
  clock.now += 36_000;
  expect([await planned(), await planned(), await tried(), await tried()]).toEqual(["b", "b", "a", "b"]);
});

test("a request redacted by a guardrail tries an ejected endpoint like any other", async () => {
  upstreams["a"]?.script([failing]);
  for (let index = 0; index < 5; index++) await askedOf({ models: ["ordered"] });
  clock.now += 36_000;
  const redacting = create(GuardrailSchema, {
    contentFilters: [{ pattern: "secret", action: FilterAction.REDACT }],
  });
  const testScope = newScope({ keyHash: "key", guardrail: redacting });
  const input = [{ type: "message", role: "user", content: "A secret" }] as const;
  await runTestTurn(engine.turn, testRequest({ models: ["ordered"], stream: false, input }), testScope);
  expect(testScope.scope.trace.candidates.map(({ provider }) => provider)).toEqual(["a", "b"]);
});
