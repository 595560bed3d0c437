/** In which order endpoints are tried: by name, by measure, by tier, and after an outage. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Endpoint } from "@sluice/inference-svc/routing/catalog.js";
import type { EndpointRecord } from "@sluice/inference-svc/routing/endpoint-record.js";
import { RecentPercentiles } from "@sluice/inference-svc/routing/percentiles.js";
import { type Decider, openDecider, priced } from "./deciding.js";

let decider: Decider;
beforeEach(() => {
  decider = openDecider([
    {
      id: "m",
      endpoints: [
        priced("a", 5),
        priced("b", 1, { provider: "b", quantization: "fp8" }),
        priced("c", undefined, { provider: "c" }),
        priced("a-priority", 9, { tier: "priority" }),
        priced("b-priority", 8, { tier: "priority", provider: "b" }),
        priced("a-flex", 0.5, { tier: "flex" }),
        priced("b-flex", 0.4, { tier: "flex", provider: "b" }),
        priced("c-ultrafast", 20, { tier: "ultrafast", provider: "c" }),
        priced("c-scale", 4, { tier: "scale", provider: "c" }),
      ],
    },
    { id: "n", endpoints: [priced("n-a", 3), priced("n-b", 0.5, { provider: "b" })] },
    { id: "n:floor", endpoints: [priced("own", 3)] },
    { id: "plain", endpoints: ["x", "y", "z"].map((name) => priced(name, undefined)) },
  ]);
});

const record = (model: string, name: string): EndpointRecord => {
  const endpoints = decider.catalog.find(model)?.model.endpoints ?? [];
  return decider.records.of(endpoints.find(({ upstreamModel }) => upstreamModel === name) as Endpoint);
};
const measure = (model: string, speeds: Record<string, { seconds?: number; rate?: number }>) => {
  for (const [name, { seconds, rate }] of Object.entries(speeds)) {
    if (seconds !== undefined) record(model, name).latency.add(seconds, decider.clock.now);
    if (rate !== undefined) record(model, name).throughput.add(rate, decider.clock.now);
  }
};
const sessions = Array.from({ length: 30 }, (_, index) => `s${index}`);
/** The same for every session, or a failure. */
function settledOrder(request: Parameters<Decider["order"]>[0]): string[] {
  const orders = new Set(sessions.map((sessionId) => decider.order({ ...request, sessionId }).join(" ")));
  expect([...orders]).toHaveLength(1);
  return [...orders].join("").split(" ");
}

describe("order", () => {
  test.each<[object, string[]]>([
    [{ order: ["c", "b"] }, ["c", "b", "a"]],
    [{ order: ["nobody", "b/fp8"] }, ["b", "a", "c"]],
    [{ order: ["c", "a"], allow_fallbacks: false }, ["c", "a"]],
    [{ order: ["c"], sort: "price" }, ["c", "a", "b"]],
  ])("%j", (provider, expected) => {
    expect(settledOrder({ models: ["m"], provider })).toEqual(expected);
  });

  test("the id of a provider stands for its default tier; another tier is named", () => {
    const ask = (order: string[]) => settledOrder({ models: ["m"], serviceTier: "priority", provider: { order } });
    expect(ask(["b"])).toEqual(["b", "a-priority", "b-priority", "a", "c"]);
    expect(ask(["b/priority"])).toEqual(["b-priority", "a-priority", "a", "b", "c"]);
  });

  test("without fallbacks only the first is asked, over all models", () => {
    const provider = { allow_fallbacks: false };
    for (const sessionId of sessions) {
      const [first] = decider.order({ models: ["m", "n"], sessionId });
      expect(decider.order({ models: ["m", "n"], sessionId, provider })).toEqual([first]);
    }
  });
});

describe("sort", () => {
  test("price: the cheapest first, unknown ones last", () => {
    expect(settledOrder({ models: ["m"], provider: { sort: "price" } })).toEqual(["b", "a", "c"]);
    expect(settledOrder({ models: ["m", "n"], provider: { sort: { by: "price" } } })).toEqual([
      "b",
      "a",
      "c",
      "n-b",
      "n-a",
    ]);
  });

  test("partition none: all models as if they were one", () => {
    expect(settledOrder({ models: ["m", "n"], provider: { sort: { by: "price", partition: "none" } } })).toEqual([
      "n-b",
      "b",
      "n-a",
      "a",
      "c",
    ]);
  });

  test("throughput and latency: the best median first, and what was not measured before it", () => {
    measure("m", { a: { rate: 50, seconds: 0.2 }, b: { rate: 20, seconds: 0.1 } });
    expect(settledOrder({ models: ["m"], provider: { sort: "throughput" } })).toEqual(["c", "a", "b"]);
    expect(settledOrder({ models: ["m"], provider: { sort: "latency" } })).toEqual(["c", "b", "a"]);
    decider.clock.now += 330_000;
    expect(settledOrder({ models: ["m"], provider: { sort: "throughput" } })).toEqual(["a", "b", "c"]);
  });
});

describe("tiers", () => {
  test.each<[string | undefined, string[], boolean]>([
    [undefined, ["a", "b", "c"], false],
    ["auto", ["a", "b", "c"], false],
    ["default", ["a", "b", "c"], false],
    ["priority", ["b-priority", "a-priority", "b", "a", "c"], true],
    ["fast", ["b-priority", "a-priority", "b", "a", "c"], true],
    ["flex", ["b-flex", "a-flex"], true],
    ["ultrafast", ["c-ultrafast", "b-priority", "a-priority", "b", "a", "c"], true],
    ["scale", ["c-scale", "a", "b", "c"], false],
  ])("%s", (serviceTier, expected, sorted) => {
    measure("m", {
      a: { rate: 20 },
      b: { rate: 50 },
      c: { rate: 10 },
      "a-priority": { rate: 5 },
      "b-priority": { rate: 9 },
    });
    const request = { models: ["m"], ...(serviceTier !== undefined && { serviceTier }) };
    if (sorted) expect(settledOrder(request)).toEqual(expected);
    // Load is shared within the tier.
    else expect(decider.order(request).toSorted()).toEqual(expected.toSorted());
    if (serviceTier === "scale") expect(decider.order(request)[0]).toBe("c-scale");
  });

  test("flex, where nobody offers it, is default", () => {
    expect(settledOrder({ models: ["n"], serviceTier: "flex" })).toEqual(["n-b", "n-a"]);
  });
});

describe("variants", () => {
  test("nitro: the fastest first, priority endpoints among them", () => {
    expect(settledOrder({ models: ["m:nitro"] }).slice(0, 2)).toEqual(["a-priority", "b-priority"]);
    measure("m", {
      a: { rate: 20 },
      b: { rate: 50 },
      c: { rate: 10 },
      "a-priority": { rate: 5 },
      "b-priority": { rate: 90 },
    });
    expect(settledOrder({ models: ["m:nitro"] })).toEqual(["b-priority", "b", "a", "c", "a-priority"]);
  });

  test("floor: the cheapest first, flex endpoints among them", () => {
    expect(settledOrder({ models: ["m:floor"] })).toEqual(["b-flex", "a-flex", "b", "a", "c"]);
  });

  test("a slug of the catalogue is no variant, and other endings are unknown", () => {
    expect(decider.order({ models: ["n:floor"] })).toEqual(["own"]);
    for (const slug of ["n:fast", "x:floor", ":floor"]) {
      expect(decider.fault({ models: [slug] }).message).toBe(`model: ${slug} is not in the catalogue`);
    }
  });

  test("a model that is asked for twice is tried once", () => {
    expect(settledOrder({ models: ["m:floor", "m:nitro"] })).toEqual([
      "b-flex",
      "a-flex",
      "b",
      "a",
      "c",
      "a-priority",
      "b-priority",
    ]);
  });

  test("a sort that is asked for counts before the variant's", () => {
    expect(settledOrder({ models: ["m:nitro"], provider: { sort: "price" } })).toEqual([
      "b",
      "a",
      "b-priority",
      "a-priority",
      "c",
    ]);
  });
});

describe("preferred", () => {
  test("endpoints that miss a limit come after those that keep it; unmeasured ones keep it", () => {
    measure("plain", { x: { seconds: 3, rate: 10 }, y: { seconds: 1, rate: 100 } });
    const order = (provider: object) => settledOrder({ models: ["plain"], provider });
    expect(order({ preferred_max_latency: 2 })).toEqual(["y", "z", "x"]);
    expect(order({ preferred_max_latency: { p50: 5, p99: 0.5 } })).toEqual(["z", "x", "y"]);
    expect(order({ preferred_min_throughput: 50 })).toEqual(["y", "z", "x"]);
    expect(order({ preferred_min_throughput: { p90: 5 }, preferred_max_latency: { p75: 4 } })).toEqual(["x", "y", "z"]);
  });

  test("p90 is what nine of ten requests keep, of both measures", () => {
    for (let index = 0; index < 100; index++) {
      measure("plain", { x: { seconds: index < 85 ? 1 : 10, rate: index < 85 ? 100 : 10 } });
    }
    const order = (provider: object) => settledOrder({ models: ["plain"], provider });
    expect(order({ preferred_max_latency: { p75: 2 }, preferred_min_throughput: { p75: 50 } })[0]).toBe("x");
    expect(order({ preferred_max_latency: { p90: 2 } })[0]).toBe("y");
    expect(order({ preferred_min_throughput: { p90: 50 } })[0]).toBe("y");
  });
});

describe("an outage", () => {
  const attempts = (name: string, failed: number, well: number) => {
    for (let index = 0; index < failed; index++) record("plain", name).attempt(false, decider.clock.now);
    for (let index = 0; index < well; index++) record("plain", name).attempt(true, decider.clock.now);
  };
  const order = (provider?: object) => decider.order({ models: ["plain"], ...(provider && { provider }) });
  /** Somebody else has just tried it. */
  const probed = () => void order();

  test.each<[number, number, string[]]>([
    [2, 0, ["x", "y", "z"]],
    [3, 0, ["y", "z", "x"]],
    [3, 12, ["y", "z", "x"]],
    [3, 13, ["x", "y", "z"]],
    [20, 80, ["y", "z", "x"]],
    [20, 81, ["x", "y", "z"]],
  ])("%i failures beside %i successes: %j", (failed, well, expected) => {
    attempts("x", failed, well);
    probed();
    expect(order()).toEqual(expected);
  });

  test("ends thirty seconds after the failures", () => {
    attempts("x", 3, 0);
    probed();
    decider.clock.now += 4_000;
    expect(order()).toEqual(["y", "z", "x"]);
    decider.clock.now += 26_000;
    expect([order(), order()]).toEqual([
      ["x", "y", "z"],
      ["x", "y", "z"],
    ]);
  });

  test("one request in five seconds tries it, of those that would have gone there first", () => {
    attempts("x", 5, 0);
    attempts("z", 5, 0);
    expect([order(), order()]).toEqual([
      ["x", "y", "z"],
      ["y", "x", "z"],
    ]);
    decider.clock.now += 4_999;
    expect(order()[0]).toBe("y");
    decider.clock.now += 1;
    expect([order()[0], order()[0]]).toEqual(["x", "y"]);
  });

  test("nobody is left out, and an order that the caller named stays", () => {
    for (const name of ["x", "y", "z"]) attempts(name, 3, 0);
    probed();
    expect(order()).toEqual(["x", "y", "z"]);
    expect(order({ order: ["a"] })).toEqual(["x", "y", "z"]);
    attempts("y", 0, 100);
    expect(order()).toEqual(["y", "x", "z"]);
    expect(order({ order: ["a/default"] })).toEqual(["x", "y", "z"]);
  });
});

test("percentiles are right to within 7 %, and of the last five minutes", () => {
  const recent = new RecentPercentiles();
  for (let value = 1; value <= 1_000; value++) recent.add(value / 100, value);
  for (const share of [0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1]) {
    expect(Math.abs((recent.at(share, 1_000) ?? 0) / (share * 10) - 1)).toBeLessThan(0.075);
  }
  recent.add(0.5, 299_000);
  expect(recent.at(0.5, 299_000)).toBeGreaterThan(4);
  expect(recent.at(0.5, 300_000)).toBeLessThan(0.6);
  expect(recent.at(0.5, 10_000_000)).toBeUndefined();
  for (const extreme of [0, 1e9]) recent.add(extreme, 10_000_000);
  expect(recent.at(0, 10_000_000)).toBeLessThan(0.01);
  expect(recent.at(1, 10_000_000)).toBeGreaterThan(10_000);
});
