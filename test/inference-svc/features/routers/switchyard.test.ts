/** service/switchyard: recognized tool actions, scores from signals, and the first model of each algorithm. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { parsePrediction, findTaskTier } from "@sluice/inference-svc/features/routers/switchyard/success-predictor.js";
import { estimateLocally } from "@sluice/inference-svc/features/routers/switchyard/local-estimate.js";
import {
  type Signals,
  signalsOf,
  stageVerdict,
} from "@sluice/inference-svc/features/routers/switchyard/stage-score.js";
import {
  type ToolAction,
  toolActionOf,
  findToolOutcome,
} from "@sluice/inference-svc/features/routers/switchyard/tools.js";
import { estimateDifficulty } from "@sluice/inference-svc/models/routing/choose/difficulty.js";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  ProviderPreferencesSchema,
  SwitchyardRouterPluginSchema,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { isLinear } from "../../../support/clock.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.ts";
import { openDecider } from "./deciding.ts";
import { type TestScope, type Engine, testRequest, newScope, openEngine, runTestTurn } from "../../asking.ts";

const user = (content: unknown): InputItem => ({ type: "message", role: "user", content });
const call = (name: string, id = name, args = "{}"): InputItem => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: args,
});
const output = (id: string, said: unknown, more: object = {}): InputItem => ({
  type: "function_call_output",
  call_id: id,
  output: said,
  ...more,
});
const shell = (...commands: string[]): InputItem => ({ type: "shell_call", call_id: "s", action: { commands } });
const shellOutput = (outcome: object, said = {}): InputItem => ({
  type: "shell_call_output",
  call_id: "s",
  output: [{ stdout: "", stderr: "", outcome, ...said }],
});

describe("an item of a conversation for the switchyard router", () => {
  test.each<[InputItem, ToolAction | undefined]>([
    [{ type: "apply_patch_call", call_id: "p", operation: {} }, "write"],
    [call("write_file"), "write"],
    [call("updatePlan"), "plan"],
    [call("readFile"), "read"],
    [call("web.search"), "read"],
    [call("send_mail"), "other"],
    [call("already"), "other"],
    [shell("cat a.txt | wc"), "read"],
    [shell("npm test"), "other"],
    [shell("cd x", "echo hi > a.txt"), "write"],
    [shell("sed -i s/a/b/ x"), "write"],
    [{ type: "local_shell_call", id: "l", action: { command: ["git", "diff"] } }, "read"],
    [{ type: "web_search_call", id: "w" }, "read"],
    [output("x", "y"), undefined],
    [user("x"), undefined],
  ])("%j is recognized as the action %s", (item, deed) => {
    expect(toolActionOf(item)).toBe(deed);
  });
});

describe("a tool result for the switchyard router", () => {
  test.each<[number, InputItem]>([
    [0, shellOutput({ type: "exit", exit_code: 0 })],
    [0, shellOutput({ type: "exit", exit_code: 1 })],
    [0.7, shellOutput({ type: "exit", exit_code: 1 }, { stderr: "no" })],
    [0.7, shellOutput({ type: "exit", exit_code: 127 })],
    [0.7, shellOutput({ type: "timeout" })],
    [0.7, { type: "apply_patch_call_output", call_id: "p", status: "failed", output: "" }],
    [0, { type: "apply_patch_call_output", call_id: "p", status: "completed" }],
    [0.7, output("x", "half", { status: "incomplete" })],
    [0.7, output("x", '{"error":"nothing there"}')],
    [0, output("x", '{"error":null,"rows":3}')],
    [0.7, output("x", '{"metadata":{"exit_code":2},"output":""}')],
    [0.7, { type: "mcp_call", id: "m", name: "f", error: "denied" }],
    [0, { type: "mcp_call", id: "m", name: "f", output: "fine" }],
    [1, output("x", "Segmentation fault (core dumped)")],
    [0.7, output("x", "Traceback (most recent call last):\n  File")],
    [0.7, output("x", "bash: foo: command not found")],
    [0.3, output("x", "Error: no such row")],
    [0.3, output("x", [{ type: "input_text", text: "2 failed, 3 passed" }])],
    [0, output("x", "0 failed, 12 passed")],
    [0, output("x", "Failed: 0")],
    [0, output("x", "No errors were found in 3 files")],
  ])("has the severity %d: %j", (severity, item) => {
    expect(findToolOutcome(item, undefined)?.severity).toBe(severity);
  });

  test.each([
    [true, "Tests: 12 passed, 0 failed"],
    [true, "All tests passed."],
    [false, "12 passed, 1 failed"],
    [false, "0 passed"],
  ])("shows passing tests: %s for %j", (passed, said) => {
    expect(findToolOutcome(output("x", said), undefined)?.passed).toBe(passed);
  });

  test("of any length and form is read in linear time", async () => {
    const hostile = ["error", " ", "\n", "1", "1 ", "cat >", "{"];
    const read = (size: number) => {
      for (const unit of hostile) {
        const text = unit.repeat(Math.ceil(size / unit.length));
        findToolOutcome(output("x", text), undefined);
        toolActionOf(shell(text));
        toolActionOf(call(text));
        estimateDifficulty(testRequest({ text }));
      }
    };
    expect(await isLinear(1_000, read)).toBe(true);
  });
});

describe("signals of the switchyard router", () => {
  const quiet: Signals = { severity: 0, spinning: 0, exploring: 0, production: 0, compacted: false, proven: false };
  const repeated = (times: number) =>
    Array.from({ length: times }, (_, n) => [call("run", `c${n}`), output(`c${n}`, "Error: no")]).flat();
  const many = (name: string, times: number) => Array.from({ length: times }, (_, n) => call(name, `${name}${n}`));

  test.each<[string, InputItem[], Partial<Signals>]>([
    ["of nothing", [], {}],
    ["of one soft error", repeated(1), { severity: 0.3 }],
    ["of the same error again", repeated(2), { severity: 0.7 }],
    ["of the same error a third time", repeated(3), { severity: 1 }],
    [
      "of an error that three results have followed",
      [...repeated(3), ..."abc".split("").flatMap((id) => [call("run", id), output(id, "fine")])],
      {},
    ],
    ["of seven calls", many("run", 7), {}],
    ["of eight calls that do nothing", many("run", 8), { spinning: 1 }],
    ["of eight calls that read", many("read", 8), { exploring: 1 }],
    ["of eight calls, one of which plans", [...many("run", 7), call("plan")], { exploring: 1 }],
    ["of half of them writing", [...many("run", 5), ...many("write", 5)], { production: 0.5 }],
    ["of writing long ago", [call("write"), ...many("run", 10)], { spinning: 1 }],
    ["of a compaction", [{ type: "compaction", encrypted_content: "x" }], { compacted: true }],
    ["of proof", [call("edit"), call("test"), output("test", "3 passed")], { production: 0.5, proven: true }],
  ])("of kind %s come from the items of the request", (_, input, expected) => {
    expect(signalsOf(input)).toEqual({ ...quiet, ...expected });
  });

  test.each<[Partial<Signals>, number, string | undefined, string | undefined]>([
    [{}, 0, undefined, undefined],
    [{ severity: 0.3 }, 0.211, undefined, undefined],
    [{ severity: 0.7 }, 0.462, undefined, undefined],
    [{ spinning: 1 }, 0.462, undefined, undefined],
    [{ exploring: 1 }, 0.462, undefined, undefined],
    [{ production: 1 }, -0.462, undefined, undefined],
    [{ severity: 0.3, spinning: 1 }, 0.613, "capable", undefined],
    [{ severity: 0.7, spinning: 1 }, 0.762, "capable", undefined],
    [{ severity: 0.7, exploring: 1 }, 0.762, "capable", undefined],
    [{ severity: 0.7, production: 1 }, 0, undefined, undefined],
    [{ severity: 0.7, exploring: 1, production: 1 }, 0.462, undefined, undefined],
    [{ severity: 1 }, 0.613, "capable", "critical_error"],
    [{ severity: 1, production: 1 }, 0.211, "capable", "critical_error"],
    [{ compacted: true, production: 1 }, -0.462, "capable", "compaction"],
    [{ proven: true, production: 0.1 }, -0.05, "efficient", "tests_pass"],
    [{ proven: true, compacted: true }, 0, "capable", "compaction"],
  ])("with the values %j add up to %d: %s", (some, score, tier, by) => {
    const verdict = stageVerdict({ ...quiet, ...some });
    expect([Number(verdict.score.toFixed(3)), verdict.tier, verdict.by]).toEqual([score, tier, by]);
  });
});

describe("a judge's forecast for the switchyard router", () => {
  const said = (fields: object) =>
    JSON.stringify({ crux: "x", primary_rule: "S1", capability_boundary: "supported", p_solve: 0.6, ...fields });

  test.each<[object, string | undefined]>([
    [{}, "efficient"],
    [{ p_solve: 0.599 }, "capable"],
    [{ primary_rule: "U2", capability_boundary: "uncertain", p_solve: 0.75 }, "efficient"],
    [{ primary_rule: "U2", capability_boundary: "uncertain", p_solve: 0.749 }, "capable"],
    [{ primary_rule: "none", capability_boundary: "unmatched", p_solve: 0.75 }, "efficient"],
    [{ primary_rule: "X3", capability_boundary: "unsupported", p_solve: 0.9 }, "efficient"],
    [{ primary_rule: "X3", capability_boundary: "unsupported", p_solve: 0.899 }, "capable"],
    [{ primary_rule: "X3" }, undefined],
    [{ primary_rule: "none" }, undefined],
    [{ primary_rule: "S9" }, undefined],
    [{ primary_rule: "toString" }, undefined],
    [{ p_solve: 1.1 }, undefined],
    [{ p_solve: "0.9" }, undefined],
  ])("with %j leads to the tier %s", (fields, tier) => {
    const forecast = parsePrediction(said(fields));
    expect(forecast && findTaskTier(forecast)).toBe(tier);
  });
});

describe("an estimate of the switchyard router", () => {
  const hard =
    "Prove that the algorithm is optimal, then design a distributed version without race conditions:\n```ts\nfunction f() {}\n```";
  const easy = ["Hi!", "Translate into French: good morning"];
  const roles = { efficient: "a/cheap", capable: "a/dear", middle: [] };
  const tierFor = (scores: Readonly<Record<string, number>>) => {
    const models = ["a/cheap", "a/dear", "a/other"].map((id) => ({
      id,
      endpoints: [{ provider: "a" }],
      ...(scores[id] !== undefined && { scores: { general: scores[id] } }),
    }));
    const { catalog } = openDecider(models);
    return (text: string) => estimateLocally(testRequest({ text }), roles, catalog).tier;
  };

  test("without scores gives easy tasks to the cheap model", () => {
    const tier = tierFor({});
    expect([...easy, hard].map(tier)).toEqual(["efficient", "efficient", "capable"]);
    expect(estimateDifficulty(testRequest({ text: hard })).difficulty).toBeGreaterThan(
      estimateDifficulty(testRequest({ text: "Hi!" })).difficulty + 2,
    );
    expect([...easy, hard].map(tierFor({ "a/cheap": 0.2, "a/other": 0.9 }))).toEqual([...easy, hard].map(tier));
  });

  test.each<[string, Readonly<Record<string, number>>, string[]]>([
    ["is far weaker", { "a/cheap": 0.1, "a/dear": 0.9, "a/other": 0.8 }, ["capable", "capable", "capable"]],
    ["is a little weaker", { "a/cheap": 0.6, "a/dear": 0.8, "a/other": 0.3 }, ["efficient", "efficient", "capable"]],
    ["is as strong", { "a/cheap": 0.8, "a/dear": 0.8, "a/other": 0.3 }, ["efficient", "efficient", "efficient"]],
  ])("gives tasks to the dear model where it helps, if the cheap model %s", (_, scores, tiers) => {
    expect([...easy, hard].map(tierFor(scores))).toEqual(tiers);
  });
});

describe("the switchyard router with the whole stack", () => {
  let acme: Upstream;
  let judge: Upstream;
  let engine: Engine;

  const prices: Readonly<Record<string, number>> = { "a/cheap": 1, "a/middle": 2, "a/dear": 9, "a/same": 9 };
  const open = (role?: object) =>
    openEngine(
      configSchema.parse({
        providers: [
          { id: "acme", dialect: "chat", base_url: `${acme.url}/v1`, data_policy: { retention: "none" } },
          { id: "judge", dialect: "chat", base_url: `${judge.url}/v1` },
        ],
        models: [
          ...Object.entries(prices).map(([id, price]) => ({
            id,
            endpoints: [{ provider: "acme", pricing: { prompt: `${price}`, completion: "1" } }],
          })),
          { id: "a/judge", endpoints: [{ provider: "judge", pricing: { prompt: "1", completion: "1" } }] },
        ],
        internal_models: role && { switchyard_judge: { model: "a/judge", ...role } },
      }),
    );
  beforeEach(async () => {
    acme = await startUpstream([chatStream("Hello.")]);
    judge = await startUpstream();
    engine = open();
  });
  afterEach(async () => {
    await engine.upstreams.close();
    await Promise.all([acme.stop(), judge.stop()]);
  });

  const request = (
    algorithm: string,
    fields: Parameters<typeof testRequest>[0] = {},
    candidates = ["a/dear", "a/cheap"],
  ) =>
    testRequest({
      models: ["service/switchyard", ...candidates],
      plugins: { switchyardRouter: create(SwitchyardRouterPluginSchema, { algorithm }) },
      ...fields,
    });
  const planned = async (testScope: TurnRequest, { scope }: TestScope = newScope()) =>
    (await engine.planDryRun(testScope, scope)).plan.map(({ endpoint }) => endpoint.model);
  async function served(testScope: TurnRequest, scope = newScope()) {
    const { fault, events } = await runTestTurn(engine.turn, testScope, scope);
    expect(fault).toBeUndefined();
    const start = events.find(({ type }) => type === "start") as { model: string };
    const [stage] = scope.scope.trace.stages;
    return { model: start.model, data: stage?.data, stage };
  }
  const hardTask = user(
    "Prove the theorem, derive a distributed algorithm, and design its architecture without deadlock.",
  );
  const stuck = [user("Go"), ...[1, 2, 3].flatMap((n) => [call("run", `r${n}`), output(`r${n}`, "Error: no")])];
  const going = [user("Go"), call("run", "r"), output("r", "fine")];

  test.each<[string, InputItem[], string]>([
    ["capability", [user("Hi!")], "a/cheap"],
    ["capability", [hardTask], "a/dear"],
    ["", [hardTask], "a/dear"],
    ["stage", [hardTask], "a/cheap"],
    ["stage", stuck, "a/dear"],
    ["stage", going, "a/cheap"],
    ["auto", [hardTask], "a/cheap"],
    ["auto", stuck, "a/dear"],
    ["composite", [hardTask], "a/cheap"],
    ["composite", stuck, "a/dear"],
    ["passthrough", [user("Hi!")], "a/dear"],
    ["passthrough", stuck, "a/dear"],
  ])("decides with the algorithm %s without a judge", async (algorithm, input, model) => {
    expect((await served(request(algorithm, { input }))).model).toBe(model);
  });

  test("has the chosen model, the method and the fallback in the receipt", async () => {
    const { data, stage } = await served(request("capability", {}, ["a/dear", "a/middle", "a/cheap"]));
    expect(stage).toMatchObject({ type: "plugin", name: "switchyard-router", summary: "a/cheap, by capability" });
    expect(data).toEqual({
      resolved_to: "a/cheap",
      fallback_models: ["a/middle", "a/dear"],
      strategy: "capability",
      tier: "efficient",
      judge: "local",
      p_solve: expect.any(Number),
      route_ms: expect.any(Number),
    });
  });

  test.each([
    [["a/cheap"], ["a/cheap"], "one_candidate"],
    [["a/same", "a/dear"], ["a/same", "a/dear"], "one_price"],
  ])("calls candidates without a choice in the order %j: %j", async (candidates, models, degraded_reason) => {
    const testScope = newScope();
    expect(await planned(request("capability", { input: [user("Hi!")] }, candidates), testScope)).toEqual(models);
    expect(testScope.scope.trace.stages).toMatchObject([{ data: { resolved_to: models[0], degraded_reason } }]);
  });

  test("falls back after a failure of the first model", async () => {
    acme.script([{ status: 500, chunks: [{ json: { error: { message: "no" } } }] }]);
    await runTestTurn(engine.turn, request("stage", {}, ["a/dear", "a/middle", "a/cheap"]));
    expect([...new Set(acme.requests.map(({ json }) => json["model"]))]).toEqual(["a/cheap", "a/middle", "a/dear"]);
  });

  test("keeps a task with its answering model during tool calls", async () => {
    const session = { sessionId: "s" };
    acme.script([{ status: 500, chunks: [{ json: {} }] }, chatStream("Hello.")]);
    const first = await runTestTurn(engine.turn, request("capability", { ...session, input: [user("Hi!")] }));
    expect(first.events).toContainEqual({ type: "start", model: expect.any(String) });
    const model = (first.events.find(({ type }) => type === "start") as { model: string }).model;
    const next = await served(
      request("capability", { ...session, input: [user("Hi!"), call("run", "r"), output("r", "fine")] }),
    );
    expect([next.model, next.data?.["pinned"]]).toEqual([model, true]);
    const composite = await served(request("composite", { ...session, input: going }));
    expect([composite.model, composite.data?.["pinned"]]).toEqual([model, true]);
    const human = await served(request("capability", { ...session, input: [hardTask] }));
    expect([human.model, human.data?.["pinned"]]).toEqual(["a/dear", undefined]);
  });

  test("chooses evenly at random, and the same for a message of a session", async () => {
    const first = async (session: string, input: InputItem[]) =>
      (await planned(request("random", { sessionId: session, input })))[0];
    const drawn = await Promise.all(Array.from({ length: 200 }, (_, n) => first(`s${n}`, [user("Hi!")])));
    const again = await Promise.all(Array.from({ length: 200 }, (_, n) => first(`s${n}`, going)));
    expect(again).toEqual(drawn);
    const cheap = drawn.filter((model) => model === "a/cheap").length;
    // Less than one in a million fair draws deviates further.
    expect(Math.abs(cheap - 100)).toBeLessThan(35);
    const next = await Promise.all(Array.from({ length: 20 }, (_, n) => first(`s${n}`, [user("Hi!"), user("And?")])));
    expect(next).not.toEqual(drawn.slice(0, 20));
  });

  describe("with a judge", () => {
    const says = (p_solve: number, rule = "S1", boundary = "supported"): Reply =>
      chatAnswer(
        { content: JSON.stringify({ crux: "x", primary_rule: rule, capability_boundary: boundary, p_solve }) },
        "stop",
        { usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } },
      );
    const patience = { timeout_ms: 60_000, total_ms: 120_000 };
    beforeEach(async () => {
      await engine.upstreams.close();
      engine = open(patience);
    });

    test("sends the judge the first and the latest message, once", async () => {
      judge.script([says(0.9)]);
      const input = [
        user("First thing"),
        { type: "message", role: "assistant", content: "Between" },
        user("Last thing"),
      ];
      const { model, data, stage } = await served(request("capability", { input }));
      await served(request("capability", { input }));
      expect([model, data]).toMatchObject([
        "a/cheap",
        { judge: "a/judge", p_solve: 0.9, capability_boundary: "supported", judge_ms: expect.any(Number) },
      ]);
      expect(stage).toMatchObject({ cost_usd: 0.000012 });
      expect(judge.requests).toHaveLength(1);
      const body = judge.requests[0]?.body ?? "";
      expect([body.includes("First thing"), body.includes("Last thing"), body.includes("Between")]).toEqual([
        true,
        true,
        false,
      ]);
      expect(body).not.toMatch(/0\.(?:6|75|9)\b/);
      expect(engine.opened[0]).toMatchObject({ operation: "classifier", payer: "operator", model: "a/judge" });
    });

    test.each<[string, InputItem[], number]>([
      ["capability", [user("Hi!")], 1],
      ["stage", [user("Hi!")], 1],
      ["composite", [user("Hi!")], 1],
      ["stage", stuck, 0],
      ["auto", [user("Hi!")], 0],
      ["random", [user("Hi!")], 0],
      ["passthrough", [user("Hi!")], 0],
    ])("calls the judge with %s only if its signals do not decide: %j", async (algorithm, input, times) => {
      judge.script([says(0.1)]);
      const { model, data } = await served(request(algorithm, { input }));
      expect(judge.requests).toHaveLength(times);
      if (times > 0) expect([model, data?.["p_solve"]]).toEqual(["a/dear", 0.1]);
    });

    test.each<[string, Reply]>([
      ["error", { status: 500, chunks: [{ json: {} }] }],
      ["malformed_answer", chatAnswer({ content: "Maybe." })],
      ["malformed_answer", says(0.9, "X1", "supported")],
      ["time_limit", { hang: true }],
    ])("calls the dear model when the judge gives no forecast: %s", async (judge_failure, reply) => {
      if (reply.hang === true) {
        await engine.upstreams.close();
        engine = open({ ...patience, timeout_ms: 300 });
      }
      judge.script([reply]);
      const { model, data } = await served(request("capability", { input: [user("Hi!")] }));
      expect([model, data]).toMatchObject(["a/dear", { tier: "capable", judge_failure }]);
    });

    test("does not call the judge under an unfitting data policy", async () => {
      const provider = create(ProviderPreferencesSchema, { zdr: true });
      const { model, data } = await served(request("capability", { provider, input: [user("Hi!")] }));
      expect([model, data?.["judge_failure"], judge.requests]).toEqual(["a/dear", "data_policy", []]);
    });

    test("calls no model in a dry run", async () => {
      const testScope = newScope();
      expect(await planned(request("capability", { input: [user("Hi!")] }), testScope)).toEqual(["a/dear", "a/cheap"]);
      expect([testScope.scope.trace.stages[0]?.data?.["judge"], judge.requests]).toEqual(["not_run", []]);
    });
  });

  test.each<[string[], string]>([
    [["service/switchyard"], "chooses between 1 to 3 models"],
    [["service/switchyard", "a/cheap", "a/dear", "a/middle", "a/same"], "chooses between 1 to 3 models"],
    [["service/switchyard", "service/auto"], "cannot choose service/auto"],
    [["service/switchyard", "a/cheap", "~a/latest"], "cannot choose ~a/latest"],
    [["a/cheap", "service/switchyard"], "it is named in model"],
    [["service/switchyard:nitro", "a/cheap"], "has no variants"],
  ])("refuses the settings %j with 400", async (models, says) => {
    const { fault } = await runTestTurn(engine.turn, testRequest({ models }));
    expect([fault?.reason, fault?.message]).toEqual([FaultReason.INVALID_REQUEST, expect.stringContaining(says)]);
    expect(acme.requests).toEqual([]);
  });

  test("refuses an unknown model with 404", async () => {
    const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["service/switchyard", "a/unknown"] }));
    expect([fault?.reason, fault?.message]).toEqual([
      FaultReason.NOT_FOUND,
      expect.stringContaining("a/unknown is not in the catalogue"),
    ]);
  });
});
