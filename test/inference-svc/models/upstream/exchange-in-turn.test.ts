/** How an overloaded process reads a provider's answer: when it is the key's turn. */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Call } from "@sluice/inference-svc/models/upstream/transport/call.js";
import { serverSentEvents } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { Exchange, type Wire } from "@sluice/inference-svc/models/upstream/transport/exchange.js";
import { ResponseHead } from "@sluice/inference-svc/models/upstream/transport/http/response-head.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { eventLoop, longText, minRestTurns } from "@sluice/proto/lib/load/fair-shares.js";
import { type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, openEngine, runTestTurn, openAnswer } from "../../asking.js";

/** From this call on, work of another key waits, so the answer is not read at once. */
const occupy = () => eventLoop.wait("another key", () => {});

/** The end of the connection that a call holds. */
class Flow implements Wire {
  paused = false;
  closed = false;
  send(): void {}
  close(): void {
    this.closed = true;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
}

/**
 * A provider call whose answer has begun. Each event has a word.
 * @param work done for each event
 */
function openExchange({ type = "text/event-stream", work = () => {} } = {}) {
  const words: string[] = [];
  let done = false;
  const signal = new TurnAbort();
  const call: Call = {
    timeouts: { headers_ms: 60_000, first_event_ms: 60_000, idle_ms: 60_000 },
    attemptDeadline: { withinMs: Number.POSITIVE_INFINITY, last: true },
    keyHash: "key",
    signal,
    held: heldBytes.open("key", () => {}),
    stream: true,
    framing: serverSentEvents,
    fault: () => Fault.from(new Error("no")),
    reported: () => {},
    abandoned: () => {},
  };
  const exchange = new Exchange(call, { head: "", body: "" }, (emit) => ({
    get done() {
      return done;
    },
    finished: false,
    usage: undefined,
    event(_name: string | undefined, data: string) {
      const { delta } = JSON.parse(data) as { delta: string };
      work();
      words.push(delta);
      emit({ type: "text.delta", index: 0, part: 0, delta });
    },
    close() {
      done = true;
      emit({ type: "end", outcome: { status: "completed", serviceTier: "default" } });
    },
    cut() {},
  }));
  const flow = new Flow();
  const answer = exchange.start(flow);
  exchange.onRequestStart();
  exchange.onResponseStart(new ResponseHead(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n\r\n`));
  const say = (word: string) => {
    const data = word === "[DONE]" ? word : JSON.stringify({ delta: word });
    const bytes = Buffer.from(`data: ${data}\n\n`);
    exchange.onResponseData(bytes);
    // The next read overwrites the bytes of the previous one.
    bytes.fill("x");
  };
  return { exchange, flow, signal, answer, say, words };
}

describe("an exchange with a provider in a busy process", () => {
  test.each([
    ["received bytes are read later", 10_000, false],
    ["a provider that sends much is paused meanwhile", 20_000, true],
  ])("takes its turn among others: %s", async (_, length, stopped) => {
    const { flow, signal, answer, say, words } = openExchange();
    const said = ["a", "b", "c"].map((letter) => letter.repeat(length));
    occupy();
    for (const word of said) say(word);
    expect([flow.paused, words]).toEqual([stopped, []]);
    await openAnswer(answer);
    expect([flow.paused, words]).toEqual([false, said]);
    signal.abort(new Error("over"));
  });

  test("frees its connection at the end of an already read body", async () => {
    const { exchange, flow, answer, say } = openExchange();
    occupy();
    for (const word of ["a", "[DONE]"]) say(word);
    await openAnswer(answer);
    while (eventLoop.waiting > 0) await new Promise(setImmediate);
    expect([flow.paused, flow.closed]).toEqual([false, false]);
    exchange.onResponseEnd();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(flow.closed).toBe(false);
  });

  test("is read at its consumer's pace, to the end of the body", async () => {
    const { exchange, flow, answer, say, words } = openExchange();
    say("first");
    const batches = answer[Symbol.asyncIterator]();
    await batches.next();
    occupy();
    for (let count = 0; count < 10; count++) say("x".repeat(20_000));
    exchange.onResponseEnd();
    for (let waits = true; waits; await new Promise(setImmediate)) waits = eventLoop.waiting > 0;
    expect([words.length, flow.closed]).toEqual([3, false]);
    let said = 0;
    for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
      for (const event of next.value) if (event.type === "text.delta") said += event.delta.length;
    }
    expect(said).toBe(200_000);
  });
});

/** Counts turns of the event loop at each call. */
function countTurns() {
  let turns = 0;
  let counting = true;
  const count = () => void (counting && (turns++, setImmediate(count)));
  setImmediate(count);
  const at: number[] = [];
  const work = () => {
    at.push(turns);
    for (const end = performance.now() + 30; performance.now() < end; );
  };
  const between = () => {
    counting = false;
    return at.slice(1).map((turn, index) => turn - at[index]!);
  };
  return { work, between };
}

const long = (word: string) => JSON.stringify({ delta: word.repeat(longText) });

describe("a provider exchange lets others run between", () => {
  test("whole answers that end at once", async () => {
    const { work, between } = countTurns();
    const exchanges = ["a", "b", "c"].map((word) => {
      const opened = openExchange({ type: "application/json", work });
      opened.exchange.onResponseData(Buffer.from(long(word)));
      return opened;
    });
    for (const { exchange } of exchanges) exchange.onResponseEnd();
    for (const { answer } of exchanges) await openAnswer(answer);
    for (const turns of between()) expect(turns).toBeGreaterThanOrEqual(minRestTurns);
    expect(exchanges.map(({ words }) => words.map(([letter]) => letter))).toEqual([["a"], ["b"], ["c"]]);
  });

  test("long events of one read, whose order stays", async () => {
    const { work, between } = countTurns();
    const { exchange, answer, flow, words } = openExchange({ work });
    const events = [long("a"), '{"delta":"b"}', long("c"), "[DONE]"];
    exchange.onResponseData(Buffer.from(events.map((data) => `data: ${data}\n\n`).join("")));
    expect([words, flow.paused]).toEqual([[], true]);
    const batches = answer[Symbol.asyncIterator]();
    while ((await batches.next()).done !== true);
    for (const turns of between().slice(1)) expect(turns).toBeGreaterThanOrEqual(minRestTurns);
    expect([words.map(([letter]) => letter), flow.paused]).toEqual([["a", "b", "c"], false]);
  });

  test("a lost connection and the events before it, which end the answer", async () => {
    const { exchange, answer, words } = openExchange();
    exchange.onResponseData(Buffer.from(`data: ${long("a")}\n\n`));
    exchange.onResponseError(new Error("lost"));
    await expect(openAnswer(answer)).rejects.toThrow("Provider connection lost");
    expect(words).toHaveLength(1);
  });
});

describe("too many JSON values in an exchange with a provider", () => {
  const values = Buffer.from("[],".repeat(50_000));
  const message = "The answer is too large: more than 1000000 JSON values";

  test("end a whole answer while it arrives", async () => {
    const { exchange, answer, flow } = openExchange({ type: "application/json" });
    exchange.onResponseData(Buffer.from('{"a":['));
    let received = 0;
    for (; received < 40 && !flow.closed; received++) {
      exchange.onResponseData(values);
      while (eventLoop.waiting > 0) await new Promise(setImmediate);
    }
    expect([received, flow.closed]).toEqual([18, true]);
    await expect(openAnswer(answer)).rejects.toThrow(message);
  });

  test("end a stream before the event with them is parsed", async () => {
    const { exchange, answer, flow, words } = openExchange();
    exchange.onResponseData(Buffer.from(`data: {"delta":[${"[],".repeat(1_000_000)}[]]}\n\n`));
    await expect(openAnswer(answer)).rejects.toThrow(message);
    expect([flow.closed, words]).toEqual([true, []]);
  });

  test("are not counted within texts", async () => {
    const { exchange, answer, words } = openExchange({ type: "application/json" });
    exchange.onResponseData(Buffer.from(long('[{,"')));
    exchange.onResponseEnd();
    await openAnswer(answer);
    expect(words[0]).toHaveLength(4 * longText);
  });
});

describe("a provider exchange over a real connection", () => {
  let upstream: Upstream;
  let engine: Engine;
  afterEach(async () => {
    await engine?.upstreams.close();
    await upstream?.stop();
  });

  test("has a whole answer, in a busy process, too", async () => {
    const words = Array.from({ length: 2_000 }, (_, index) => `word ${index} `);
    upstream = await startUpstream([chatStream(...words)]);
    engine = openEngine(testConfig({ url: upstream.url }));
    const occupied = setInterval(occupy);
    const { events } = await runTestTurn(engine.turn, testRequest());
    clearInterval(occupied);
    const said = events.map((event) => (event.type === "text.delta" ? event.delta : "")).join("");
    expect(said).toBe(words.join(""));
    expect(events.at(-1)?.type).toBe("end");
  });
});
