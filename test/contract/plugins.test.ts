/** Each plugin is described in one place, and its message carries every setting that its shape accepts. */
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { type PluginJson, pluginJson, pluginMessages } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { FusionPluginSchema, PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ObjectShape } from "@sluice/proto/lib/validation/shape.js";

/** Every setting sent to inference-svc, with a value other than its default. */
const settings: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  alignment: { rules: ["no jokes"], mode: "audit", instruct: false, max_retries: 0, threshold: 0.5 },
  "auto-router": {
    allowed_models: ["a/*"],
    excluded_models: ["a/b"],
    cost_tier: "low",
    cost_quality_tradeoff: 0,
    pin_model: true,
  },
  "auto-beta-router": {
    allowed_models: ["a/*"],
    excluded_models: ["a/b"],
    cost_tier: "low",
    cost_quality_tradeoff: 0,
  },
  "context-compression": { enabled: false, engine: "middle-out" },
  "file-parser": { pdf: { engine: "markdown" } },
  fusion: {
    analysis_models: ["a/b", "c/d"],
    model: "a/b",
    preset: "general-fast",
    max_tool_calls: 2,
    tools: [{ type: "service:datetime", parameters: { timezone: null } }],
  },
  "jev-router": { cost_tier: "high", models: ["a/*"], allowed_models: ["b/*"], excluded_models: ["b/c"] },
  moderation: {},
  "pareto-router": { max_price: 0, min_coding_score: 0.5, price_source: "weighted_avg" },
  "response-healing": {},
  "switchyard-router": { algorithm: "stage" },
  web: {
    engine: "native",
    max_results: 3,
    max_uses: 1,
    search_prompt: "",
    include_domains: ["a.example"],
    exclude_domains: ["b.example"],
    user_location: { city: "Bern", country: "CH", region: "BE", timezone: "Europe/Zurich" },
  },
  "web-fetch": {
    allowed_domains: ["a.example"],
    blocked_domains: ["b.example"],
    max_content_tokens: 9,
    max_uses: 1,
    fetch_prompt: "p",
  },
};

/** Settings that are accepted without an effect; a plugin with `enabled: false` is left out of the message. */
const notCarried: Readonly<Record<string, readonly string[]>> = { web: ["mode", "x_search"] };

const fieldsOf = (id: string): readonly string[] => Object.keys((pluginContracts[id]!.shape as ObjectShape).fields);

describe.each(Object.keys(pluginContracts))("the plugin %s", (id) => {
  const json = { id, ...settings[id] } as PluginJson;

  test("is unchanged when its message is read back as JSON", () => {
    const [message] = pluginMessages([json]);
    expect(pluginJson(message!)).toEqual(json);
  });

  test("keeps every setting in its message", () => {
    const lost = fieldsOf(id).filter((name) => !["id", "enabled"].includes(name) && !(name in settings[id]!));
    expect(lost).toEqual(notCarried[id] ?? []);
  });

  test("is a message without settings when only its id is given", () => {
    const [message] = pluginMessages([{ id }]);
    const value = message!.plugin.value!;
    expect(toBinary(pluginContracts[id]!.descriptor, value)).toHaveLength(0);
  });
});

test("a plugin setting of null is unset", () => {
  const [web] = pluginMessages([{ id: "web", user_location: null, max_results: null }]);
  expect(pluginJson(web!)).toEqual({ id: "web" });
});

test("a disabled plugin is left out of the message, unless it runs by default", () => {
  const off = Object.keys(pluginContracts).flatMap((id) => pluginMessages([{ id, enabled: false }]).map(() => id));
  expect(off).toEqual(["context-compression", "file-parser"]);
});

test("plugin bytes that are no JSON are read as null, and refused by the check", () => {
  const value = create(FusionPluginSchema, { toolsJson: new TextEncoder().encode("[") });
  const message = create(PluginSchema, { plugin: { case: "fusion", value } });
  expect(pluginJson(message)).toEqual({ id: "fusion", tools: null });
});

test("every case of the Plugin message is a known plugin", () => {
  const cases = PluginSchema.fields.map(({ message }) => message?.typeName);
  const described = Object.values(pluginContracts).map(({ descriptor }) => descriptor.typeName);
  expect(new Set(described)).toEqual(new Set(cases));
});
