/** Model limits at the attempts of a turn: only calls of providers count, and the fallback is the next model. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { callModel } from "@sluice/inference-svc/models/internal-calls/internal-call.js";
import { type TurnModelLimits, openModelLimits } from "@sluice/inference-svc/turn/model-limits.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { buildStack } from "@sluice/inference-svc/stack.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { modelLimitsMessage, type ModelLimitJson } from "@sluice/proto/contract/records/model-limits.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.js";
import { openParts, newScope, runTestTurn, testConfig, testRequest, unlimitedBudget } from "../../asking.js";

let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream([chatStream("fine")]);
});
afterEach(() => upstream.stop());

/** Two models of one provider, each with a single endpoint, for one key with limits. */
function engineWith(...entries: readonly ModelLimitJson[]) {
  const spent = { isSpent: false, reservations: 0, reserving: () => {} };
  const config = testConfig({
    providers: [{ id: "acme", name: "Acme", dialect: "chat", base_url: `${upstream.url}/v1` }],
    models: ["large", "small"].map((id) => ({ id, endpoints: [{ provider: "acme" }] })),
  });
  const reserve = async () => {
    spent.reservations++;
    spent.reserving();
    if (spent.isSpent) throw new Fault(FaultReason.PAYMENT_REQUIRED, "spent");
    return unlimitedBudget;
  };
  const { parts, engine } = openParts(config, new EndpointRecords(), noPackages, { reserve });
  const { turn } = buildStack(parts);
  const limiter = new Limiter({
    config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
    origin: FaultOrigin.INFERENCE,
    registry: new Registry(),
  });
  const caller = { keyHash: randomUUID(), hasBudget: true, modelLimits: modelLimitsMessage(entries) };
  const run = async (models: readonly string[] = ["large"]) => {
    const { scope, abort } = newScope(caller);
    const modelLimits = openModelLimits(scope.caller, limiter);
    const limited = scope.with({ modelLimits });
    try {
      const result = await runTestTurn(turn, testRequest({ models: [...models] }), { scope: limited, abort });
      return { fault: result.fault, model: limited.trace.attempts.at(-1)?.model };
    } finally {
      modelLimits?.leave();
    }
  };
  /** A call for an internal purpose on behalf of a new turn. */
  const callInternally = async (charged: boolean) => {
    const { scope, abort } = newScope(caller);
    const modelLimits = openModelLimits(scope.caller, limiter);
    const occasion = { request: testRequest(), scope: scope.with({ modelLimits }) };
    const question = { model: "large", instructions: "", text: "Hi", maxOutputTokens: 9, logprobs: false };
    const limits = { signal: abort, timeoutMs: 60_000, charged };
    try {
      const { text } = await callModel(turn, { ...question, purpose: "ocr" }, occasion, limits);
      return text;
    } finally {
      modelLimits?.leave();
    }
  };
  /** Whether another turn may use the model at this moment; the turn ends at once. */
  const admits = (model: string): boolean => {
    const modelLimits = openModelLimits(newScope(caller).scope.caller, limiter);
    const fault = modelLimits?.enter(model);
    modelLimits?.leave();
    return fault === undefined;
  };
  /** The limits of one turn. */
  const openTurn = () => openModelLimits(newScope(caller).scope.caller, limiter) as TurnModelLimits;
  return { run, callInternally, admits, openTurn, spent, parts, upstreams: engine.upstreams };
}

test("a call that a budget refuses does not count in limits of the model", async () => {
  const { run, spent, upstreams } = engineWith({ models: ["*"], requests_per_day: 1, concurrent_requests: 1 });
  spent.isSpent = true;
  for (let n = 0; n < 3; n++) expect((await run()).fault?.reason).toBe(FaultReason.PAYMENT_REQUIRED);
  spent.isSpent = false;
  expect((await run()).fault).toBeUndefined();
  expect((await run()).fault?.reason).toBe(FaultReason.RATE_LIMITED);
  await upstreams.close();
});

test("a model that a budget refuses frees its concurrent request at once, while the fallback model runs", async () => {
  const { run, admits, spent, upstreams } = engineWith({
    models: ["large"],
    requests_per_day: 1,
    concurrent_requests: 1,
  });
  const admitted: boolean[] = [];
  spent.reserving = () => {
    spent.isSpent = spent.reservations === 1;
    admitted.push(admits("large"));
  };
  expect(await run(["large", "small"])).toEqual({ fault: undefined, model: "small" });
  expect(admitted).toEqual([false, true]);
  expect((await run()).fault).toBeUndefined();
  expect(admits("large")).toBe(false);
  await upstreams.close();
});

test("a concurrent request used by another part of the turn is kept when a model of the part is refused", async () => {
  const { openTurn, admits, upstreams } = engineWith({ models: ["*"], concurrent_requests: 1, requests_per_day: 9 });
  for (const isCalled of [false, true]) {
    const turn = openTurn();
    expect(turn.enter("large")).toBeUndefined();
    expect(turn.enter("small")).toBeUndefined();
    if (isCalled) turn.note("small", { reported: undefined, abandoned: false, settled: false, usage: undefined });
    turn.giveBack("large");
    expect(admits("large")).toBe(false);
    turn.giveBack("small");
    expect(admits("large")).toBe(!isCalled);
    turn.leave();
    expect(admits("large")).toBe(true);
  }
  await upstreams.close();
});

test("a refused model frees its own limit while another model of the request runs under a common limit", async () => {
  const { openTurn, run, admits, upstreams } = engineWith(
    { models: ["large"], concurrent_requests: 1, requests_per_day: 2 },
    { models: ["*"], requests_per_day: 4 },
  );
  const turn = openTurn();
  expect(turn.enter("large")).toBeUndefined();
  expect(turn.enter("small")).toBeUndefined();
  turn.note("small", { reported: undefined, abandoned: false, settled: false, usage: undefined });
  turn.giveBack("large");
  for (let n = 0; n < 2; n++) expect((await run()).fault).toBeUndefined();
  turn.leave();
  expect(admits("large")).toBe(false);
  expect((await run(["small"])).fault).toBeUndefined();
  expect(admits("small")).toBe(false);
  await upstreams.close();
});

test("a model at its limit reserves no budget, and the fallback model reserves its own", async () => {
  const { run, spent, upstreams } = engineWith({ models: ["large"], requests_per_day: 1 });
  expect((await run()).fault).toBeUndefined();
  spent.reservations = 0;
  expect((await run(["large", "small"])).fault).toBeUndefined();
  expect(spent.reservations).toBe(1);
  expect((await run()).fault?.reason).toBe(FaultReason.RATE_LIMITED);
  expect(spent.reservations).toBe(1);
  await upstreams.close();
});

test("a call that the ledger cannot record does not count in limits of the model", async () => {
  const { run, parts, upstreams } = engineWith({ models: ["*"], requests_per_day: 1, concurrent_requests: 1 });
  const open = parts.ledger.open.bind(parts.ledger);
  parts.ledger.open = (_, __, onStarted) => {
    queueMicrotask(() => onStarted(new Fault(FaultReason.UNAVAILABLE, "")));
    return { span: undefined, note: () => {}, close: () => {} };
  };
  for (let n = 0; n < 3; n++) expect((await run()).fault?.reason).toBe(FaultReason.UNAVAILABLE);
  parts.ledger.open = open;
  expect((await run()).fault).toBeUndefined();
  expect((await run()).fault?.reason).toBe(FaultReason.RATE_LIMITED);
  await upstreams.close();
});

test("an internal call is held to the limits of its model only if the key pays for it", async () => {
  const { callInternally, upstreams } = engineWith({ models: ["large"], requests_per_day: 1 });
  for (const charged of [false, false, true]) expect(await callInternally(charged)).toBe("fine");
  await expect(callInternally(true)).rejects.toMatchObject({ reason: FaultReason.RATE_LIMITED });
  expect(await callInternally(false)).toBe("fine");
  await upstreams.close();
});

test("a refusal by the limits of several models names the limit that is free first", async () => {
  const { run, upstreams } = engineWith(
    { models: ["small"], requests_per_minute: 1 },
    { models: ["large"], requests_per_day: 1 },
  );
  for (const model of ["large", "small"]) expect((await run([model])).fault).toBeUndefined();
  for (const models of [
    ["large", "small"],
    ["small", "large"],
  ]) {
    const { fault } = await run(models);
    expect(fault?.message).toContain("model_limits.0.requests_per_minute");
    expect(fault?.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(fault?.metadata).toMatchObject({
      model_limit: { models: ["small"] },
      previous_errors: [{ code: "rate_limit_exceeded", status: 429 }],
    });
    expect(JSON.stringify(fault?.metadata)).not.toContain("Acme");
  }
  await upstreams.close();
});

test("the fallback for a model at its limit is called once for each request, even while it fails", async () => {
  const { run, upstreams } = engineWith({ models: ["large"], requests_per_day: 1 });
  expect((await run()).fault).toBeUndefined();
  upstream.script([{ status: 409, chunks: [{ json: { error: { message: "no" } } }] }]);
  const before = upstream.requests.length;
  const requests = 20;
  for (let n = 0; n < requests; n++) await run(["large", "small"]);
  expect(upstream.requests.length - before).toBeGreaterThanOrEqual(requests);
  await upstreams.close();
});
