/** Which endpoints remain for a request, and the error when none remains: the reasons, counted. */
import { describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Decider, openDecider, pricedEndpoint } from "../../features/routers/deciding.js";
import { functionTool } from "../../asking.js";

const quiet = {
  id: "quiet",
  dialect: "chat",
  base_url: "http://127.0.0.1:1/v1",
  data_policy: { retention: "none", training: false },
};
const forgetful = { ...quiet, id: "forgetful", data_policy: { retention: "none" } };
const learning = { ...quiet, id: "learning", data_policy: { retention: "none", training: true } };
const at = (prompt: string, completion: string, more: object = {}) => ({ pricing: { prompt, completion, ...more } });

const decider: Decider = openDecider(
  [
    {
      id: "m",
      context_length: 1_000,
      max_output_tokens: 100,
      endpoints: [
        { provider: "a", upstream_model: "a", quantization: "fp8", supported_parameters: ["tools", "temperature"] },
        { provider: "a", upstream_model: "a-priority", tier: "priority" },
        { provider: "b", upstream_model: "b", quantization: "int4", distillable: true, supported_parameters: [] },
        { provider: "quiet", upstream_model: "quiet" },
        { provider: "forgetful", upstream_model: "forgetful" },
        { provider: "learning", upstream_model: "learning" },
      ],
    },
    {
      id: "s",
      max_output_tokens: 100,
      endpoints: [
        { provider: "a", upstream_model: "worded", supported_parameters: ["response_format"] },
        { provider: "b", upstream_model: "enforcing", supported_parameters: ["structured_outputs"] },
      ],
    },
    {
      id: "w",
      endpoints: [{ provider: "a", upstream_model: "bare", supported_parameters: [] }],
    },
    {
      id: "p",
      context_length: 50,
      endpoints: [
        pricedEndpoint("cheap", undefined, at("1", "2")),
        pricedEndpoint("dear", undefined, at("3", "12.5")),
        pricedEndpoint("fee", undefined, at("1", "2", { request: "0.01", image: "0.02", audio: "0.03" })),
        pricedEndpoint("unknown", undefined),
      ],
    },
  ],
  [quiet, forgetful, learning],
);

const all = ["a", "b", "quiet", "forgetful", "learning"];
const many = Array.from({ length: 40 }, (_, index) => `p${index}`);
type Request = Parameters<Decider["order"]>[0];
const schema = { textFormat: { type: "json_schema", name: "n", schemaJson: "{}" } } as const;

describe("the endpoints left by the filters of a request", () => {
  test.each<[Request, string[]]>([
    [{}, all],
    [{ provider: {} }, all],
    [{ provider: { only: [], ignore: [], quantizations: [], order: [] } }, all],
    [{ provider: { only: ["b", "quiet", "nobody"] } }, ["b", "quiet"]],
    [{ provider: { only: ["a"] } }, ["a"]],
    [{ provider: { only: ["a/fp8", "b/default"] } }, ["a", "b"]],
    [{ provider: { only: ["a/int4"], ignore: [] }, models: ["m", "p"] }, []],
    [{ provider: { ignore: ["a", "b/int4"] } }, ["quiet", "forgetful", "learning"]],
    [{ provider: { only: ["a"] }, serviceTier: "priority" }, ["a-priority", "a"]],
    [{ provider: { ignore: ["a/priority"] }, serviceTier: "priority" }, all],
    [{ provider: { zdr: true } }, ["quiet", "forgetful", "learning"]],
    [{ provider: { zdr: false, data_collection: "allow" } }, all],
    [{ provider: { data_collection: "deny" } }, ["quiet"]],
    [{ provider: { enforce_distillable_text: true } }, ["b"]],
    [{ provider: { quantizations: ["fp8", "int4"] } }, ["a", "b"]],
    [{ provider: { quantizations: ["unknown"] } }, ["quiet", "forgetful", "learning"]],
    [{ tools: [functionTool()] }, ["a", "quiet", "forgetful", "learning"]],
    [{ temperature: 1, provider: { require_parameters: true } }, ["a", "quiet", "forgetful", "learning"]],
    [{ temperature: 1, topP: 1, provider: { require_parameters: true } }, ["quiet", "forgetful", "learning"]],
    [{ temperature: 1, provider: { require_parameters: false } }, all],
    [{ maxOutputTokens: 100 }, all],
    [{ maxOutputTokens: 101 }, all],
    [{ models: ["m", "p"], maxOutputTokens: 60, provider: { only: ["a"] } }, ["a"]],
    [
      { models: ["m", "p"], maxOutputTokens: 101, provider: { only: ["a"], sort: "price" } },
      ["a", "cheap", "fee", "dear", "unknown"],
    ],
    [
      { models: ["p"], maxOutputTokens: 50, provider: { only: ["a"], sort: "price" } },
      ["cheap", "fee", "dear", "unknown"],
    ],
    [
      { models: ["p"], provider: { sort: "price", max_price: { prompt: "3", completion: 12.5 } } },
      ["cheap", "fee", "dear"],
    ],
    [{ models: ["p"], provider: { sort: "price", max_price: { completion: "12.49" } } }, ["cheap", "fee"]],
    [{ models: ["p"], provider: { sort: "price", max_price: { request: "0.009" } } }, ["cheap", "dear"]],
    [
      { models: ["p"], provider: { sort: "price", max_price: { image: "0.02", audio: "0.03" } } },
      ["cheap", "fee", "dear"],
    ],
    [{ models: ["p"], provider: { sort: "price", max_price: { audio: 0.02 } } }, ["cheap", "dear"]],
    [{ models: ["s"], ...schema }, ["enforcing"]],
    [{ models: ["w", "s"], ...schema }, ["enforcing"]],
    [{ models: ["s"], ...schema, provider: { only: ["a"] } }, ["worded"]],
    [{ models: ["s"], ...schema, provider: { only: ["a"], require_parameters: true } }, []],
    [{ models: ["s"], ...schema, provider: { only: ["b"], require_parameters: true } }, ["enforcing"]],
    [{ models: ["s"], ...schema, maxOutputTokens: 101, provider: { only: ["a"] } }, ["worded"]],
    [{ models: ["s", "w"], ...schema, maxOutputTokens: 101 }, ["enforcing"]],
    [{ models: ["w"], ...schema }, ["bare"]],
    [{ models: ["w"], ...schema, tools: [functionTool()] }, []],
    [{ provider: { max_price: {} } }, all],
    [{ provider: { max_price: { prompt: null, image: null } } }, all],
  ])("meet its conditions %j", (request = {}, expected) => {
    const asked = { models: ["m"], ...request };
    if (expected.length > 0) expect(decider.order(asked)).toEqual(expected);
    else expect(decider.fault(asked).status).toBe(404);
  });
});

describe("the error when filters leave no endpoint", () => {
  const image = [
    { type: "message", role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] },
  ];
  test.each<[string, Request, Record<string, number>, string]>([
    ["only", { provider: { only: ["c"] } }, { allowed_providers: 6 }, "m has no endpoint that provider.only names"],
    [
      "ignore",
      { provider: { ignore: ["a", "b", "quiet", "forgetful", "learning"] } },
      { allowed_providers: 6 },
      "m has no endpoint that provider.ignore leaves",
    ],
    [
      "order without fallbacks",
      { provider: { order: ["c"], allow_fallbacks: false } },
      { allowed_providers: 6 },
      "m has no endpoint that provider.order names",
    ],
    [
      "zdr",
      { provider: { zdr: true, only: ["a", "b"] } },
      { allowed_providers: 3, "data_policy:zdr": 3 },
      "m has no endpoint left after data_policy:zdr, allowed_providers",
    ],
    [
      "training",
      { provider: { data_collection: "deny", ignore: ["quiet"] } },
      { allowed_providers: 1, "data_policy:zdr": 3, "data_policy:training": 2 },
      "m has no endpoint left after data_policy:zdr, allowed_providers, data_policy:training",
    ],
    [
      "distillable",
      { provider: { enforce_distillable_text: true, ignore: ["b"] } },
      { allowed_providers: 1, distillable: 5 },
      "m has no endpoint left after distillable, allowed_providers",
    ],
    [
      "modality",
      { input: image, provider: { zdr: true } },
      { "data_policy:zdr": 3, modality: 3 },
      "m has no endpoint left after data_policy:zdr, modality",
    ],
    [
      "length, where every parameter is required",
      { maxOutputTokens: 101, provider: { require_parameters: true } },
      { context_length: 6 },
      "m gives fewer than 101 tokens",
    ],
    [
      "length of a model that states none",
      { models: ["p"], maxOutputTokens: 51, provider: { require_parameters: true } },
      { context_length: 4 },
      "p gives fewer than 51 tokens",
    ],
    [
      "another reason than the length",
      { maxOutputTokens: 101, provider: { quantizations: ["bf16"] } },
      { quantization: 6 },
      "m has no endpoint of these quantizations",
    ],
    [
      "quantization",
      { provider: { quantizations: ["bf16"] } },
      { quantization: 6 },
      "m has no endpoint of these quantizations",
    ],
    [
      "tools",
      { tools: [functionTool()], provider: { only: ["b"] } },
      { allowed_providers: 5, require_parameters: 1 },
      "m has no endpoint left after allowed_providers, require_parameters",
    ],
    [
      "parameters",
      { topK: 1, provider: { require_parameters: true, only: ["a/fp8", "b"] } },
      { allowed_providers: 4, require_parameters: 2 },
      "m has no endpoint left after require_parameters, allowed_providers",
    ],
    [
      "parameters that the format has no words for",
      { verbosity: "low", provider: { require_parameters: true } },
      { require_parameters: 6 },
      "m has no endpoint that supports every parameter",
    ],
    ["price", { provider: { max_price: { prompt: 100 } } }, { max_price: 6 }, "m has no endpoint at that price"],
    [
      "tier",
      { provider: { only: ["a/priority"] } },
      { allowed_providers: 5, service_tier: 1 },
      "m has no endpoint left after allowed_providers, service_tier",
    ],
  ])("names the setting %s", (_, request = {}, excluded, message) => {
    const models = request.models ?? ["m"];
    const said = decider.fault({ ...request, models });
    expect([said.status, said.reason, said.message, said.metadata]).toEqual([
      404,
      FaultReason.NO_ENDPOINTS,
      `No endpoint can serve this request: ${message}`,
      {
        error_type: "not_found",
        availability: { code: "no_endpoints", retryable: false, requested_models: models, excluded_by: excluded },
      },
    ]);
  });

  test("counts the reasons over all models", () => {
    const said = decider.fault({ models: ["m", "p:nitro"], provider: { only: ["a"], max_price: { prompt: 0.5 } } });
    expect(said.metadata).toMatchObject({
      availability: { requested_models: ["m", "p:nitro"], excluded_by: { allowed_providers: 4, max_price: 6 } },
    });
  });

  test("is the caller's error for a setting endpoints must support", () => {
    const search = {
      type: "hosted",
      kind: "web_search",
      spelling: "web_search",
      json: '{"type":"web_search"}',
    } as const;
    const said = decider.fault({ models: ["m"], tools: [search], provider: { only: ["a", "quiet"] } });
    expect([said.status, said.metadata]).toMatchObject([400, { param: "tools.0" }]);
  });
});

test("a session shared by requests does not change their candidates", () => {
  for (const sessionId of many) {
    expect(decider.order({ models: ["p"], sessionId, provider: { max_price: { prompt: 1 } } }).toSorted()).toEqual([
      "cheap",
      "fee",
    ]);
  }
});

test("a long input is not read again for every candidate", () => {
  const dialects = ["responses", "chat", "messages", "gemini", "converse", "cohere"];
  const providers = dialects.map((dialect) => ({
    id: dialect,
    dialect,
    base_url: "http://127.0.0.1:1/v1",
    region: "us",
  }));
  const model = (id: string, each: number) => ({
    id,
    input_modalities: ["text", "image"],
    endpoints: dialects.flatMap((provider) =>
      Array.from({ length: each }, (_, index) => ({ provider, upstream_model: `${provider}-${index}` })),
    ),
  });
  const several = openDecider([model("few", 1), model("many", 10)], providers);
  const readings = (slug: string): number => {
    let count = 0;
    const message = (text: string, more: object = {}) => ({
      type: "message",
      role: "user",
      get content() {
        count++;
        return [{ type: "input_text", text, ...more }];
      },
    });
    const input = [message("Hello"), message("Bye", { cache_control: { type: "ephemeral" } })];
    expect(several.order({ models: [slug], input })).toHaveLength(slug === "few" ? 6 : 60);
    return count;
  };
  expect(readings("many")).toBe(readings("few"));
});
