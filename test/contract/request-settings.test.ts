/** Plugins, preferences and the other settings of a request: each limit at n and n + 1, each path. */
import { describe, expect, test } from "@jest/globals";
import { plugins } from "@sluice/proto/contract/request/plugins.js";
import { providerPreferences } from "@sluice/proto/contract/request/provider.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { parseTurnRequest, listProblems } from "../support/answers/parse-turn-request.js";

const wrong = (shape: Shape, value: unknown, path: string): readonly string[] => {
  const problems = new Problems();
  shape.check(value, path, problems);
  try {
    problems.throwIfAny();
  } catch (error) {
    const issues = (error as Fault).metadata?.["issues"] as readonly { path: string; message: string }[];
    return issues.map((issue) => `${issue.path}: ${issue.message}`);
  }
  return [];
};

const names = (count: number, length = 1) => Array<string>(count).fill("n".repeat(length));

describe("a plugin in a request", () => {
  const rules = (count: number, length = 1) => ({ rules: names(count, length) });

  test.each<[string, object, object, string]>([
    ["alignment", rules(128), rules(129), "rules: at most 128 rules"],
    ["alignment", rules(1), rules(0), "rules: at least 1 rule"],
    ["alignment", rules(1, 200), rules(1, 201), "rules.0: at most 200 characters"],
    ["alignment", rules(1), { rules: [""] }, "rules.0: at least 1 character"],
    ["alignment", rules(1), { rules: ["a\nb"] }, "rules.0: must not contain line breaks"],
    ["alignment", rules(1), {}, "rules: required"],
    ["alignment", rules(1), { ...rules(1), enabled: true }, "enabled: unknown field"],
    [
      "alignment",
      { ...rules(1), mode: "audit" },
      { ...rules(1), mode: "watch" },
      "mode: must be one of enforce, audit",
    ],
    [
      "alignment",
      { ...rules(1), max_retries: 3 },
      { ...rules(1), max_retries: 4 },
      "max_retries: must be between 0 and 3",
    ],
    ["alignment", { ...rules(1), threshold: 1 }, { ...rules(1), threshold: 0 }, "threshold: must be above 0"],
    ["alignment", { ...rules(1), threshold: 0.1 }, { ...rules(1), threshold: 1.1 }, "threshold: must be at most 1"],
    [
      "auto-router",
      { allowed_models: names(1024) },
      { allowed_models: names(1025) },
      "allowed_models: at most 1024 patterns",
    ],
    [
      "auto-router",
      { excluded_models: names(1, 1024) },
      { excluded_models: names(1, 1025) },
      "excluded_models.0: at most 1024 characters",
    ],
    [
      "auto-beta-router",
      { allowed_models: names(64, 1024) },
      { allowed_models: [...names(64, 1024), "n"] },
      "allowed_models: at most 65536 characters in total",
    ],
    [
      "auto-router",
      { cost_quality_tradeoff: 10 },
      { cost_quality_tradeoff: 11 },
      "cost_quality_tradeoff: must be between 0 and 10",
    ],
    [
      "auto-router",
      { cost_tier: "max" },
      { cost_tier: "all" },
      "cost_tier: must be one of low, medium, high, xhigh, max",
    ],
    ["context-compression", { engine: "middle-out" }, { engine: "zip" }, "engine: must be middle-out"],
    ["file-parser", { pdf: { engine: "native" } }, { pdf: { engine: 5 } }, "pdf.engine: must be a string"],
    ["fusion", { analysis_models: names(8) }, { analysis_models: names(9) }, "analysis_models: at most 8 models"],
    ["fusion", { max_tool_calls: 16 }, { max_tool_calls: 17 }, "max_tool_calls: must be between 1 and 16"],
    [
      "fusion",
      { tools: [] },
      { tools: [{ type: "x", parameters: { a: {} } }] },
      "tools.0.parameters.a: must be a string, a number, true, false, null or an array",
    ],
    ["jev-router", { cost_tier: "high" }, { cost_tier: "max" }, "cost_tier: must be one of low, medium, high"],
    ["jev-router", {}, { enabled: false }, "enabled: unknown field"],
    ["pareto-router", { min_coding_score: 1 }, { min_coding_score: 1.1 }, "min_coding_score: must be between 0 and 1"],
    [
      "switchyard-router",
      { algorithm: "stage" },
      { algorithm: "luck" },
      "algorithm: must be one of capability, stage, auto, random, composite, passthrough",
    ],
    ["web", { max_results: 25 }, { max_results: 26 }, "max_results: must be between 1 and 25"],
    ["web-fetch", { max_uses: 1 }, { max_uses: 0 }, "max_uses: must be between 1 and 50"],
    ["web-fetch", { max_uses: 50 }, { max_uses: 51 }, "max_uses: must be between 1 and 50"],
    ["moderation", {}, { enabled: 1 }, "enabled: must be true or false"],
    ["response-healing", { enabled: true }, { enabled: "yes" }, "enabled: must be true or false"],
  ])("%s is accepted with %j, but not with %j", (id, within, beyond, problem) => {
    expect(wrong(plugins, [{ id, ...within }], "plugins")).toEqual([]);
    expect(wrong(plugins, [{ id, ...beyond }], "plugins")).toEqual([`plugins.0.${problem}`]);
    // The check of a whole request finds the same problems.
    expect(listProblems({ plugins: [{ id, ...within }] })).toEqual([]);
    expect(listProblems({ plugins: [{ id, ...beyond }] })).toEqual([`plugins.0.${problem}`]);
  });

  test.each(["\n", "\v", "\f", "\r", "\u0085", "\u2028", "\u2029"])(
    "alignment has rules of one line, without %j",
    (lineBreak) => {
      const plugin = { id: "alignment", rules: [`a${lineBreak}b`] };
      expect(wrong(plugins, [plugin], "plugins")).toEqual(["plugins.0.rules.0: must not contain line breaks"]);
    },
  );

  test.each([
    ["alignment", rules(1), rules(1)],
    ["moderation", {}, { enabled: false }],
    ["web", { enabled: false }, {}],
  ])("appears only once: %s", (id, one, other) => {
    const given = [{ id, ...one }, { id: "context-compression" }, { id, ...other }];
    expect(wrong(plugins, given, "plugins")).toEqual([`plugins.2: plugin ${id} is given twice`]);
  });
});

describe("the provider preferences of a request", () => {
  test.each<[object, object, string]>([
    [{ order: ["a"] }, { order: [5] }, "order.0: must be a string"],
    [{ data_collection: "deny" }, { data_collection: "no" }, "data_collection: must be one of allow, deny"],
    [
      { sort: { by: "price", partition: "none" } },
      { sort: { by: "size" } },
      "sort.by: must be one of price, throughput, latency, exacto",
    ],
    [{ quantizations: ["fp8"] }, { quantizations: ["fp9"] }, /^quantizations\.0: must be one of /.source],
    [
      { max_price: { prompt: "0.25", image: 1 } },
      { max_price: { prompt: "free" } },
      /^max_price\.prompt: must be a number /.source,
    ],
    [
      { preferred_max_latency: { p99: 2 } },
      { preferred_max_latency: { p99: -1 } },
      "preferred_max_latency.p99: must be at least 0",
    ],
    [{ zdr: true }, { zdr: 1 }, "zdr: must be true or false or null"],
    [{ only: null }, { nobody: 1 }, "nobody: unknown field"],
    [{ max_price: {} }, { max_price: { input: 1 } }, "max_price.input: unknown field"],
    [{ sort: {} }, { sort: { order: "price" } }, "sort.order: unknown field"],
    [{ preferred_max_latency: {} }, { preferred_max_latency: { p95: 1 } }, "preferred_max_latency.p95: unknown field"],
  ])("may be %j, but not %j", (within, beyond, problem) => {
    expect(wrong(providerPreferences, within, "provider")).toEqual([]);
    const [found] = listProblems({ provider: beyond });
    if (problem.startsWith("^")) expect(found?.replace("provider.", "")).toMatch(new RegExp(problem));
    else expect(found).toBe(`provider.${problem}`);
  });
});

describe("request settings", () => {
  test.each<[object, string]>([
    [{ cache_control: { type: "eternal" } }, "cache_control.type: must be ephemeral"],
    [{ prompt_cache_options: { mode: "implicit" } }, "prompt_cache_options.mode: must be explicit"],
    [{ image_config: [] }, "image_config: must be an object"],
    [{ stop_server_tools_when: [{ type: "step_count_is" }] }, "stop_server_tools_when.0.step_count: required"],
    [
      { stop_server_tools_when: { type: "has_tool_call", tool_name: "" } },
      "stop_server_tools_when.tool_name: at least 1 character",
    ],
    [
      { stop_server_tools_when: { type: "max_cost", max_cost_in_dollars: 0 } },
      "stop_server_tools_when.max_cost_in_dollars: must be above 0",
    ],
    [{ prompt: { id: "p", variables: { v: 5 } } }, "prompt.variables.v: must be a string or a part"],
    [{ prompt: { id: "p", variables: { v: { type: "input_text" } } } }, "prompt.variables.v.text: required"],
  ])("%j are refused", (body, problem) => {
    expect(listProblems(body)).toEqual([problem]);
  });

  test("include provider preferences in every spelling; null is unset", () => {
    const preferences = (provider: object) =>
      parseTurnRequest(JSON.stringify({ model: "a/b", input: "x", provider }), {}).provider;
    expect(
      preferences({
        order: ["a", "b/fp8"],
        only: null,
        allow_fallbacks: false,
        require_parameters: true,
        data_collection: "deny",
        zdr: null,
        quantizations: ["fp8"],
        sort: { by: "price", partition: "none" },
        max_price: { prompt: "0.25", completion: 2, image: null },
        preferred_min_throughput: 50,
        preferred_max_latency: { p50: 1.5, p99: null },
      }),
    ).toEqual({
      $typeName: "sluice.inference.v1.ProviderPreferences",
      order: ["a", "b/fp8"],
      only: [],
      ignore: [],
      allowFallbacks: false,
      requireParameters: true,
      dataCollection: "deny",
      quantizations: ["fp8"],
      sortBy: "price",
      sortPartition: "none",
      maxPrice: { $typeName: "sluice.inference.v1.MaxPrice", prompt: 0.25, completion: 2 },
      preferredMinThroughput: { $typeName: "sluice.inference.v1.Percentiles", p50: 50 },
      preferredMaxLatency: { $typeName: "sluice.inference.v1.Percentiles", p50: 1.5 },
    });
    expect(preferences({ sort: "latency" })).toMatchObject({ sortBy: "latency", sortPartition: "" });
    expect(parseTurnRequest('{"model":"a/b","input":"x","provider":null}', {}).provider).toBeUndefined();
  });

  const once = { type: "step_count_is", step_count: 1 };

  test.each([1, 30, 31, 0, -1])("ignore max_tool_calls %j together with stop_server_tools_when", (max_tool_calls) => {
    expect(parseTurnRequest({ max_tool_calls, stop_server_tools_when: once })).toEqual(
      parseTurnRequest({ stop_server_tools_when: once }),
    );
  });

  test.each(["31", 1.5, true, []])(
    "refuse max_tool_calls %j of a wrong type together with stop_server_tools_when as well",
    (max_tool_calls) => {
      const says = ["max_tool_calls: must be an integer or null"];
      expect(listProblems({ max_tool_calls, stop_server_tools_when: once })).toEqual(says);
    },
  );

  test("are passed on with the turn", () => {
    const image = '{ "size":"1024x1024" }';
    const options = '{ "mode":"explicit" }';
    const body = `{"model":"a/b","input":"x","truncation":"auto","cache_control":{"type":"ephemeral"},"max_tool_calls":3,
      "image_config":${image},"prompt_cache_options":${options}}`;
    expect(parseTurnRequest(body, { identityHash: "h" })).toMatchObject({
      truncation: "auto",
      cacheControl: { ttl: "5m" },
      maxToolCalls: 3,
      imageConfigJson: image,
      promptCacheOptionsJson: options,
      identityHash: "h",
    });
  });
});
