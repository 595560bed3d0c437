/** Distribution of load: by price, by session, and with as few moved sessions as possible. */
import { describe, expect, test } from "@jest/globals";
import { sessionSeed } from "@sluice/inference-svc/models/routing/choose/rendezvous.js";
import { routedRequest, openDecider, pricedEndpoint } from "../../features/routers/deciding.js";

const models = ["acme/large-2"];
const prices = { one: 1, two: 2, three: 3, five: 5 };
const endpoints = Object.entries(prices).map(([name, price]) => pricedEndpoint(name, price));
const sessions = 20_000;

const all = openDecider([{ id: "acme/large-2", endpoints }]);
const without = openDecider([
  { id: "acme/large-2", endpoints: endpoints.filter(({ upstream_model: name }) => name !== "two") },
]);

test("20,000 sessions are shared by price, and a removed endpoint moves only its own sessions", () => {
  const counts: Record<string, number> = {};
  let moved = 0;
  for (let session = 0; session < sessions; session++) {
    const request = { models, sessionId: `s${session}` };
    const [first = ""] = all.order(request);
    counts[first] = (counts[first] ?? 0) + 1;
    if (first !== "two" && without.order(request)[0] !== first) moved++;
  }
  const total = Object.values(prices).reduce((sum, price) => sum + price ** -2, 0);
  for (const [name, price] of Object.entries(prices)) {
    const share = (counts[name] ?? 0) / sessions;
    const ideal = price ** -2 / total;
    process.stdout.write(`price ${price}: share ${share.toFixed(4)}, ideal ${ideal.toFixed(4)}\n`);
    expect(Math.abs(share - ideal)).toBeLessThan(0.01);
  }
  expect(moved).toBe(0);
}, 300_000);

test("fifty endpoints of one price get equal shares of the sessions, under any names", () => {
  const fifty = Array.from({ length: 50 }, (_, index) => pricedEndpoint(`e${index}`, 1));
  const decider = openDecider([{ id: "acme/large-2", endpoints: fifty }]);
  const counts = new Map<string, number>();
  for (let session = 0; session < 10_000; session++) {
    const [first = ""] = decider.order({ models, sessionId: `s${session}` });
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  const chiSquare = fifty
    .map(({ upstream_model: name }) => ((counts.get(name) ?? 0) - 200) ** 2 / 200)
    .reduce((sum, term) => sum + term, 0);
  // With 49 degrees of freedom, one fair draw in ten thousand is above this limit. Sessions and secret are fixed, so the draw is always the same.
  expect(chiSquare).toBeLessThan(96);
}, 300_000);

describe("a session in routing", () => {
  const of = (fields: Parameters<typeof routedRequest>[0], keyHash?: string) =>
    all.order({ models, ...fields }, keyHash);
  const many = Array.from({ length: 200 }, (_, index) => `s${index}`);
  const firsts = (fieldsOf: (name: string) => Parameters<typeof routedRequest>[0], keyHash?: string) =>
    many.map((name) => of(fieldsOf(name), keyHash)[0]);

  test("keeps its endpoint for any request, and the order of the others", () => {
    for (const sessionId of many) {
      expect(of({ sessionId, temperature: 1 })).toEqual(of({ sessionId, promptCacheKey: "other" }));
    }
  });

  test("without a name is identified by the prompt_cache_key", () => {
    const named = firsts((sessionId) => ({ sessionId }));
    expect(firsts((promptCacheKey) => ({ promptCacheKey }))).toEqual(named);
    expect(new Set(named).size).toBeGreaterThan(1);
  });

  test("is identified by the conversation's beginning, with any continuation", () => {
    const said = (role: string, content: unknown) => ({ type: "message", role, content });
    const begun = (name: string) => [
      said("developer", "Be brief."),
      said("user", [{ type: "input_text", text: name }]),
    ];
    const gone = firsts((name) => ({ input: begun(name) }));
    expect(new Set(gone).size).toBeGreaterThan(1);
    const on = firsts((name) => ({ input: [...begun(name), said("assistant", "Yes."), said("user", "And?")] }));
    expect(on).toEqual(gone);
    expect(firsts((name) => ({ instructions: "Be long.", input: begun(name) }))).not.toEqual(gone);
  });

  test("without a beginning goes to any endpoint", () => {
    const input = [{ type: "function_call_output", call_id: "c", output: "x" }];
    expect(new Set(firsts(() => ({ input }))).size).toBeGreaterThan(1);
  });

  test("of one key differs from any session of another key", () => {
    expect(firsts((sessionId) => ({ sessionId }), "key-1")).not.toEqual(
      firsts((sessionId) => ({ sessionId }), "key-2"),
    );
    const seeds = new Set<string>();
    for (const keyHash of ["key-1", "key-2"]) {
      for (const model of ["a/x", "a/y"]) {
        for (const secret of ["one", "two"]) {
          for (let index = 0; index < 2_000; index++) {
            const { high, low } = sessionSeed(secret, keyHash, model, `s${index}`);
            seeds.add(`${high} ${low}`);
          }
        }
      }
    }
    expect(seeds.size).toBe(16_000);
  });
});

test("unpriced endpoints follow priced ones in the configured order, which holds without prices", () => {
  const mixed = [
    pricedEndpoint("x", undefined),
    pricedEndpoint("free", 0),
    pricedEndpoint("y", undefined),
    pricedEndpoint("dear", 9),
  ];
  const decider = openDecider([
    { id: "mixed", endpoints: mixed },
    { id: "plain", endpoints: ["p", "q", "r"].map((name) => pricedEndpoint(name, undefined)) },
    { id: "free", endpoints: ["f", "g"].map((name) => pricedEndpoint(name, 0)) },
  ]);
  for (let session = 0; session < 100; session++) {
    const sessionId = `s${session}`;
    expect(decider.order({ models: ["mixed"], sessionId })).toEqual(["free", "dear", "x", "y"]);
    expect(decider.order({ models: ["plain"], sessionId })).toEqual(["p", "q", "r"]);
  }
  const free = new Set(
    Array.from({ length: 50 }, (_, index) => decider.order({ models: ["free"], sessionId: `s${index}` })[0]),
  );
  expect(free.size).toBe(2);
});
