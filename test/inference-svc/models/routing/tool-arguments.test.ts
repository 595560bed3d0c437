/** An endpoint is measured by the tool calls of its answers: valid JSON that fits the schema of the function. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ToolCallMeter } from "@sluice/inference-svc/models/routing/attempt/tool-arguments.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { ToolCallSuccess } from "@sluice/inference-svc/models/routing/records/tool-calls.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { type Upstream, chatChunk, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, functionTool, testConfig, openEngine, runTestTurn } from "../../asking.ts";
import { preferencesOf } from "../../features/routers/deciding.ts";

const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
  additionalProperties: false,
};
const weather = functionTool({ name: "weather", parametersJson: JSON.stringify(parameters) });
const anything = functionTool({ name: "anything" });

describe("the arguments of a tool call", () => {
  const shareOf = (item: object): number | undefined => {
    const success = new ToolCallSuccess();
    const meter = ToolCallMeter.of(testRequest({ tools: [weather, anything] }), success, () => 0);
    const event = { type: "item.end", index: 0, item: { type: "function_call", ...item } } as TurnEvent;
    for (let n = 0; n < 20; n++) meter?.note([event]);
    return success.share(0);
  };
  const deep = `{"city":${"[".repeat(300)}${"]".repeat(300)}}`;

  test.each<[object, number | undefined]>([
    [{ name: "weather", arguments: '{"city":"Ulm","days":2}' }, 1],
    [{ name: "weather", arguments: '{"city":"Ulm","days":"2"}' }, 0],
    [{ name: "weather", arguments: '{"town":"Ulm"}' }, 0],
    [{ name: "weather", arguments: '{"city":"Ulm"' }, 0],
    [{ name: "weather", arguments: "" }, 0],
    [{ name: "weather", arguments: '["Ulm"]' }, 0],
    [{ name: "weather", arguments: deep }, 0],
    [{ name: "anything", arguments: "" }, 1],
    [{ name: "anything", arguments: '{"x":1}' }, 1],
    [{ name: "unheard_of", arguments: "{}" }, 0],
    [{ name: "weather", arguments: `{"city":"${"x".repeat(70_000)}"}` }, undefined],
    [{ name: "weather", arguments: '{"ci', status: "incomplete" }, undefined],
    [{ type: "custom_tool_call", name: "weather", input: "?" }, undefined],
  ])("are checked against the schema: %j", (item, share) => {
    expect(shareOf(item)).toBe(share);
  });

  test("are not counted with a schema that cannot be checked", () => {
    const success = new ToolCallSuccess();
    const tool = functionTool({ name: "f", parametersJson: '{"$ref":"https://example.com/schema"}' });
    const item = { type: "function_call", id: "fc_1", name: "f", arguments: "{}" };
    const meter = ToolCallMeter.of(testRequest({ tools: [tool] }), success, () => 0);
    for (let n = 0; n < 20; n++) meter?.note([{ type: "item.end", index: 0, item }]);
    expect(success.share(0)).toBeUndefined();
  });

  test("are not counted in a request without functions", () => {
    expect(ToolCallMeter.of(testRequest(), new ToolCallSuccess(), () => 0)).toBeUndefined();
  });
});

describe("arguments of tool calls over sockets", () => {
  let good: Upstream;
  let bad: Upstream;
  let engine: Engine;
  const calls = (text: string) => {
    const call = { index: 0, id: "c", type: "function", function: { name: "weather", arguments: text } };
    const sse = [chatChunk({ role: "assistant", tool_calls: [call] }), chatChunk({}, "tool_calls"), "[DONE]"];
    return { chunks: [{ sse }] };
  };
  beforeEach(async () => {
    good = await startUpstream([calls('{"city":"Ulm"}')]);
    bad = await startUpstream([calls('{"town":"Ulm"}')]);
    const models = [{ id: "m", endpoints: [{ provider: "bad" }, { provider: "good" }] }];
    const providers = Object.entries({ good, bad }).map(([id, { url }]) => ({
      id,
      dialect: "chat",
      base_url: `${url}/v1`,
    }));
    engine = openEngine(testConfig({ providers, models }), new EndpointRecords());
  });
  afterEach(async () => {
    await engine.upstreams.close();
    await Promise.all([good.stop(), bad.stop()]);
  });

  test("move requests with sort exacto to another endpoint after twenty calls that do not fit their schema", async () => {
    // The weight of a call falls with time, so more than twenty calls are needed.
    const runRequest = () =>
      runTestTurn(
        engine.turn,
        testRequest({ models: ["m"], tools: [weather], provider: preferencesOf({ sort: "exacto" }) }),
      );
    for (let n = 0; n < 19; n++) await runRequest();
    expect([bad.requests.length, good.requests.length]).toEqual([19, 0]);
    for (let n = 0; n < 4; n++) await runRequest();
    expect(good.requests.length).toBeGreaterThan(0);
    expect(bad.requests.length).toBeGreaterThanOrEqual(20);
  });
});
