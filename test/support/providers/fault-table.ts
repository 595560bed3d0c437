/**
 * The faults of providers, by phase, with the outcome of a request. One table serves streams and complete answers, for a single endpoint and for one
 * followed by two others, of which the second fails in the same way and the third serves.
 */
import { type SocketFailure, httpAnswer, httpChunk, lastChunk, streamHead } from "./faulty-provider.ts";
import { chatChunk, sse } from "./upstream.ts";

export type Phase = "connection" | "head" | "first output" | "middle" | "end";

/** The failure as the client sees it. */
export interface ObservedFailure {
  /** HTTP status; 200 for a stream that fails late. */
  readonly status: number;
  /** Number of provider calls listed in the receipt. */
  readonly attempts: number;
  /** Minimum and maximum seconds of the retry hint; absent if there is no hint. */
  readonly retryAfter?: readonly [least: number, most: number];
  /** Type of the terminal event, for streams with status 200. */
  readonly terminal?: "response.completed" | "response.failed";
}

export interface FaultRow {
  /** Name of the fault, of letters, digits and dashes. */
  readonly name: string;
  readonly phase: Phase;
  /** Kind of answer to which the fault applies; both if absent. */
  readonly only?: "stream" | "whole";
  /** Behaviour of the provider. Undefined if Sluice gets no connection; the names `refused`, `silent`, `reset` and `nonsense` then say why. */
  readonly act?: SocketFailure;
  /** Timeouts of the provider in milliseconds; those not given are long. */
  readonly timeouts?: Readonly<Record<string, number>>;
  /** Whether the answer is complete, so the connection may be used again. */
  readonly clean?: true;
  readonly one: ObservedFailure;
  readonly three: ObservedFailure;
}

const briefly = 300;
const error = (fields: object) => JSON.stringify({ error: { message: "no", ...fields } });
const write =
  (...parts: readonly (string | Buffer)[]): SocketFailure =>
  (socket) => {
    for (const part of parts) socket.write(part);
  };
const reset: SocketFailure = (socket) => socket.resetAndDestroy();
const close: SocketFailure = (socket) => socket.destroySoon();
const nothing: SocketFailure = () => {};
const both =
  (before: SocketFailure, then: SocketFailure): SocketFailure =>
  (socket, seen) => {
    before(socket, seen);
    then(socket, seen);
  };
/** Delays a failure until the client has read the first output; in the same read, the failure would hide it. */
const onceSeen =
  (before: SocketFailure, then: SocketFailure): SocketFailure =>
  (socket, seen) => {
    before(socket, seen);
    void seen.then(() => then(socket, seen));
  };

const failed = (status: number, attempts = 1, retryAfter?: readonly [number, number]): ObservedFailure => ({
  status,
  attempts,
  ...(retryAfter && { retryAfter }),
});
/** The outcome if the third endpoint serves. */
const served = (attempts: number): ObservedFailure => ({ status: 200, attempts, terminal: "response.completed" });

type Rest = Omit<FaultRow, "name" | "phase" | "one" | "three">;
/** A fault after which another endpoint is called. @param one outcome with a single endpoint */
const moved = (phase: Phase, name: string, one: ObservedFailure, rest: Rest = {}, attempts = 3): FaultRow => ({
  name,
  phase,
  one,
  three: served(attempts),
  ...rest,
});
/** A fault that is reported without a fallback. */
const told = (phase: Phase, name: string, seen: ObservedFailure, rest: Rest = {}): FaultRow => ({
  name,
  phase,
  one: seen,
  three: seen,
  ...rest,
});

const connections: readonly FaultRow[] = [
  // A refused connection is tried again after a pause, since the server may be restarting.
  moved("connection", "refused", failed(502, 2)),
  // After a reset before any byte of the request was sent, each endpoint is called twice, without a pause.
  moved("connection", "reset", failed(502, 2), {}, 5),
  moved("connection", "nonsense", failed(502)),
  moved("connection", "silent", failed(524), { timeouts: { connect_ms: briefly } }),
];

/** Complete error answers. */
const statuses: readonly FaultRow[] = [
  ...([400, 422, 413] as const).map((status) =>
    told("head", `status-${status}`, failed(status), { act: write(httpAnswer(status, error({}))), clean: true }),
  ),
  ...(
    [
      [401, failed(502)],
      [402, failed(502)],
      [403, failed(502)],
      [404, failed(404)],
      [408, failed(524)],
      [409, failed(502)],
      [500, failed(502, 2)],
      [502, failed(502, 2)],
      [503, failed(502, 2)],
      [504, failed(524, 2)],
      [524, failed(524)],
      [529, failed(529, 1, [1, 2])],
    ] as const
  ).map(([status, one]) =>
    moved("head", `status-${status}`, one, { act: write(httpAnswer(status, error({}))), clean: true }),
  ),
  moved("head", "limited-for-long", failed(429, 1, [1, 60]), {
    act: write(httpAnswer(429, error({}), "retry-after: 60\r\n")),
    clean: true,
  }),
  // A rate limit of one second: the call waits and is made once more.
  moved("head", "limited", failed(429, 2, [1, 1]), { act: write(httpAnswer(429, error({}))), clean: true }),
  moved("head", "spent", failed(502), {
    act: write(httpAnswer(429, error({ code: "insufficient_quota" }))),
    clean: true,
  }),
  moved("head", "unavailable-for-long", failed(502, 1, [1, 60]), {
    act: write(httpAnswer(503, error({}), "retry-after: 60\r\n")),
    clean: true,
  }),
];

const heads: readonly FaultRow[] = [
  moved("head", "hang", failed(524), { act: nothing, timeouts: { headers_ms: briefly } }),
  moved("head", "reset", failed(502), { act: reset }),
  moved("head", "close", failed(502), { act: close }),
  moved("head", "nonsense", failed(502), { act: write("NONSENSE\r\n\r\n") }),
  moved("head", "redirect", failed(502), { act: write("HTTP/1.1 302 X\r\nlocation: /\r\ncontent-length: 0\r\n\r\n") }),
  moved("head", "page", failed(502), {
    act: write("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"),
  }),
  moved("head", "compressed", failed(502), {
    act: write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx"),
  }),
  moved("head", "oversize", failed(502), { act: write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}\r\n\r\n`) }),
  // The code inside of the error counts, although the status is 200.
  moved("head", "error-of-200", failed(502), { act: write(httpAnswer(200, error({ code: 503 }))), clean: true }),
  moved("head", "limit-of-200", failed(429, 2, [1, 1]), {
    act: write(httpAnswer(200, error({ code: 429 }))),
    clean: true,
  }),
];

const role = httpChunk(sse(chatChunk({ role: "assistant", content: "" })));
const half = httpChunk(sse(chatChunk({ content: "Half" })));
const finish = httpChunk(sse(chatChunk({}, "stop")));
const invalidUtf8 = Buffer.concat([Buffer.from('data: {"a":"'), Buffer.of(0xff), Buffer.from('"}\n\n')]);

/** Ways to break a stream, with the resulting status of each. */
const breaks: readonly (readonly [string, SocketFailure, number, Rest?])[] = [
  ["reset", reset, 502],
  ["close", close, 502],
  ["over", write(lastChunk), 502],
  ["done", write(httpChunk("data: [DONE]\n\n"), lastChunk), 502],
  ["nonsense", write(httpChunk("data: {nonsense\n\n")), 502],
  ["half-a-line", write(httpChunk('data: {"choices":[{"del'), lastChunk), 502],
  ["invalid-utf-8", write(httpChunk(invalidUtf8)), 502],
  ["broken-chunk", write("XYZ\r\n"), 502],
  ["error", write(httpChunk(`data: ${error({ code: 500 })}\n\n`)), 502],
  ["overloaded", write(httpChunk(`data: ${error({ type: "overloaded_error", message: "Overloaded" })}\n\n`)), 529],
];

const firstOutput: readonly FaultRow[] = [
  // The provider hangs until the time limit of the turn, which leaves no time for another endpoint.
  moved("first output", "hang", failed(408), {
    only: "stream",
    act: write(streamHead, role),
    timeouts: { first_event_ms: briefly },
  }),
  moved("first output", "hang", failed(524), {
    only: "whole",
    act: write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"),
    timeouts: { idle_ms: briefly },
  }),
  ...breaks.map(([name, act, status]) =>
    moved("first output", name, failed(status, 1, status === 529 ? [1, 2] : undefined), {
      only: "stream",
      act: both(write(streamHead, role), act),
    }),
  ),
];

/** The outcome if the client has already read data: no other endpoint is called, and the stream reports its failure. */
const broken: ObservedFailure = { status: 200, attempts: 1, terminal: "response.failed" };

const middles: readonly FaultRow[] = [
  ...breaks
    .filter(([name]) => name !== "done")
    .map(([name, act]) =>
      told("middle", name, broken, { only: "stream", act: onceSeen(write(streamHead, role, half), act) }),
    ),
  told("middle", "hang", broken, {
    only: "stream",
    act: write(streamHead, role, half),
    timeouts: { idle_ms: briefly },
  }),
];

const halfAnswer =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"choices":[{"mess';

/** Failures of complete answers, before the client has read anything. */
const wholes: readonly FaultRow[] = [
  moved("middle", "hang", failed(524), { only: "whole", act: write(halfAnswer), timeouts: { idle_ms: briefly } }),
  moved("middle", "reset", failed(502), { only: "whole", act: both(write(halfAnswer), reset) }),
  moved("middle", "close", failed(502), { only: "whole", act: both(write(halfAnswer), close) }),
  moved("middle", "half-a-body", failed(502), {
    only: "whole",
    act: write(httpAnswer(200, '{"choices":[{"m')),
    clean: true,
  }),
  moved("middle", "empty", failed(502), { only: "whole", act: write(httpAnswer(200, "")), clean: true }),
  moved("middle", "stream-without-end", failed(502), {
    only: "whole",
    act: write(streamHead, role, half, lastChunk),
    clean: true,
  }),
];

/** The outcome if the finish reason or the format's own end was received: only token counts are missing. */
const complete: ObservedFailure = { status: 200, attempts: 1, terminal: "response.completed" };

const ended = (name: string, act: SocketFailure, rest: Rest = {}): FaultRow =>
  told("end", name, complete, {
    only: "stream",
    act: onceSeen(write(streamHead, role, half), both(write(finish), act)),
    ...rest,
  });

const ends: readonly FaultRow[] = [
  told("end", "hang", complete, {
    only: "stream",
    act: write(streamHead, role, half, finish),
    timeouts: { idle_ms: briefly },
  }),
  told("end", "done-without-a-reason", complete, {
    only: "stream",
    act: onceSeen(write(streamHead, role, half), write(httpChunk("data: [DONE]\n\n"), lastChunk)),
    clean: true,
  }),
  ended("reset", reset),
  ended("close", close),
  ended("over", write(lastChunk), { clean: true }),
  ended("bytes-after-the-end", write(httpChunk("data: [DONE]\n\ndata: {nonsense\n\n"), lastChunk), { clean: true }),
];

export const faultTable: readonly FaultRow[] = [
  ...connections,
  ...statuses,
  ...heads,
  ...firstOutput,
  ...middles,
  ...wholes,
  ...ends,
];
