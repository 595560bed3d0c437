/** A plain request needs only the plain features, and every other request is checked by each feature. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { isPlain } from "@sluice/inference-svc/features/applies.js";
import { endpointFeatures, features, plainFeatures } from "@sluice/inference-svc/stack.js";
import type { Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { type Caller, CallerSchema, GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { ParameterValues } from "@sluice/proto/contract/request/parameters.js";
import { ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { functionTool, testRequest } from "../asking.ts";

const plainCaller = create(CallerSchema, { keyHash: "a", hasBudget: true });
const endpoint = { model: "acme/large-2", contextLength: 100_000 } as Endpoint;

const message = (...content: readonly object[]) => ({ input: [{ type: "message", role: "user", content }] });
const call = { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: "{}", status: "completed" };
const output = { type: "function_call_output", call_id: "a", output: "1" };

/** Fields that make a request need a feature, and fields that layers fill in. */
type Special =
  | "models"
  | "input"
  | "tools"
  | "plugins"
  | "imageConfigJson"
  | "extraFields"
  | "mayKeepContent"
  | "embedding";
type OfLayers = "sources" | "foundFiles" | "pages" | "files" | "fused";

/** All other fields: a new request field is added here, and the test fails if a feature depends on it. */
const plainSettings: Required<Omit<TurnRequest, Special | OfLayers | keyof ParameterValues>> = {
  stream: false,
  instructions: "Be brief",
  parallelToolCalls: true,
  toolChoice: "none",
  textFormat: { type: "json_schema", name: "a", schemaJson: "{}" },
  verbosity: "low",
  reasoning: { effort: "low" },
  include: ["reasoning.encrypted_content"],
  outputModalities: ["image"],
  sessionId: "s",
  promptCacheKey: "k",
  promptCacheOptionsJson: "{}",
  serviceTier: "flex",
  provider: create(ProviderPreferencesSchema, { only: ["acme"] }),
  maxToolCalls: 3,
  stopServerToolsWhen: [{ type: "step_count_is", step_count: 1 }],
  truncation: "disabled",
  cacheControl: { ttl: "5m" },
  predictionJson: "{}",
  anthropicBetas: ["a"],
  contextManagementJson: "{}",
  door: "chat",
  identityHash: "h",
  identityField: "user",
  ignoredFields: ["a"],
  echoUpstreamBody: true,
  serviceMetadata: true,
};

describe.each<[string, Partial<TurnRequest>]>([
  ["a text", {}],
  ["parts of text", message({ type: "input_text", text: "https://a.example" }, { type: "input_text", text: "Hi" })],
  [
    "an answer with a citation",
    message({ type: "output_text", text: "Hi", annotations: [{ type: "url_citation", url: "https://a.example" }] }),
  ],
  ["a call of a function", { tools: [functionTool()], input: [call, output] }],
  ["every setting but those of features", { temperature: 1, ...plainSettings }],
])("a plain request of %s", (_, fields) => {
  const request = testRequest(fields);

  test("needs the plain features only", () => {
    expect(isPlain(request, plainCaller)).toBe(true);
    expect(features.filter(({ applies }) => applies(request, plainCaller))).toEqual(plainFeatures);
  });

  test("needs no feature at an endpoint with a large window", () => {
    expect(endpointFeatures.filter(({ applies }) => applies(request, endpoint)).map(({ id }) => id)).toEqual([]);
  });
});

const hosted = { type: "hosted", kind: "service:web_search", spelling: "web_search", json: "{}" } as const;

test.each<[string, Partial<TurnRequest>]>([
  ["plugins", { plugins: {} }],
  ["a hosted tool", { tools: [functionTool(), hosted] }],
  ["a picture", message({ type: "input_image", image_url: "https://a.example/a.png" })],
  ["a file", message({ type: "input_file", file_url: "https://a.example/a.pdf" })],
  ["an unknown field of a part", message({ type: "input_text", text: "Hi", image_url: "https://a.example" })],
  ["an unknown field of an item", { input: [{ type: "message", role: "user", content: "Hi", data: "https://a" }] }],
  ["an object for the name of a message", { input: [{ type: "message", content: "Hi", name: { url: "https://a" } }] }],
  ["an output with parts", { input: [call, { ...output, output: [{ type: "input_image" }] }] }],
  ["a call of a server tool", { input: [{ type: "service:datetime", id: "a" }] }],
  ["a summary", { input: [{ type: "compaction", id: "a" }] }],
  ["options for images", { imageConfigJson: "{}" }],
  ["fields outside of the contract", { extraFields: { a: "1" } }],
  ["a router", { models: ["acme/large-2", "service/auto"] }],
  ["a model with web search", { models: ["acme/large-2:online"] }],
  ["content for its trace", { mayKeepContent: true }],
])("a request with %s is not plain", (_, fields) => {
  expect(isPlain(testRequest(fields), plainCaller)).toBe(false);
});

test("no request of a key with a guardrail is plain", () => {
  const guarded: Caller = { ...plainCaller, guardrail: create(GuardrailSchema, { id: "g" }) };
  expect(isPlain(testRequest(), guarded)).toBe(false);
});

test.each<[string, readonly string[], Partial<TurnRequest>]>([
  ["a picture", ["image-downloads", "file-parser"], message({ type: "input_image", image_url: "https://a.example" })],
  ["a hosted tool", ["client-tools"], { tools: [hosted] }],
  ["truncation", ["context-compression"], { truncation: "auto" }],
])("a request with %s needs %j of each endpoint", (_, ids, fields) => {
  const request = testRequest(fields);
  expect(endpointFeatures.filter(({ applies }) => applies(request, endpoint)).map(({ id }) => id)).toEqual(ids);
});
