/** The two ends of a turn without a gateway: the engine pushes, and its caller pulls. */
import { describe, expect, test } from "@jest/globals";
import { PulledTurn } from "@sluice/inference-svc/entry/handlers/pulled-turn.js";
import { PushedTurn } from "@sluice/inference-svc/entry/handlers/pushed-turn.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import type { EngineTurn } from "@sluice/inference-svc/engine/wire.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

const limitMs = 60_000;
const event = (model: string): TurnEvent => ({
  $typeName: "sluice.inference.v1.TurnEvent",
  event: {
    case: "start",
    value: { $typeName: "sluice.inference.v1.TurnStart", model, inputTokens: 0, alteredFields: [], passedFields: [] },
  },
});
const batch = (...models: string[]) => ({ events: models.map(event), cost: 1 });
const modelsIn = (events: readonly TurnEvent[]) => events.map((each) => (each.event.value as { model: string }).model);

/** Starts a turn run by an engine. */
function startTurn(run: (turn: EngineTurn) => Promise<void>): PulledTurn {
  const pulled = new PulledTurn();
  pulled.start((listener) => {
    const pushed = new PushedTurn(listener);
    pushed.start(run, limitMs);
    return pushed;
  });
  return pulled;
}

describe("a turn without a gateway", () => {
  test("gives every batch in order, and takes the next after the last was processed", async () => {
    const steps: string[] = [];
    const turn = startTurn(async (engine) => {
      for (const model of ["a", "b", "c"]) {
        await engine.take(batch(model), false);
        steps.push(`passed ${model}`);
      }
    });
    for await (const events of turn) steps.push(`got ${modelsIn(events).join()}`);
    expect(steps).toEqual(["got a", "passed a", "got b", "passed b", "got c", "passed c"]);
  });

  test("gives a batch that waits at the turn's failure before the failure", async () => {
    const failure = new Fault(FaultReason.PROVIDER_FAILED);
    const turn = startTurn(async (engine) => {
      void engine.take(batch("a"), false);
      void engine.take(batch("b"), false);
      throw failure;
    });
    const got: string[][] = [];
    const reading = (async () => {
      for await (const events of turn) got.push(modelsIn(events));
    })();
    await expect(reading).rejects.toBe(failure);
    expect(got).toEqual([["a", "b"]]);
  });

  test("releases by a cancel an engine that waits for room, and a reader that waits for events", async () => {
    let passed = () => {};
    const isPassed = new Promise<void>((resolve) => {
      passed = resolve;
    });
    const untaken = startTurn(async (engine) => {
      await engine.take(batch("a"), false);
      expect(engine.take(batch("b"), false)).toBeUndefined();
      expect(engine.signal.aborted).toBe(true);
      passed();
    });
    const reader = untaken[Symbol.asyncIterator]();
    expect(modelsIn((await reader.next()).value ?? [])).toEqual(["a"]);
    untaken.cancel();
    await isPassed;
    const waiting = reader.next();
    untaken.end("left");
    await expect(waiting).rejects.toBe("left");
  });
});

describe("the abort of a turn", () => {
  test("calls each listener once, no removed or late listener, and keeps its first reason", () => {
    const abort = new TurnAbort();
    const called: string[] = [];
    const removed = () => called.push("removed");
    abort.addEventListener("abort", () => called.push("first"));
    abort.addEventListener("abort", removed);
    abort.addEventListener("abort", () => called.push("second"));
    abort.removeEventListener("abort", removed);
    abort.abort("reason");
    abort.abort("another");
    abort.addEventListener("abort", () => called.push("late"));
    expect([called, abort.aborted, abort.reason]).toEqual([["first", "second"], true, "reason"]);
  });
});
