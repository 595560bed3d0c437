/** The layer that records calls: the provider is called once the start of the call is on disk, and never before. */
import { beforeEach, expect, test } from "@jest/globals";
import type { CallLedger, OnStarted } from "@sluice/inference-svc/models/ledger/ledger.js";
import type { CallEnd } from "@sluice/inference-svc/models/ledger/record.js";
import { recordLayer } from "@sluice/inference-svc/models/ledger/recorded.js";
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import type { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import type { Answer, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { testRequest, newScope } from "../../asking.ts";

const end: TurnEvent = { type: "end", outcome: { status: "completed", serviceTier: "default" } };

let started: OnStarted;
let closed: CallEnd[];
let asked: number;
let woken: number;
let abort: TurnAbort;
let answer: Answer;
const wake = () => void woken++;

beforeEach(() => {
  closed = [];
  asked = 0;
  woken = 0;
  const ledger: CallLedger = {
    open: (_, __, onStarted) => {
      started = onStarted;
      return { span: undefined, note: () => {}, close: (given) => void closed.push(given) };
    },
  };
  const callee = { model: "acme/large-2", provider: "acme", upstreamModel: "large-2" };
  const usage = { inputTokens: 1, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const provider = () => {
    asked++;
    return new WholeAnswer([end]);
  };
  const { scope, abort: given } = newScope();
  abort = given;
  answer = recordLayer({ ledger, callee, sent: () => usage, findTask: () => undefined }, provider)(
    testRequest(),
    scope,
  );
});

test("the provider is called once the start of the call is on disk", () => {
  expect([answer.next(wake), asked]).toEqual(["pending", 0]);
  started(undefined);
  expect([asked, woken]).toEqual([1, 1]);
  expect(answer.next(wake)).toEqual([end]);
  expect(closed).toMatchObject([{ status: "completed", finishReason: "stop" }]);
  expect(answer.next(wake)).toBe("end");
});

test("a call whose start cannot be written is not made, and has no end", () => {
  answer.next(wake);
  const unavailable = new Fault(FaultReason.UNAVAILABLE, "");
  started(unavailable);
  expect(() => answer.next(wake)).toThrow(unavailable);
  abort.abort(new Error("turn over"));
  expect([asked, woken, closed]).toEqual([0, 1, []]);
});

test("a call cancelled while its start is written is not made, and ends as cancelled", () => {
  answer.next(wake);
  abort.abort(new Error("cancelled by the client"));
  started(undefined);
  expect(() => answer.next(wake)).toThrow();
  expect(asked).toBe(0);
  expect(closed).toMatchObject([{ status: "cancelled", httpStatus: 499, tokens: undefined }]);
});

test("an answer closed while the start of its call is written makes no call", () => {
  void answer.close();
  started(undefined);
  expect(asked).toBe(0);
  expect(closed).toMatchObject([{ status: "cancelled", httpStatus: 499 }]);
});
