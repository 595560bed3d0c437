/**
 * A rule that fails during a scan: unscanned text is not delivered, unless its guardrail allows it,
 * and the failure is always recorded.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { toGeneratedAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { describe, expect, test } from "@jest/globals";
import { OutputGuard } from "@sluice/inference-svc/features/guardrails/output/output-guard.js";
import { Report } from "@sluice/inference-svc/features/guardrails/output/rules/report.js";
import type { OutputRule } from "@sluice/inference-svc/features/guardrails/output/rules/output-rules.js";
import type { Scope } from "@sluice/inference-svc/turn/scope.js";
import { Answer, type Batch, type TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ErrorPolicy, type Guardrail, GuardrailMode } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { newScope } from "../../asking.js";
import {
  blockFilter,
  itemEnd,
  runGuarded,
  guardrailOf,
  outputMessage,
  turnEnd,
  joinDeltas,
  streamedMessage,
  itemStart,
  textDeltaEvent,
} from "./gating.js";

/** A finder without matches that fails at a given place. */
function failing(point: "open" | "push" | "end", after = 0): Finder {
  const fail = () => {
    throw new Error("out of order");
  };
  return {
    open() {
      if (point === "open") fail();
      let length = 0;
      return {
        push(piece) {
          length += piece.length;
          if (point === "push" && length > after) fail();
          return { spans: [], decided: length };
        },
        end: () => (point === "end" ? fail() : { spans: [], decided: length }),
      };
    },
  };
}

const closed = guardrailOf([]);
const open = guardrailOf([], { onError: ErrorPolicy.OPEN });
const audit = guardrailOf([], { mode: GuardrailMode.AUDIT });

const ruleOf = (finder: Finder, guardrail: Guardrail): OutputRule => ({
  name: "broken",
  action: filterActions.of("block"),
  finder,
  placeholder: "<b>",
  engine: "regex",
  stage: "content-filter",
  userOnly: false,
  guardrail,
  scope: "api-key",
  rank: 0,
});

const guardOf = (rules: readonly OutputRule[], scope: Scope, source: AsyncGenerator<Batch>): OutputGuard =>
  new OutputGuard({ rules, scope, report: new Report(), extent: "answer", begin: () => toGeneratedAnswer(source) });

async function guarded(rule: OutputRule, batches: readonly Batch[]) {
  const { scope } = newScope();
  const given: TurnEvent[] = [];
  let fault: unknown;
  const source = (async function* () {
    yield* batches;
  })();
  try {
    for await (const batch of guardOf([rule], scope, source)) given.push(...batch);
  } catch (error) {
    fault = error;
  }
  const stages = scope.trace.stages.map(({ data }) => [data?.["action"], data?.["fail_mode"], data?.["applies_to"]]);
  return { given, fault, stages };
}

const record = [["error", "closed", "output"]];
const points = [
  ["when it begins", failing("open"), ""],
  ["at the first text", failing("push"), ""],
  ["in the middle", failing("push", 8), "All is "],
  // All text before the failure had been scanned.
  ["at the end", failing("end"), "All is well. Yes"],
] as const;

describe.each(points)("an output guardrail that fails %s", (_, finder, decided) => {
  const batches = streamedMessage("All is ", "well.", " Yes");

  test("delivers no unscanned text when it is closed", async () => {
    const { given, fault, stages } = await guarded(ruleOf(finder, closed), batches);
    expect(fault).toBeInstanceOf(Fault);
    expect([(fault as Fault).reason, (fault as Fault).status]).toEqual([FaultReason.UNAVAILABLE, 503]);
    expect(given.some(({ type }) => type === "item.end" || type === "end")).toBe(false);
    expect(joinDeltas(given)).toBe(decided);
    expect(stages).toEqual(record);
  });

  test.each([
    ["open", open],
    ["audit", audit],
  ])("delivers the text when it is %s, and the receipt notes the missing scan", async (_, guardrail) => {
    const { given, fault, stages } = await guarded(ruleOf(finder, guardrail), batches);
    expect(fault).toBeUndefined();
    expect(joinDeltas(given)).toBe("All is well. Yes");
    expect(stages).toEqual([["error", "open", "output"]]);
  });
});

test("an output guardrail that fails closed delivers no unscanned arguments and other texts either", async () => {
  const call = { type: "function_call", id: "f", call_id: "c", name: "", arguments: '{"a":1}' };
  for (const item of [call, { type: "later", id: "l", deep: ["text"] }]) {
    const { given, fault, stages } = await guarded(ruleOf(failing("push"), closed), [[itemEnd(0, item), turnEnd]]);
    expect([given, (fault as Fault).reason, stages]).toEqual([[], FaultReason.UNAVAILABLE, record]);
  }
});

test("an output guardrail does not pass text that it cannot read", async () => {
  let deep: unknown = "text";
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  const native = { type: "native", name: "response.x.y", payloadJson: "{", index: 0 } as const;
  for (const events of [
    [itemEnd(0, { type: "later", id: "l", deep })],
    [itemStart(0, outputMessage()), textDeltaEvent("a"), native],
  ]) {
    const { fault, stages } = await guarded(ruleOf(failing("push", 1_000), closed), [[...events, turnEnd]]);
    expect([(fault as Fault).reason, stages]).toEqual([FaultReason.UNAVAILABLE, record]);
  }
});

test("a part that continues after the beginning of another is not passed by an output guardrail", async () => {
  const deltas = [textDeltaEvent("sec"), textDeltaEvent("a", 1), textDeltaEvent("ret")];
  const { given, fault, stages } = await guarded(ruleOf(failing("push", 1_000), closed), [
    [itemStart(0, outputMessage()), ...deltas, itemEnd(0, outputMessage("secret", "a")), turnEnd],
  ]);
  expect([joinDeltas(given), (fault as Fault).reason, stages]).toEqual(["", FaultReason.UNAVAILABLE, record]);
});

test("a provider's failure under an output guardrail stays the provider's", async () => {
  const lost = new Fault(FaultReason.PROVIDER_FAILED, "Provider connection lost");
  const { scope } = newScope();
  const source = (async function* () {
    yield [itemStart(0, outputMessage()), textDeltaEvent("All is well")];
    throw lost;
  })();
  const gate = guardOf([ruleOf(failing("push", 1_000), closed)], scope, source)[Symbol.asyncIterator]();
  expect(joinDeltas((await gate.next()).value as Batch)).toBe("All is well");
  await expect(gate.next()).rejects.toBe(lost);
  expect(scope.trace.stages).toEqual([]);
});

test("a client that leaves during a scan stops the provider at once", async () => {
  const { scope } = newScope();
  let reads = 0;
  let closings = 0;
  class Endless extends Answer {
    override next(): Batch {
      reads++;
      return [{ type: "native", name: "response.acme", payloadJson: '{"text":"All is well"}' }];
    }
    override close(): undefined {
      closings++;
    }
  }
  const rules = [ruleOf(failing("push", 1_000), closed)];
  const begin = () => new Endless();
  const guard = new OutputGuard({ rules, scope, report: new Report(), extent: "answer", begin });
  expect(guard.next(() => undefined)).toBe("pending");
  void guard.close();
  expect([reads, closings]).toEqual([1, 1]);
  await nextTurn();
  expect(guard.next(() => undefined)).toBe("end");
  expect([reads, closings]).toEqual([1, 1]);
});

describe("an output guardrail's pattern that cannot be compiled", () => {
  const broken = [blockFilter("(", "broken")];

  test("is refused before any call", async () => {
    const { events, fault, stopped } = await runGuarded(streamedMessage("well"), broken);
    expect([events, fault?.reason, stopped]).toEqual([[], FaultReason.UNAVAILABLE, true]);
  });

  test.each([{ onError: ErrorPolicy.OPEN }, { mode: GuardrailMode.AUDIT }])(
    "passes and is recorded with %j",
    async (fields) => {
      const { events, stages } = await runGuarded(streamedMessage("well"), broken, fields);
      expect(joinDeltas(events)).toBe("well");
      expect(stages).toMatchObject([{ data: { action: "error", fail_mode: "open", applies_to: "output" } }]);
    },
  );
});
