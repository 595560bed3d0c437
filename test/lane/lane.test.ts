import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Lane } from "@sluice/gateway/lane/lane.js";
import type { TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import type { LinkListener } from "@sluice/proto/lib/lane/link.js";
import { ServerLane, type TurnRunner } from "@sluice/inference-svc/entry/lane/server-lane.js";
import type { ServerTurn } from "@sluice/inference-svc/entry/lane/server-turn.js";
import type { Open, SessionRequest, SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { turnCredit } from "@sluice/proto/lib/lane/outbox.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { calmWaitingTurns, maxSentTurns } from "@sluice/proto/lib/load/pressure.js";
import fc from "../support/properties.js";

const tick = () => new Promise((resolve) => setImmediate(resolve));

const open = (requestId = "r", keyHash = "k"): Open => ({
  $typeName: "sluice.inference.v1.Open",
  keyHash,
  requestId,
  generationId: "gen-1",
  policyGeneration: 0n,
  deadlineMs: 0,
  credit: 0,
  atMostOnce: true,
  traceparent: "",
  tracestate: "",
});

const delta = (text: string): TurnEvent => ({
  $typeName: "sluice.inference.v1.TurnEvent",
  event: {
    case: "argumentsDelta",
    value: { $typeName: "sluice.inference.v1.ArgumentsDelta", index: 0, delta: text },
  },
});

/** Both ends of one lane. The wire delivers each message in a later turn of the event loop, and can be cut. */
class Wire {
  readonly turns: ServerTurn[] = [];
  /** Request ids received by the server. */
  readonly opened: string[] = [];
  server: ServerLane | undefined;
  lane: Lane;
  sessions = 0;
  /** Credit returned by the client, by turn id. */
  readonly granted = new Map<number, number>();
  #cut: (() => void) | undefined;

  constructor(run: (turn: ServerTurn) => Promise<void> = () => new Promise(() => {})) {
    this.lane = new Lane("wire", (listener) => this.#connect(listener, run));
  }

  #connect(listener: LinkListener, run: (turn: ServerTurn) => Promise<void>) {
    this.sessions++;
    let up = true;
    const down = (message: SessionResponse) => {
      setImmediate(() => up && listener.message(message));
      return true;
    };
    const runner: TurnRunner = {
      run: (opened, turn) => {
        this.turns.push(turn);
        this.opened.push(opened.requestId);
        return run(turn);
      },
    };
    const server = new ServerLane({ instance: "test", draining: false, messages: { write: down }, runner });
    this.server = server;
    this.#cut = () => {
      if (!up) return;
      up = false;
      server.close();
      setImmediate(() => listener.closed(undefined));
    };
    return {
      write: (message: SessionRequest) => {
        for (const { turn, frame } of message.frames) {
          if (frame.case === "credit") this.granted.set(turn, (this.granted.get(turn) ?? 0) + frame.value);
        }
        setImmediate(() => up && server.receive(message));
        return true;
      },
      close: () => this.#cut?.(),
    };
  }

  cut(): void {
    this.#cut?.();
  }
}

class Listener implements TurnListener {
  text = "";
  over: string | undefined;
  fault: Fault | undefined;
  events(events: readonly TurnEvent[]): void {
    for (const { event } of events) if (event.case === "argumentsDelta") this.text += event.value.delta;
  }
  ended(): void {
    this.over = this.over === undefined ? "ended" : "twice";
  }
  failed(fault: Fault, mayHaveBegun: boolean): void {
    this.fault = fault;
    this.over = this.over === undefined ? `failed, ${mayHaveBegun ? "may have begun" : "not sent"}` : "twice";
  }
}

/** Polls the condition after every turn of the event loop. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`did not come true: ${condition.toString()}`);
    await tick();
  }
}

describe("the lane", () => {
  let wire: Wire;
  beforeEach(async () => {
    wire = new Wire();
    await until(() => wire.lane.ready);
  });
  afterEach(() => {
    wire.lane.stop();
    wire.cut();
  });

  test("opens and answers a turn, and then keeps no state of it on both ends", async () => {
    const listener = new Listener();
    wire.lane.open(open(), listener);
    await until(() => wire.turns.length === 1);
    void wire.turns[0]?.take({ events: [delta("a")], cost: 20 }, false);
    void wire.turns[0]?.take({ events: [delta("b")], cost: 20 }, true);
    await until(() => listener.over !== undefined);
    expect(listener).toMatchObject({ text: "ab", over: "ended" });
    expect([wire.lane.openTurns, wire.server?.openTurns]).toEqual([0, 0]);
  });

  test("sends the last batch without waiting for credit, since its client sends no more", async () => {
    const listener = new Listener();
    wire.lane.open(open(), listener);
    await until(() => wire.turns.length === 1);
    expect(wire.turns[0]?.take({ events: [delta("a")], cost: turnCredit + 1 }, true)).toBeUndefined();
    await until(() => listener.over !== undefined);
    expect(listener).toMatchObject({ text: "a", over: "ended" });
  });

  test("sends the batches of one turn of the event loop in one frame", async () => {
    const seen: number[] = [];
    const listener = Object.assign(new Listener(), {
      events: (events: readonly TurnEvent[]) => seen.push(events.length),
    });
    wire.lane.open(open(), listener);
    await until(() => wire.turns.length === 1);
    for (let i = 0; i < 5; i++) void wire.turns[0]?.take({ events: [delta("x")], cost: 20 }, false);
    await until(() => seen.length > 0);
    expect(seen).toEqual([5]);
  });

  test("passes a cancel to the server, and no event after it", async () => {
    const listener = new Listener();
    const control = wire.lane.open(open(), listener);
    await until(() => wire.turns.length === 1);
    control.cancel();
    await until(() => wire.turns[0]?.signal.aborted === true);
    void wire.turns[0]?.take({ events: [delta("late")], cost: 20 }, true);
    await tick();
    await tick();
    expect(listener).toMatchObject({ text: "", over: undefined });
    expect([wire.lane.openTurns, wire.server?.openTurns]).toEqual([0, 0]);
  });

  test("pauses only the turn of a paused listener", async () => {
    const slow = new Listener();
    const fast = new Listener();
    const control = wire.lane.open(open(), slow);
    wire.lane.open(open(), fast);
    await until(() => wire.turns.length === 2);
    control.pause();
    const cost = turnCredit / 8;
    const pump = async (turn: ServerTurn, batches: number) => {
      for (let i = 0; i < batches; i++) {
        await turn.take({ events: [delta("x")], cost }, i === batches - 1);
      }
    };
    void pump(wire.turns[0] as ServerTurn, 20);
    await pump(wire.turns[1] as ServerTurn, 20);
    await until(() => fast.over !== undefined);
    expect([slow.text.length, fast.text.length]).toEqual([8, 20]);
    control.resume();
    await until(() => slow.over !== undefined);
    expect(slow).toMatchObject({ text: "x".repeat(20), over: "ended" });
  });

  test("fails every open turn once when a session is lost, marks sent ones, and stops their work", async () => {
    const listeners = Array.from({ length: maxSentTurns + 1 }, () => new Listener());
    for (const listener of listeners) wire.lane.open(open(), listener);
    await until(() => wire.turns.length === maxSentTurns);
    wire.cut();
    await until(() => listeners.every(({ over }) => over !== undefined));
    const states = listeners.map(({ over }) => over);
    expect(states).toEqual([
      ...Array.from({ length: maxSentTurns }, () => "failed, may have begun"),
      "failed, not sent",
    ]);
    expect(wire.turns.every((turn) => turn.signal.aborted)).toBe(true);
  });

  describe("acknowledges a begun turn", () => {
    /** Sends turns to the server and lets it begin them; returns whether the gateway got each acknowledgement. */
    async function begin(...opens: readonly Open[]): Promise<boolean[]> {
      const told = opens.map(() => false);
      for (const [index, each] of opens.entries()) {
        wire.lane.open(each, Object.assign(new Listener(), { accepted: () => void (told[index] = true) }));
      }
      await until(() => wire.turns.length === opens.length);
      for (const turn of wire.turns) turn.accepted();
      await tick();
      await tick();
      return told;
    }
    const times = (count: number) => Array.from({ length: count }, (_, index) => open(`${index}`));

    test("by its first events, without a separate message", async () => {
      expect(await begin(open())).toEqual([false]);
      const [turn] = wire.turns as [ServerTurn];
      void turn.take({ events: [delta("x")], cost: 8 }, false);
      await until(() => wire.lane.waiting.size === 0);
    });

    test("together with others, before the gateway holds back more turns", async () => {
      const told = await begin(...times(calmWaitingTurns - 1));
      expect(told).not.toContain(true);
      wire.lane.open(open("another"), new Listener());
      await until(() => wire.turns.length === told.length + 1);
      wire.turns.at(-1)?.accepted();
      await until(() => !told.includes(false) && wire.lane.waiting.size === 0);
    });

    test("at once for a large request, and for a turn its client may repeat", async () => {
      const request = create(RunTurnRequestSchema, { inputJson: new Uint8Array(64 * 1024) });
      expect(await begin({ ...open(), request }, { ...open(), atMostOnce: false })).toEqual([true, true]);
    });

    test("no more when the client has cancelled the turn", async () => {
      const controls = times(calmWaitingTurns - 1).map((each) => wire.lane.open(each, new Listener()));
      await until(() => wire.turns.length === controls.length);
      for (const turn of wire.turns) turn.accepted();
      for (const control of controls) control.cancel();
      await until(() => wire.server?.openTurns === 0);
      wire.turns.splice(0);
      // Cancelled turns do not count: if they did, this turn would reach the limit and be acknowledged.
      expect(await begin(open("later"))).toEqual([false]);
    });
  });

  test("sends a process no more turns than it can begin soon, and later turns in their order", async () => {
    const listeners = Array.from({ length: maxSentTurns + 3 }, () => new Listener());
    const controls = listeners.map((listener, index) => wire.lane.open(open(`${index}`), listener));
    await until(() => wire.turns.length === maxSentTurns);
    // This turn still waits in the gateway, so the process never gets it.
    controls[maxSentTurns]?.cancel();
    await tick();
    await tick();
    expect([wire.turns.length, wire.lane.waiting.size]).toEqual([maxSentTurns, maxSentTurns + 2]);
    wire.turns[5]?.accepted();
    await until(() => wire.opened[maxSentTurns] === `${maxSentTurns + 1}`);
    // A cancelled turn frees its place for another turn, too.
    controls[3]?.cancel();
    await until(() => wire.opened[maxSentTurns + 1] === `${maxSentTurns + 2}`);
    expect([wire.lane.waiting.size, wire.lane.openTurns, wire.server?.openTurns]).toEqual([
      maxSentTurns,
      maxSentTurns + 1,
      maxSentTurns + 1,
    ]);
  });

  test("does not delay a key until the process has begun the turns of another", async () => {
    const busy = Array.from({ length: maxSentTurns + 3 }, (_, index) => open(`${index}`));
    for (const turn of busy) wire.lane.open(turn, new Listener());
    await until(() => wire.turns.length === maxSentTurns);
    for (const requestId of ["first", "second"]) wire.lane.open(open(requestId, "another key"), new Listener());
    await until(() => wire.opened.includes("first"));
    await tick();
    await tick();
    expect(wire.opened.slice(maxSentTurns)).toEqual(["first"]);
    wire.turns[maxSentTurns]?.accepted();
    await until(() => wire.opened.includes("second"));
    expect(wire.opened.slice(maxSentTurns)).toEqual(["first", "second"]);
  });

  test("fails unsent turns of a lost session, too, and begins the next session with none", async () => {
    const listeners = Array.from({ length: maxSentTurns + 1 }, () => new Listener());
    for (const listener of listeners) wire.lane.open(open(), listener);
    await until(() => wire.turns.length === maxSentTurns);
    wire.cut();
    await until(() => wire.sessions === 2 && wire.lane.ready);
    expect(listeners.map(({ over }) => over)).not.toContain(undefined);
    expect([wire.lane.waiting.size, wire.lane.openTurns]).toEqual([0, 0]);
    wire.lane.open(open("after"), new Listener());
    await until(() => wire.opened.at(-1) === "after");
  });

  test("sends a draining server no new turn, and the client ends the session and comes back", async () => {
    const listener = new Listener();
    wire.lane.open(open(), listener);
    await until(() => wire.turns.length === 1);
    wire.server?.drain();
    await until(() => !wire.lane.ready);
    void wire.turns[0]?.take({ events: [delta("a")], cost: 20 }, true);
    await until(() => listener.over !== undefined);
    expect(listener.over).toBe("ended");
    await until(() => wire.sessions === 2 && wire.lane.ready);
  });

  test("fails only the turn of a handler that throws", async () => {
    const broken = new Wire(async (turn) => {
      if (broken.turns.length === 1) throw new Error("secret detail");
      void turn.take({ events: [delta("ok")], cost: 20 }, true);
    });
    await until(() => broken.lane.ready);
    const first = new Listener();
    const second = new Listener();
    broken.lane.open(open(), first);
    broken.lane.open(open(), second);
    await until(() => first.over !== undefined && second.over !== undefined);
    expect(first.fault?.message).toBe("Internal Server Error");
    expect(second).toMatchObject({ text: "ok", over: "ended" });
    broken.lane.stop();
  });

  test("keeps every turn within its credit and one batch, and leaves none open, in any order of steps", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("send" as const), turn: fc.nat(2), cost: fc.integer({ min: 1, max: turnCredit }) }),
      fc.record({ do: fc.constantFrom("pause" as const, "resume" as const, "cancel" as const), turn: fc.nat(2) }),
      fc.record({ do: fc.constant("tick" as const), turn: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const pair = new Wire();
        await until(() => pair.lane.ready);
        const controls = [0, 1, 2].map(() => pair.lane.open(open(), new Listener()));
        await until(() => pair.turns.length === 3);
        const sent = [0, 0, 0];
        const waiting = new Set<ServerTurn>();
        for (const next of steps) {
          const turn = pair.turns[next.turn] as ServerTurn;
          if (next.do === "send") {
            // An engine sends only while it has credit; this rule bounds memory.
            if (waiting.has(turn) || turn.signal.aborted) continue;
            const room = turn.take({ events: [delta("x")], cost: next.cost }, false);
            if (room) waiting.add(turn);
            void room?.then(() => waiting.delete(turn));
            sent[next.turn] = (sent[next.turn] ?? 0) + next.cost;
            const inFlight = (sent[next.turn] ?? 0) - (pair.granted.get(next.turn + 1) ?? 0);
            expect(inFlight).toBeLessThanOrEqual(turnCredit + next.cost);
          } else if (next.do === "tick") await tick();
          else controls[next.turn]?.[next.do]();
        }
        for (const control of controls) control.cancel();
        await until(() => pair.lane.openTurns === 0 && pair.server?.openTurns === 0);
        pair.lane.stop();
      }),
      { numRuns: 100 },
    );
  });
});
