/** Requests and answers of every format over a socket: paths and headers, and failures before and after the first text. */
import { afterEach, describe, expect, test } from "@jest/globals";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, newScope, openEngine, runTestTurn, testConfig, openAnswer } from "../../asking.ts";
import type { WireFormat } from "./scenes/format.ts";
import { wireFormats } from "./scenes/formats.ts";
import { type Scene, textPiece } from "./scenes/scene.ts";

const hi: Scene = { pieces: [textPiece("H", "i")] };

interface Access {
  /** Path after the address of the server. */
  readonly base: string;
  readonly model: string;
  /** Paths for a stream and for a whole answer. */
  readonly paths: readonly [string, string];
  readonly headers: Readonly<Record<string, string>>;
  /** An answer for a provider without capacity. */
  readonly busy: Reply;
  /** A failure in the stream after which another endpoint may answer. */
  readonly late: FaultReason;
}

const bearer = { authorization: "Bearer upstream-key" };
const busy = (status: number, json: object, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers,
  chunks: [{ json }],
});

const access: Readonly<Record<string, Access>> = {
  chat: {
    base: "/v1",
    model: "large-2",
    paths: ["/v1/chat/completions", "/v1/chat/completions"],
    headers: bearer,
    busy: busy(503, { error: { message: "Overloaded" } }),
    late: FaultReason.PROVIDER_OVERLOADED,
  },
  responses: {
    base: "/v1",
    model: "large-2",
    paths: ["/v1/responses", "/v1/responses"],
    headers: bearer,
    busy: busy(503, { error: { message: "Overloaded" } }),
    late: FaultReason.PROVIDER_FAILED,
  },
  messages: {
    base: "/v1",
    model: "large-2",
    paths: ["/v1/messages", "/v1/messages"],
    headers: { "x-api-key": "upstream-key", "anthropic-version": "2023-06-01" },
    busy: busy(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    late: FaultReason.PROVIDER_OVERLOADED,
  },
  gemini: {
    base: "/v1beta",
    model: "gemini-3.6-flash",
    paths: [
      "/v1beta/models/gemini-3.6-flash:streamGenerateContent?alt=sse",
      "/v1beta/models/gemini-3.6-flash:generateContent",
    ],
    headers: { "x-goog-api-key": "upstream-key" },
    busy: busy(503, { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
    late: FaultReason.PROVIDER_OVERLOADED,
  },
  converse: {
    base: "",
    model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    paths: [
      "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
      "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    ],
    headers: bearer,
    busy: busy(429, { message: "Why" }, { "x-amzn-errortype": "ThrottlingException" }),
    late: FaultReason.PROVIDER_FAILED,
  },
  cohere: {
    base: "",
    model: "command-a",
    paths: ["/v2/chat", "/v2/chat"],
    headers: bearer,
    busy: busy(503, { message: "Why", id: "x" }),
    late: FaultReason.PROVIDER_FAILED,
  },
};

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Two endpoints at the same server. */
async function open(format: WireFormat, ...replies: readonly Reply[]): Promise<[Upstream, Engine]> {
  const upstream = await startUpstream(replies);
  closers.push(() => upstream.stop());
  const { base, model } = access[format.name] as Access;
  const provider = { dialect: format.name, base_url: `${upstream.url}${base}`, api_keys: ["upstream-key"] };
  const endpoints = ["one", "two"].map((id) => ({ provider: id, upstream_model: model }));
  const engine = openEngine(
    testConfig({
      providers: ["one", "two"].map((id) => ({ id, ...provider })),
      models: [{ id: "acme/large-2", max_output_tokens: 9_000, endpoints }],
    }),
  );
  closers.push(() => engine.upstreams.close());
  return [upstream, engine];
}

const streamed = (format: WireFormat, reads: readonly Uint8Array[]): Reply => ({
  headers: { "content-type": format.dialect.framing.type },
  chunks: reads.map((bytes) => ({ bytes })),
});

const answer = (format: WireFormat, stream: boolean): Reply =>
  stream
    ? streamed(format, format.stream(hi))
    : { headers: { "content-type": "application/json" }, chunks: [{ bytes: format.whole(hi) }] };

/** The events before the first text. */
const beginning = (format: WireFormat): readonly Uint8Array[] =>
  format.stream(hi).slice(
    0,
    format.stream(hi).findIndex((event) => event.toString().includes('"H"')),
  );
/** The events up to and including the first text. */
const begun = (format: WireFormat): readonly Uint8Array[] => format.stream(hi).slice(0, beginning(format).length + 1);

/** A failure of the provider. */
function failureOf({ name, failures }: WireFormat): Uint8Array {
  const { late } = access[name] as Access;
  const [event] = failures.find(([, reason]) => reason === late) as (typeof failures)[number];
  return event;
}

describe.each(wireFormats.filter(({ name }) => name in access))(
  "a request to a provider of $name over a socket",
  (format) => {
    const { paths, headers, busy, late } = access[format.name] as Access;

    test("has the path of its model and the key, and requests a stream or a whole answer", async () => {
      const [upstream, { turn }] = await open(format, answer(format, true), answer(format, false));
      for (const stream of [true, false]) {
        const { events } = await runTestTurn(turn, testRequest({ stream }));
        expect(events.flatMap((event) => (event.type === "item.end" ? [event.item.content] : []))).toMatchObject([
          [{ text: "Hi" }],
        ]);
        expect(events.at(-1)?.type).toBe("end");
      }
      expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
        paths.map((path) => `POST ${path}`),
      );
      expect(upstream.requests.map((request) => request.headers.accept)).toEqual([
        format.dialect.framing.type,
        "application/json",
      ]);
      for (const request of upstream.requests) {
        expect(request.headers).toMatchObject(headers);
        if (!("authorization" in headers)) expect(request.headers.authorization).toBeUndefined();
      }
    });

    test.each<[string, boolean, () => Reply]>([
      ["as an answer", true, () => busy],
      ["as an answer", false, () => busy],
      ["in the stream", true, () => streamed(format, [...beginning(format), failureOf(format)])],
      [
        "by a stream that stops",
        true,
        () => streamed(format, beginning(format).length > 0 ? beginning(format) : [Buffer.from("\n")]),
      ],
    ])(
      "falls back to the next endpoint after a failure before any text, %s (stream: %s)",
      async (_, stream, failure) => {
        const [upstream, { turn }] = await open(format, failure(), answer(format, stream));
        const { events, fault } = await runTestTurn(turn, testRequest({ stream }));
        expect([fault, events.at(-1)?.type, upstream.requests.length]).toEqual([undefined, "end", 2]);
      },
    );

    test("fails the turn after a failure behind a text", async () => {
      let fail: (value?: unknown) => void = () => undefined;
      const after = new Promise((resolve) => {
        fail = resolve;
      });
      const { chunks = [], headers: type = {} } = streamed(format, begun(format));
      const [upstream, { turn }] = await open(format, {
        headers: type,
        chunks: [...chunks, { bytes: failureOf(format), after }],
      });
      const batches = await openAnswer(turn(testRequest(), newScope().scope));
      fail();
      const reading = (async () => {
        for await (const _ of batches);
      })();
      const failure: unknown = await reading.catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Fault);
      expect([(failure as Fault).reason, upstream.requests.length]).toEqual([late, 1]);
    });

    test("fails without another attempt when its stream is cut after a text", async () => {
      const [upstream, { turn }] = await open(format, { ...streamed(format, begun(format)), cut: true });
      const { fault, rejected } = await runTestTurn(turn, testRequest());
      expect([fault?.reason, rejected, upstream.requests.length]).toEqual([FaultReason.PROVIDER_FAILED, false, 1]);
    });
  },
);
