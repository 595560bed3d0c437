/** The order of attempts at endpoints: by name, by measurements, by tier, and after failures. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import type { EndpointRecord } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { endpointMetrics } from "@sluice/inference-svc/models/routing/records/endpoint-metrics.js";
import { RecentPercentiles } from "@sluice/inference-svc/models/routing/records/percentiles.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { type Decider, openDecider, pricedEndpoint } from "../../features/routers/deciding.js";

let decider: Decider;
beforeEach(() => {
  decider = openDecider([
    {
      id: "m",
      endpoints: [
        pricedEndpoint("a", 5),
        pricedEndpoint("b", 1, { provider: "b", quantization: "fp8" }),
        pricedEndpoint("c", undefined, { provider: "c" }),
        pricedEndpoint("a-priority", 9, { tier: "priority" }),
        pricedEndpoint("b-priority", 8, { tier: "priority", provider: "b" }),
        pricedEndpoint("a-flex", 0.5, { tier: "flex" }),
        pricedEndpoint("b-flex", 0.4, { tier: "flex", provider: "b" }),
        pricedEndpoint("c-ultrafast", 20, { tier: "ultrafast", provider: "c" }),
        pricedEndpoint("c-scale", 4, { tier: "scale", provider: "c" }),
      ],
    },
    { id: "n", endpoints: [pricedEndpoint("n-a", 3), pricedEndpoint("n-b", 0.5, { provider: "b" })] },
    { id: "n:floor", endpoints: [pricedEndpoint("own", 3)] },
    { id: "plain", endpoints: ["x", "y", "z"].map((name) => pricedEndpoint(name, undefined)) },
  ]);
});

const record = (model: string, name: string): EndpointRecord => {
  const endpoints = decider.catalog.find(model)?.model.endpoints ?? [];
  return decider.records.get(endpoints.find(({ upstreamModel }) => upstreamModel === name) as Endpoint);
};
const measure = (model: string, speeds: Record<string, { seconds?: number; rate?: number }>) => {
  for (const [name, { seconds, rate }] of Object.entries(speeds)) {
    if (seconds !== undefined) record(model, name).latency.add(seconds, decider.clock.now);
    if (rate !== undefined) record(model, name).throughput.add(rate, decider.clock.now);
  }
};
const sessions = Array.from({ length: 30 }, (_, index) => `s${index}`);
/** The order of endpoints, which must be the same for every session. */
function settledOrder(request: Parameters<Decider["order"]>[0]): string[] {
  const orders = new Set(sessions.map((sessionId) => decider.order({ ...request, sessionId }).join(" ")));
  expect([...orders]).toHaveLength(1);
  return [...orders].join("").split(" ");
}

describe("the order of endpoints", () => {
  test.each<[object, string[]]>([
    [{ order: ["c", "b"] }, ["c", "b", "a"]],
    [{ order: ["nobody", "b/fp8"] }, ["b", "a", "c"]],
    [{ order: ["c", "a"], allow_fallbacks: false }, ["c", "a"]],
    [{ order: ["c"], sort: "price" }, ["c", "a", "b"]],
  ])("has the first endpoints requested by %j", (provider, expected) => {
    expect(settledOrder({ models: ["m"], provider })).toEqual(expected);
  });

  test("takes the id of a provider as its default tier, and names another tier", () => {
    const runRequest = (order: string[]) =>
      settledOrder({ models: ["m"], serviceTier: "priority", provider: { order } });
    expect(runRequest(["b"])).toEqual(["b", "a-priority", "b-priority", "a", "c"]);
    expect(runRequest(["b/priority"])).toEqual(["b-priority", "a-priority", "a", "b", "c"]);
  });

  test("is cut after the first endpoint of all models without fallbacks", () => {
    const provider = { allow_fallbacks: false };
    for (const sessionId of sessions) {
      const [first] = decider.order({ models: ["m", "n"], sessionId });
      expect(decider.order({ models: ["m", "n"], sessionId, provider })).toEqual([first]);
    }
  });
});

describe("the sort of endpoints", () => {
  test("by price has the cheapest first, unknown prices last", () => {
    expect(settledOrder({ models: ["m"], provider: { sort: "price" } })).toEqual(["b", "a", "c"]);
    expect(settledOrder({ models: ["m", "n"], provider: { sort: { by: "price" } } })).toEqual([
      "b",
      "a",
      "c",
      "n-b",
      "n-a",
    ]);
  });

  test("with partition none has all models as if they were one", () => {
    expect(settledOrder({ models: ["m", "n"], provider: { sort: { by: "price", partition: "none" } } })).toEqual([
      "n-b",
      "b",
      "n-a",
      "a",
      "c",
    ]);
  });

  test("by throughput and latency has the best median first, after unmeasured endpoints", () => {
    measure("m", { a: { rate: 50, seconds: 0.2 }, b: { rate: 20, seconds: 0.1 } });
    expect(settledOrder({ models: ["m"], provider: { sort: "throughput" } })).toEqual(["c", "a", "b"]);
    expect(settledOrder({ models: ["m"], provider: { sort: "latency" } })).toEqual(["c", "b", "a"]);
    decider.clock.now += 330_000;
    expect(settledOrder({ models: ["m"], provider: { sort: "throughput" } })).toEqual(["a", "b", "c"]);
  });
});

describe("service tiers in routing", () => {
  test.each<[string | undefined, string[], boolean]>([
    [undefined, ["a", "b", "c"], false],
    ["auto", ["a", "b", "c"], false],
    ["default", ["a", "b", "c"], false],
    ["priority", ["b-priority", "a-priority", "b", "a", "c"], true],
    ["fast", ["b-priority", "a-priority", "b", "a", "c"], true],
    ["flex", ["b-flex", "a-flex"], true],
    ["ultrafast", ["c-ultrafast", "b-priority", "a-priority", "b", "a", "c"], true],
    ["scale", ["c-scale", "a", "b", "c"], false],
  ])("%s decide the endpoints", (serviceTier, expected, sorted) => {
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

  test("flex without an endpoint of this tier is default", () => {
    expect(settledOrder({ models: ["n"], serviceTier: "flex" })).toEqual(["n-b", "n-a"]);
  });
});

describe("variants of a slug", () => {
  test("nitro has the fastest endpoint first, with priority endpoints among them", () => {
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

  test("floor has the cheapest endpoint first, with flex endpoints among them", () => {
    expect(settledOrder({ models: ["m:floor"] })).toEqual(["b-flex", "a-flex", "b", "a", "c"]);
  });

  test("are no slugs of the catalogue, and other endings are unknown", () => {
    expect(decider.order({ models: ["n:floor"] })).toEqual(["own"]);
    for (const slug of ["n:fast", "unknown:floor", ":floor"]) {
      expect(decider.fault({ models: [slug] }).message).toContain(`model: ${slug} is not in the catalogue`);
    }
  });

  test("of a model requested twice are tried once", () => {
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

  test("give way to an explicit sort", () => {
    expect(settledOrder({ models: ["m:nitro"], provider: { sort: "price" } })).toEqual([
      "b",
      "a",
      "b-priority",
      "a-priority",
      "c",
    ]);
  });
});

describe("preferred limits of endpoints", () => {
  test("put endpoints beyond a limit last, and count unmeasured endpoints as within", () => {
    measure("plain", { x: { seconds: 3, rate: 10 }, y: { seconds: 1, rate: 100 } });
    const order = (provider: object) => settledOrder({ models: ["plain"], provider });
    expect(order({ preferred_max_latency: 2 })).toEqual(["y", "z", "x"]);
    expect(order({ preferred_max_latency: { p50: 5, p99: 0.5 } })).toEqual(["z", "x", "y"]);
    expect(order({ preferred_min_throughput: 50 })).toEqual(["y", "z", "x"]);
    expect(order({ preferred_min_throughput: { p90: 5 }, preferred_max_latency: { p75: 4 } })).toEqual(["x", "y", "z"]);
  });

  test("take p90 as the value met by nine of ten requests, for both measures", () => {
    for (let index = 0; index < 100; index++) {
      measure("plain", { x: { seconds: index < 85 ? 1 : 10, rate: index < 85 ? 100 : 10 } });
    }
    const order = (provider: object) => settledOrder({ models: ["plain"], provider });
    expect(order({ preferred_max_latency: { p75: 2 }, preferred_min_throughput: { p75: 50 } })[0]).toBe("x");
    expect(order({ preferred_max_latency: { p90: 2 } })[0]).toBe("y");
    expect(order({ preferred_min_throughput: { p90: 50 } })[0]).toBe("y");
  });
});

describe("the ejection of an endpoint", () => {
  const ejection = (name: string) => record("plain", name).ejection;
  const attempt = (name: string, how: "well" | "failed" | "neither") => {
    const watched = ejection(name).begin(decider.clock.now);
    if (how === "well") watched.committed(decider.clock.now);
    watched.end(how, decider.clock.now);
  };
  const attempts = (name: string, ...hows: ("well" | "failed" | "neither")[]) => {
    for (const how of hows) attempt(name, how);
  };
  const failures = (count: number) => Array.from({ length: count }, () => "failed" as const);
  const order = (provider?: object) => decider.order({ models: ["plain"], ...(provider && { provider }) });
  const pass = (ms: number) => void (decider.clock.now += ms);
  const half = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? ("well" as const) : ("failed" as const)));

  /** Fifteen attempts with twelve failures, never five in a row. */
  const fours = Array.from({ length: 3 }, () => [...failures(4), "well" as const]).flat();

  test.each<[string, ("well" | "failed" | "neither")[], string[]]>([
    ["four failures in a row", failures(4), ["x", "y", "z"]],
    ["five", failures(5), ["y", "z", "x"]],
    ["a success between", [...failures(4), "well", ...failures(4)], ["x", "y", "z"]],
    ["an attempt without a verdict between", [...failures(4), "neither", "failed"], ["y", "z", "x"]],
    ["half of twenty", half, ["x", "y", "z"]],
    ["more than half", [...half, "failed"], ["y", "z", "x"]],
    ["most of nineteen", [...fours, ...failures(4)], ["x", "y", "z"]],
    ["most of twenty", [...fours, "well", ...failures(4)], ["y", "z", "x"]],
  ])("puts it at the place decided by %s", (_, hows, expected) => {
    attempts("x", ...hows);
    expect(order()).toEqual(expected);
  });

  test("lasts thirty seconds and up to a fifth more, then one request at a time tries it", () => {
    attempts("x", ...failures(5));
    pass(29_999);
    expect([order()[0], ejection("x").state(decider.clock.now)]).toEqual(["y", "ejected"]);
    pass(6_001);
    expect(ejection("x").state(decider.clock.now)).toBe("on trial");
    expect([order()[0], order()[0]]).toEqual(["x", "y"]);
    const trial = ejection("x").begin(decider.clock.now);
    pass(60_000);
    expect(order()[0]).toBe("y");
    trial.committed(decider.clock.now);
    expect([order()[0], order()[0]]).toEqual(["x", "x"]);
  });

  test("gives up an unused permission for a trial after five seconds", () => {
    attempts("x", ...failures(5));
    pass(36_000);
    expect([order()[0], order()[0]]).toEqual(["x", "y"]);
    pass(5_000);
    expect(order()[0]).toBe("x");
  });

  test("lasts longer after each failed trial, at most five minutes, and shorter again after time in use", () => {
    attempts("x", ...failures(5));
    const lastsMs = () => ejection("x").remainingMs(decider.clock.now);
    for (const least of [60_000, 90_000, 120_000]) {
      pass(lastsMs());
      attempt("x", "failed");
      expect(lastsMs()).toBeGreaterThanOrEqual(least);
      expect(lastsMs()).toBeLessThanOrEqual(least * 1.2);
    }
    for (let again = 0; again < 10; again++) {
      pass(lastsMs());
      attempt("x", "failed");
    }
    expect(lastsMs()).toBeCloseTo(300_000);
    pass(300_001);
    attempt("x", "well");
    attempts("x", ...failures(5));
    expect(lastsMs()).toBeCloseTo(300_000);
    pass(300_001);
    attempt("x", "well");
    pass(300_000);
    attempts("x", ...failures(5));
    expect(lastsMs()).toBeLessThanOrEqual(36_000);
  });

  test("has another trial after one without a result", () => {
    attempts("x", ...failures(5));
    pass(36_000);
    attempt("x", "neither");
    expect(order()[0]).toBe("x");
  });

  test("does not end by a success from before, and ends by a later one", () => {
    const before = ejection("x").begin(decider.clock.now);
    pass(1);
    attempts("x", ...failures(5));
    before.committed(decider.clock.now);
    before.end("well", decider.clock.now);
    expect(order()[0]).toBe("y");
    attempt("x", "well");
    expect(order()[0]).toBe("x");
  });

  test("is tried only by requests for which the endpoint would be first", () => {
    attempts("x", ...failures(5));
    attempts("z", ...failures(5));
    pass(36_000);
    expect([order(), order()]).toEqual([
      ["x", "y", "z"],
      ["y", "x", "z"],
    ]);
  });

  test("is shown to operators", async () => {
    const registry = openMetrics("inference-svc");
    endpointMetrics(registry, () => decider.catalog, decider.records);
    const shown = async () => {
      const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("sluice_endpoint_state{"));
      return lines.map((line) => line.replace(/^.*model="(.*?)",provider="(.*?)".*} (.*)$/, "$1 $2 $3"));
    };
    expect(await shown()).toEqual([]);
    attempts("y", ...failures(1));
    expect(await shown()).toEqual(["plain a 0"]);
    attempts("y", ...failures(4));
    expect(await shown()).toEqual(["plain a 2"]);
    pass(36_000);
    expect(await shown()).toEqual(["plain a 1"]);
  });

  test("leaves out no endpoint, and keeps an order named by the caller", () => {
    for (const name of ["x", "y", "z"]) attempts(name, ...failures(5));
    expect(order()).toEqual(["x", "y", "z"]);
    expect(order({ order: ["a"] })).toEqual(["x", "y", "z"]);
    attempt("y", "well");
    expect(order()).toEqual(["y", "x", "z"]);
    expect(order({ order: ["a/default"] })).toEqual(["x", "y", "z"]);
  });
});

test("percentiles of latency are right to within 7 %, over the last five minutes", () => {
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

describe("the order by tool calls", () => {
  const exacto = { models: ["n"], provider: { sort: "exacto" as const } };
  const called = (name: string, good: number, bad: number) => {
    const { toolCalls } = record("n", name);
    for (let n = 0; n < good; n++) toolCalls.add(true, decider.clock.now);
    for (let n = 0; n < bad; n++) toolCalls.add(false, decider.clock.now);
  };
  const firsts = (request: Parameters<Decider["order"]>[0]) =>
    new Set(sessions.map((sessionId) => decider.order({ ...request, sessionId })[0]));

  test("shares the load as usual until enough calls are known, and between equal endpoints", () => {
    const usual = sessions.map((sessionId) => decider.order({ models: ["n"], sessionId }));
    const sorted = () => sessions.map((sessionId) => decider.order({ ...exacto, sessionId }));
    expect(sorted()).toEqual(usual);
    called("n-b", 10, 9);
    expect(sorted()).toEqual(usual);
    called("n-a", 300, 1);
    expect(sorted()).toEqual(usual);
  });

  test.each([exacto, { models: ["n:exacto"] }, { models: ["n"], provider: { sort: { by: "exacto" as const } } }])(
    "with %j puts the endpoint with more invalid calls behind, until time has passed",
    (request) => {
      called("n-b", 17, 3);
      expect(firsts(request)).toEqual(new Set(["n-a"]));
      called("n-a", 15, 5);
      expect(firsts(request)).toEqual(new Set(["n-b"]));
      decider.clock.now += 3_600_000;
      const orders = (asked: Parameters<Decider["order"]>[0]) =>
        sessions.map((sessionId) => decider.order({ ...asked, sessionId }));
      expect(orders(request)).toEqual(orders({ models: ["n"] }));
    },
  );
});

describe("the operator's weights and groups", () => {
  const endpoints = (...list: readonly (readonly [name: string, price: number | undefined, more: object])[]) =>
    openDecider([{ id: "m", endpoints: list.map(([name, price, more]) => pricedEndpoint(name, price, more)) }]);
  const firstShare = (of: Decider, name: string): number => {
    const draws = Array.from({ length: 4_000 }, (_, index) => of.order({ models: ["m"], sessionId: `w${index}` })[0]);
    return draws.filter((first) => first === name).length / draws.length;
  };

  test("share the load instead of prices, and a session keeps its endpoint", () => {
    const canary = endpoints(["stable", 1, { weight: 95 }], ["canary", 50, { weight: 5, provider: "b" }]);
    expect(firstShare(canary, "canary")).toBeGreaterThan(0.035);
    expect(firstShare(canary, "canary")).toBeLessThan(0.065);
    const orders = sessions.map(() => canary.order({ models: ["m"], sessionId: "one" }).join());
    expect(new Set(orders).size).toBe(1);
  });

  test("of 0, or missing where others have one, keep an endpoint for failures only", () => {
    const spare = endpoints(["used", undefined, { weight: 1 }], ["spare", 1, { weight: 0 }], ["unset", 1, {}]);
    for (const sessionId of sessions) {
      expect(spare.order({ models: ["m"], sessionId })).toEqual(["used", "spare", "unset"]);
    }
  });

  test("put groups in their order, whatever the price, until the request chooses one", () => {
    const groups = endpoints(
      ["pay-as-you-go", 1, { priority: 2 }],
      ["provisioned-a", 9, { priority: 1 }],
      ["provisioned-b", 9, { priority: 1, provider: "b" }],
    );
    for (const sessionId of sessions) {
      expect(groups.order({ models: ["m"], sessionId }).at(-1)).toBe("pay-as-you-go");
    }
    const sorted = { models: ["m"], provider: { sort: "price" } };
    expect(groups.order(sorted)[0]).toBe("pay-as-you-go");
    expect(groups.order({ models: ["m"], provider: { order: ["b"] } })[0]).toBe("provisioned-b");
  });
});
