/** Candidates are found once for requests that require the same of an endpoint. */
import { expect, test } from "@jest/globals";
import { CandidateMemo } from "@sluice/inference-svc/models/routing/choose/candidate-memo.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { slug } from "@sluice/proto/config/scalars.js";
import { create } from "@bufbuild/protobuf";
import { testRequest, functionTool } from "../../asking.js";

/** Counts the searches for candidates. */
function counted() {
  const memo = new CandidateMemo();
  const caller = create(CallerSchema, { keyHash: "a" });
  let count = 0;
  const find = (request: TurnRequest, by = caller) => {
    const before = count;
    memo.find(request, by, () => {
      count++;
      return { groups: [], excluded: new Map() };
    });
    return count > before ? "looked for" : "known";
  };
  return { find };
}

const parts = (...content: readonly object[]) => ({ input: [{ type: "message", role: "user", content }] });
const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };

test.each<[string, Partial<TurnRequest>]>([
  ["another text", { input: [{ type: "message", role: "user", content: "Bye" }] }],
  ["parts of text", parts({ type: "input_text", text: "Hi" })],
  ["calls of functions", { input: [call, { type: "function_call_output", call_id: "a", output: "1" }] }],
  ["samplers, a session and no stream", { temperature: 1, sessionId: "s", stream: false }],
  ["a plain text format", { textFormat: { type: "text" } }],
])("a repeated request with %s reuses the list of candidates", (_, fields) => {
  const { find } = counted();
  find(testRequest());
  expect(find(testRequest(fields))).toBe("known");
});

test.each<[string, Partial<TurnRequest>]>([
  ["another model", { models: ["acme/small"] }],
  ["tools", { tools: [functionTool()] }],
  ["a longest answer", { maxOutputTokens: 7 }],
])("a request with %s has separate candidates, which are remembered afterwards", (_, fields) => {
  const { find } = counted();
  find(testRequest());
  expect([find(testRequest(fields)), find(testRequest(fields))]).toEqual(["looked for", "known"]);
});

test.each<[string, Partial<TurnRequest>]>([
  ["preferences", { provider: create(ProviderPreferencesSchema, { only: ["acme"] }) }],
  ["a tier", { serviceTier: "flex" }],
  ["a schema", { textFormat: { type: "json_schema", name: "a", schemaJson: "{}" } }],
  ["images", { outputModalities: ["image"] }],
  ["plugins", { plugins: {} }],
  ["a hosted tool", { tools: [{ type: "hosted", kind: "service:web_search", spelling: "web_search", json: "{}" }] }],
  ["a named tool", { toolChoice: { type: "tool", tool: { type: "function", name: "f" } } }],
  ["a picture", parts({ type: "input_image", image_url: "data:image/png;base64,AA==" })],
  ["a cache mark", parts({ type: "input_text", text: "Hi", cache_control: { type: "ephemeral" } })],
  ["tools in an item", { input: [{ type: "additional_tools", tools: [] }] }],
  [
    "a picture as output",
    { input: [{ type: "function_call_output", call_id: "a", output: [{ type: "input_image" }] }] },
  ],
])("the candidates of a request with %s are computed each time", (_, fields) => {
  const { find } = counted();
  expect([find(testRequest(fields)), find(testRequest(fields))]).toEqual(["looked for", "looked for"]);
});

test("a changed policy of a caller starts with new candidates", () => {
  const { find } = counted();
  find(testRequest());
  expect(find(testRequest(), create(CallerSchema, { keyHash: "a" }))).toBe("looked for");
});

test("a slug with a blank is unknown, and its refusal is not reused for similar slugs", () => {
  expect(slug.safeParse("acme/large acme/small").success).toBe(false);
  const memo = new CandidateMemo();
  const caller = create(CallerSchema, { keyHash: "a" });
  const refused = testRequest({ models: ["acme/large acme/small"] });
  expect(() =>
    memo.find(refused, caller, () => {
      throw new Error("not in the catalogue");
    }),
  ).toThrow("not in the catalogue");
  const known = { groups: [], excluded: new Map() };
  expect(memo.find(testRequest({ models: ["acme/large", "acme/small"] }), caller, () => known)).toBe(known);
});

test("the candidates of a caller with ever changing limits take bounded memory", () => {
  const { find } = counted();
  for (let limit = 1; limit <= 64; limit++) find(testRequest({ maxOutputTokens: limit }));
  expect(find(testRequest({ maxOutputTokens: 1 }))).toBe("known");
  find(testRequest({ maxOutputTokens: 65 }));
  expect(find(testRequest({ maxOutputTokens: 1 }))).toBe("looked for");
});
