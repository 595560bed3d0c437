/** A block filter finds its pattern wherever a model could read it, and a filter that cannot run stops the request. */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { inputGuardrails } from "@sluice/inference-svc/features/guardrails/input/guard.js";
import { pluginTexts } from "@sluice/inference-svc/stack.js";
import { serviceMetadata } from "@sluice/inference-svc/models/routing/records/service-metadata.js";
import type { FunctionTool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  type ContentFilter,
  FilterAction,
  GuardrailSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { FusionPluginSchema, WebPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isLinear } from "../../../support/clock.js";
import { testRequest, functionTool, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

type Filter = { pattern: string; label?: string; action?: FilterAction };

const guardrail = (...filters: readonly Filter[]) =>
  create(GuardrailSchema, {
    id: "550e8400-e29b-41d4-a716-446655440000",
    name: "g",
    contentFilters: filters.map((filter) => ({ label: "", action: FilterAction.BLOCK, ...filter })) as ContentFilter[],
  });

async function verdict(request: Parameters<typeof testRequest>[0], ...filters: readonly Filter[]) {
  const testScope = newScope({ guardrail: guardrail(...filters) });
  let passed = false;
  const turn = inputGuardrails(pluginTexts)(() => {
    passed = true;
    return new WholeAnswer([]);
  });
  const { fault } = await runTestTurn(turn, testRequest(request), testScope);
  return { fault, passed, stages: testScope.scope.trace.stages };
}

const message = (content: unknown, role = "user") => ({ input: [{ type: "message", role, content }] });
const call = (fields: object) => ({
  input: [{ type: "function_call", call_id: "a", name: "f", arguments: "{}", ...fields }],
});
const output = (value: unknown) => ({ input: [{ type: "function_call_output", call_id: "a", output: value }] });
const image = (url: string) => message([{ type: "input_image", image_url: url }]);
const shell = (fields: object) => ({ input: [{ type: "shell_call_output", call_id: "a", output: [fields] }] });
const panelTools = Buffer.from(
  '[{"type":"service:web_search","parameters":{"allowed_domains":["plutonium.example"]}}]',
);
const base64 = (text: string) => Buffer.from(text).toString("base64");
const tool = (fields: Partial<FunctionTool>) => ({ tools: [functionTool(fields)] });

describe("a guardrail's filter finds its pattern in", () => {
  test.each<[string, Partial<TurnRequest>]>([
    ["instructions", { instructions: "say plutonium" }],
    ["a text", message("plutonium")],
    [
      "a part",
      message([
        { type: "input_text", text: "a" },
        { type: "input_text", text: "plutonium" },
      ]),
    ],
    [
      "two parts of a message",
      message([
        { type: "input_text", text: "pluto" },
        { type: "input_text", text: "nium" },
      ]),
    ],
    ["an earlier answer", message([{ type: "output_text", text: "plutonium", annotations: [] }], "assistant")],
    ["an earlier refusal", message([{ type: "refusal", refusal: "plutonium" }], "assistant")],
    ["arguments", call({ arguments: '{"a":"plutonium"}' })],
    ["arguments behind an escape", call({ arguments: String.raw`{"a":["\u0070lutonium"]}` })],
    ["arguments that are not JSON", call({ arguments: "{plutonium" })],
    ["a deep argument", call({ arguments: `${"[".repeat(20_000)}"plutonium"${"]".repeat(20_000)}` })],
    ["the name of a called function", call({ name: "plutonium" })],
    ["an output", output("plutonium")],
    ["an output behind an escape", output(String.raw`"\u0070lutonium"`)],
    ["a part of an output", output([{ type: "input_text", text: "plutonium" }])],
    ["a tool's name", tool({ name: "plutonium" })],
    ["a tool's description", tool({ description: "plutonium" })],
    ["a tool's schema", tool({ parametersJson: '{"properties":{"a":{"description":"plutonium"}}}' })],
    ["a parameter's name", tool({ parametersJson: '{"properties":{"plutonium":{}}}' })],
    [
      "a parameter's name in a tool of an item",
      {
        input: [
          { type: "additional_tools", tools: [{ type: "function", parameters: { properties: { plutonium: {} } } }] },
        ],
      },
    ],
    [
      "a grammar in a tool of an item",
      { input: [{ type: "additional_tools", tools: [{ type: "custom", format: { definition: "plutonium" } }] }] },
    ],
    ["an output schema", { textFormat: { type: "json_schema", name: "n", schemaJson: '{"title":"plutonium"}' } }],
    ["a file name", message([{ type: "input_file", filename: "plutonium.pdf", file_data: "AA" }])],
    ["a link to an image", message([{ type: "input_image", image_url: "https://a.example/plutonium.png" }])],
    [
      "a replayed reasoning",
      { input: [{ type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "plutonium" }] }] },
    ],
    ["an item of a kind that nobody knows", { input: [{ type: "new_kind", body: { deep: ["plutonium"] } }] }],
    ["a text that begins as a data URL does", message("data: plutonium")],
    ["a part that does", message([{ type: "input_text", text: "data:image/png;base64,plutonium" }])],
    ["arguments that do", call({ arguments: "data:plutonium" })],
    ["a data URL of a drawing", image(`data:image/svg+xml;base64,${base64("<text>plutonium</text>")}`)],
    ["the settings of a data URL", image("data:image/png;x=plutonium;base64,AA")],
    ["what stands behind bytes", image("data:image/png;base64,AA plutonium")],
    ["a picture in what is told as JSON", shell({ type: "input_image", image_url: "data:image/png;base64,plutonium" })],
    ["a field that means something elsewhere", shell({ data: "plutonium", detail: "plutonium" })],
    ["a type that nobody knows", shell({ outcome: { type: "plutonium" } })],
    ["the name of a field", shell({ plutonium: 1 })],
    ["the name of a field of a message", { input: [{ type: "message", role: "user", content: "", plutonium: 1 }] }],
    [
      "the name of a variable",
      { input: [{ type: "local_shell_call", action: { type: "exec", command: [], env: { plutonium: "" } } }] },
    ],
    [
      "what is said of a tool that is chosen",
      { toolChoice: { type: "tool", tool: { type: "function", name: "f", note: "plutonium" } } },
    ],
    [
      "what is said of tools that are allowed",
      {
        toolChoice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "mcp", server_label: "s", name: "plutonium" }],
        },
      },
    ],
    ["a domain to search in", { plugins: { web: create(WebPluginSchema, { includeDomains: ["plutonium.example"] }) } }],
    ["a place to search from", { plugins: { web: create(WebPluginSchema, { userLocation: { city: "plutonium" } }) } }],
    ["a tool of a panel", { plugins: { fusion: create(FusionPluginSchema, { toolsJson: panelTools }) } }],
    ["zero-width characters", message("plu\u200bto\u2060ni\u00adum")],
    ["tags", message("plutonium".split("").join("\u{e0041}"))],
    ["full width", message("ｐｌｕｔｏｎｉｕｍ")],
    ["ligatures and styles", message("𝓹𝓵𝓾𝓽𝓸𝓷𝓲𝓾𝓶")],
  ])("%s", async (_, request) => {
    const { fault, passed } = await verdict(request, { pattern: "plutonium" });
    expect([fault?.reason, passed]).toEqual([FaultReason.GUARDRAIL_BLOCKED, false]);
  });

  test.each<[string, Partial<TurnRequest>]>([
    ["a field that nobody knows", shell({ stdout: "", account: 4111111111111111 })],
    ["a field of the contract", shell({ outcome: { type: "exit", exit_code: 4111111111111111 } })],
    ["arguments", { input: [{ type: "tool_search_call", arguments: { query: 4111111111111111 } }] }],
    [
      "a tool of an item",
      { input: [{ type: "additional_tools", tools: [{ parameters: { enum: [4111111111111111] } }] }] },
    ],
  ])("numbers in %s", async (_, request) => {
    const { fault } = await verdict(request, { pattern: "41{15}" });
    expect(fault?.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  });

  test.each<[where: string, request: Partial<TurnRequest>, pattern?: string]>([
    ["the bytes of an image", message([{ type: "input_image", image_url: "data:image/png;base64,plutonium" }])],
    ["the bytes of a sound", message([{ type: "input_audio", input_audio: { data: "plutonium", format: "mp3" } }])],
    ["names of the contract", message([{ type: "input_text", text: "a" }]), "type|role|input_text|detail"],
    ["the bytes of a file", message([{ type: "input_file", file_data: "plutonium" }])],
    ["sealed text", { input: [{ type: "reasoning", id: "r", summary: [], encrypted_content: "plutonium" }] }],
    ["ids", { input: [{ type: "function_call_output", id: "plutonium", call_id: "plutonium", output: "" }] }],
    ["other case", message("PLUTONIUM")],
  ])("its text, and has no match in %s", async (_, request, pattern = "plutonium") => {
    expect((await verdict(request, { pattern })).passed).toBe(true);
  });
});

describe("a guardrail's refusal", () => {
  test("names the label or else the pattern, of all matches, in the order of the filters", async () => {
    const { fault, stages } = await verdict(
      message("alpha BETA gamma"),
      { pattern: "(?i)beta", label: "greek" },
      { pattern: "delta" },
      { pattern: "^al" },
    );
    expect([fault?.status, fault?.message, fault?.metadata]).toEqual([
      403,
      "Request blocked by content filter: greek",
      { patterns: ["greek", "^al"] },
    ]);
    expect(stages).toEqual([
      {
        type: "guardrail",
        name: "content-filter",
        guardrail_id: "550e8400-e29b-41d4-a716-446655440000",
        guardrail_scope: "api-key",
        summary: "Blocked: 2 patterns",
        data: { action: "blocked", detected: true, engines: ["regex"], patterns: ["greek", "^al"] },
      },
    ]);
  });

  test("does not happen without a match or without a guardrail", async () => {
    expect(await verdict(message("alpha"), { pattern: "beta" })).toEqual({
      fault: undefined,
      passed: true,
      stages: [],
    });
    expect(await verdict(message("alpha"))).toMatchObject({ passed: true });
  });

  test("has the possible endpoints in its receipt, without a call", async () => {
    const engine = openEngine(testConfig({ url: "http://127.0.0.1:1" }));
    const testScope = newScope({ guardrail: guardrail({ pattern: "Hi" }) });
    const { fault, rejected } = await runTestTurn(engine.turn, testRequest(), testScope);
    expect([fault?.reason, rejected]).toEqual([FaultReason.GUARDRAIL_BLOCKED, true]);
    expect(serviceMetadata(testScope.scope.trace, { requested: "acme/large-2", region: "local" })).toMatchObject({
      attempt: 0,
      endpoints: { available: [{ model: "acme/large-2", provider: "Acme", selected: false }], total: 1 },
      pipeline: [{ type: "guardrail", summary: "Blocked: 1 pattern" }],
      summary: "available=1",
    });
    await engine.upstreams.close();
  });
});

describe("a guardrail's filter that cannot be applied", () => {
  test.each<[string, Filter]>([
    ["a pattern that does not compile", { pattern: "(" }],
    ["look-around", { pattern: "(?=a)b" }],
    ["a back-reference", { pattern: String.raw`(a)\1` }],
    ["an action that is not known here", { pattern: "a", action: JSON.parse("99") as FilterAction }],
    ["no action", { pattern: "a", action: FilterAction.UNSPECIFIED }],
  ])("because of %s is 503, and is never skipped", async (_, filter) => {
    const { fault, passed } = await verdict(message("harmless"), filter);
    expect([fault?.status, fault?.reason, passed]).toEqual([503, FaultReason.UNAVAILABLE, false]);
    expect(fault).toBeInstanceOf(Fault);
  });
});

test("patterns with exponential time in other engines take linear time here", async () => {
  const judge = async (length: number) => {
    const text = `${"a".repeat(length)}!`;
    expect(await verdict(message(text), { pattern: "(a+)+$" }, { pattern: "(a|aa)+b" })).toMatchObject({
      passed: true,
    });
  };
  expect(await isLinear(1_000, judge)).toBe(true);
});
