/** The answer of each panel model is scanned as one text: a guardrail's match is withheld from every event, in any number of messages. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { FusionPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import {
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, itemsOf, newScope, openEngine, runTestTurn } from "../../asking.ts";
import { type Filter, blockFilter, flagFilter, guardrailOf, redactFilter } from "../guardrails/gating.ts";

let panel: Upstream;
let lead: Upstream;
let engine: Engine;

beforeAll(async () => {
  [panel, lead] = await Promise.all([startUpstream(), startUpstream()]);
  const file = testConfig({
    providers: [
      { id: "panel", dialect: "chat", base_url: `${panel.url}/v1` },
      { id: "lead", dialect: "chat", base_url: `${lead.url}/v1` },
    ],
    models: [
      { id: "acme/a", endpoints: [{ provider: "panel" }] },
      { id: "acme/lead", endpoints: [{ provider: "lead" }] },
    ],
  });
  const presets = { "general-high": { analysis_models: ["acme/a"], model: "acme/lead" } };
  engine = openEngine({ ...file, fusion: { presets } });
});
afterAll(async () => {
  await engine?.upstreams.close();
  await Promise.all([panel?.stop(), lead?.stop()]);
});

const analysis = { consensus: ["x"], contradictions: [], partial_coverage: [], unique_insights: [], blind_spots: [] };

beforeEach(() => {
  lead.script([chatAnswer({ role: "assistant", content: JSON.stringify(analysis) }), chatStream("The whole.")]);
});

async function asked(deltas: readonly object[], filter: Filter) {
  panel.script([{ chunks: [{ sse: [...deltas.map((delta) => chatChunk(delta)), chatChunk({}, "stop"), "[DONE]"] }] }]);
  const asker = newScope({ guardrail: guardrailOf([filter]) });
  const { events, fault } = await runTestTurn(engine.turn, testRequest({ models: ["service/fusion"] }), asker);
  const told = (step: string) =>
    events.flatMap((event) =>
      event.type === "native" && event.name === `response.fusion_call.${step}`
        ? [JSON.parse(event.payloadJson) as Record<string, unknown>]
        : [],
    );
  const said = (step: string) =>
    told(step)
      .map(({ delta }) => delta)
      .join("");
  const deeds = asker.scope.trace.stages.filter(({ type }) => type === "guardrail").map(({ data }) => data?.["action"]);
  return { events, fault, told, said, deeds };
}

const inTwo = {
  messages: [{ content: "It is plu" }, { reasoning_content: "Hm" }, { content: "tonium now" }],
  thoughts: [{ reasoning_content: "It is plu" }, { content: "Hm" }, { reasoning_content: "tonium now" }],
};

test("an answer of the fusion panel is redacted, in the events and in the item", async () => {
  const { events, fault, told, said, deeds } = await asked(inTwo.messages, redactFilter("plu\\s+tonium", "<m>"));
  expect([fault, said("panel.delta")]).toEqual([undefined, "It is <m> now"]);
  expect(told("panel.completed")).toEqual([{ model: "acme/a", content: "It is <m> now" }]);
  expect(itemsOf(events)[0]).toMatchObject({ responses: [{ model: "acme/a", content: "It is <m> now" }] });
  expect(deeds).toEqual(["redacted"]);
});

test("a blocked answer of the fusion panel is not shown", async () => {
  const { events, told, deeds } = await asked(inTwo.messages, blockFilter("plu\\s*tonium", "<m>"));
  expect(told("panel.failed")).toMatchObject([{ error: "Response blocked by content filter: <m>", status_code: 403 }]);
  expect(JSON.stringify(events)).not.toMatch(/It is plu|tonium/);
  expect(deeds).toEqual(["blocked"]);
});

test("an answer of the fusion panel blocked after a tool call is not shown, and the reason is", async () => {
  const call = { index: 0, id: "c1", type: "function", function: { name: "service_datetime", arguments: "{}" } };
  panel.script([
    { chunks: [{ sse: [chatChunk({ tool_calls: [call] }), chatChunk({}, "tool_calls"), "[DONE]"] }] },
    chatStream("It is plutonium"),
  ]);
  const fusion = create(FusionPluginSchema, { toolsJson: Buffer.from('[{"type":"service:datetime"}]') });
  const asker = newScope({ guardrail: guardrailOf([blockFilter("plutonium", "<m>")]) });
  const { events } = await runTestTurn(
    engine.turn,
    testRequest({ models: ["service/fusion"], plugins: { fusion } }),
    asker,
  );
  expect(itemsOf(events)[0]).toMatchObject({
    failed_models: [{ model: "acme/a", error: "Blocked by a guardrail: <m>", status_code: 403 }],
  });
});

test("separate texts of reasoning in a fusion panel are scanned together, and shown apart", async () => {
  const apart = await asked(inTwo.thoughts, redactFilter("plutonium", "<m>"));
  expect(apart.said("panel.reasoning.delta")).toBe("It is plu\n\ntonium now");
  const redacted = await asked(inTwo.thoughts, redactFilter("plu\\s*tonium", "<m>"));
  expect(redacted.said("panel.reasoning.delta")).toBe("It is <m> now");
});

test("a flagged match in the fusion panel is reported once", async () => {
  const { deeds } = await asked([{ reasoning_content: "It is plutonium" }, { content: "Hm" }], flagFilter("plutonium"));
  expect(deeds).toEqual(["flagged"]);
});
