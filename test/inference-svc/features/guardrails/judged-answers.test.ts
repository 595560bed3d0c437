/** Rules in words applied to calls without deltas in the stream. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppliesTo, FilterAction, JudgeRuleSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Upstream, chatAnswer, responsesAnswer, startUpstream } from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, itemsOf, newScope, openEngine, runTestTurn } from "../../asking.js";
import { guardrailOf } from "./gating.js";
import { type ItemKind, streamOf } from "../../models/dialects/item-stories.js";

let provider: Upstream;
let judge: Upstream;
let engine: Engine;

beforeAll(async () => {
  [provider, judge] = await Promise.all([startUpstream(), startUpstream()]);
  const file = testConfig({
    providers: [
      { id: "acme", dialect: "responses", base_url: `${provider.url}/v1`, api_keys: ["k"] },
      { id: "judge", dialect: "chat", base_url: `${judge.url}/v1` },
    ],
    models: [
      { id: "acme/a", endpoints: [{ provider: "acme" }] },
      { id: "acme/judge", endpoints: [{ provider: "judge" }] },
    ],
  });
  const { internal_models } = configSchema.parse({
    internal_models: { guard_judge: { model: "acme/judge", cache_ttl_s: 0 } },
  });
  engine = openEngine({ ...file, internal_models });
});
afterAll(async () => {
  await engine?.upstreams.close();
  await Promise.all([provider?.stop(), judge?.stop()]);
});

const call = (type: string, fields: object): ItemKind => ({
  type,
  story: { item: { status: "completed", ...fields } },
});

const calls: readonly ItemKind[] = [
  call("shell_call", { call_id: "c", action: { commands: ["ls", "rm -rf /home"] } }),
  call("web_search_call", { action: { type: "search", query: "rm -rf /home", sources: [{ type: "url", url: "u" }] } }),
  call("mcp_approval_request", { name: "run", server_label: "s", arguments: '{"command":"rm -rf /home"}' }),
];

async function judged(kind: ItemKind, stream: boolean, probability: number) {
  const item = { type: kind.type, id: "item_0", ...kind.story.item };
  provider.script([stream ? { chunks: [{ sse: streamOf([kind]) }] } : responsesAnswer(item)]);
  const verdict = { evidence: "x", verdict: probability > 0.5 ? "broken" : "followed", probability };
  judge.script([chatAnswer({ content: JSON.stringify(verdict) })]);
  const rule = create(JudgeRuleSchema, { rule: "Deletes nothing.", action: FilterAction.BLOCK, threshold: 0.7 });
  const guardrail = guardrailOf([], { appliesTo: AppliesTo.OUTPUT });
  guardrail.judgeRules = [rule];
  return runTestTurn(engine.turn, testRequest({ models: ["acme/a"], stream }), newScope({ guardrail }));
}

describe.each([true, false])("an answer with a judge (stream: %s)", (stream) => {
  test.each(calls.map((kind) => [kind.type, kind] as const))(
    "has %s judged before it is delivered",
    async (_, kind) => {
      const { events, fault } = await judged(kind, stream, 0.9);
      expect([fault?.status, JSON.stringify(events)]).toEqual([403, expect.not.stringContaining("rm -rf")]);
      expect(judge.requests.at(-1)?.body).toContain("rm -rf /home");
      const allowed = await judged(kind, stream, 0.1);
      expect(allowed.fault).toBeUndefined();
      if (stream) expect(itemsOf(allowed.events)).toMatchObject([kind.story.item]);
    },
  );
});
