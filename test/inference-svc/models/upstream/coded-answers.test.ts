/** Unrequested content codings of answers, as added by proxies before providers. */
import { once } from "node:events";
import {
  type BrotliCompress,
  type Deflate,
  type Gzip,
  brotliCompressSync,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from "node:zlib";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { waitUntilStable } from "../../../support/clock.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  sse,
  startUpstream,
} from "../../../support/providers/upstream.js";
import {
  type TurnResult,
  type Engine,
  testRequest,
  testConfig,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";
import { cohereEnd, cohereStart, cohereTextBlock, wholeCohere } from "../dialects/cohere-translation.js";
import { converseAnswer, converseStart, endEvents, converseTextBlock } from "../dialects/converse-translation.js";
import {
  geminiStreamChunk as geminiChunk,
  lastGeminiChunk as geminiLast,
  geminiTextPart,
} from "../dialects/gemini-translation.js";
import * as messages from "../dialects/messages-translation.js";
import { completedEvent, messageItem } from "../../features/guardrails/reading.js";

let upstream: Upstream;
let engine: Engine;
afterEach(async () => {
  await engine?.upstreams.close();
  await upstream?.stop();
});

async function begin(replies: readonly Reply[], settings: Parameters<typeof testConfig>[0] = {}): Promise<void> {
  upstream = await startUpstream(replies);
  engine = openEngine(testConfig({ url: upstream.url, ...settings }));
}

/** The text of a streamed or a whole answer. */
const said = ({ events }: TurnResult): string[] =>
  events.flatMap((event) =>
    event.type === "item.end" ? (event.item.content as { text: string }[]).map(({ text }) => text) : [],
  );

type Pack = (bytes: string | Uint8Array) => Buffer;

const codings: readonly (readonly [string, Pack])[] = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["GZIP", gzipSync],
  ["identity, gzip", gzipSync],
  ["deflate", deflateSync],
  // Some servers leave out the zlib header.
  ["deflate", deflateRawSync],
  ["br", brotliCompressSync],
];

/** The same reply with its body in a coding. */
function packed(reply: Reply, coding: string, pack: Pack): Reply {
  const [first] = reply.chunks ?? [];
  const type = first?.json === undefined ? "text/event-stream" : "application/json";
  const body = first?.bytes ?? (first?.json === undefined ? sse(...(first?.sse ?? [])) : JSON.stringify(first.json));
  const headers = { "content-type": type, ...reply.headers, "content-encoding": coding };
  return { ...reply, headers, chunks: [{ bytes: pack(body) }] };
}

const gzipped = (reply: Reply): Reply => packed(reply, "gzip", gzipSync);

/** The chunks of a server with a flush after each part; the last chunk ends the coding. */
async function flushed(coder: Gzip | Deflate | BrotliCompress, ...parts: readonly string[]): Promise<Buffer[]> {
  let given: Buffer[] = [];
  coder.on("data", (piece: Buffer) => given.push(piece));
  const pieces: Buffer[] = [];
  const take = () => {
    pieces.push(Buffer.concat(given));
    given = [];
  };
  for (const part of parts) {
    coder.write(part);
    await new Promise<void>((resolve) => {
      coder.flush(() => resolve());
    });
    take();
  }
  coder.end();
  await once(coder, "end");
  take();
  return pieces;
}

const hi = chatChunk({ content: "Hi" });
const stop = chatChunk({}, "stop");

describe("compressed answers of a provider", () => {
  test.each(codings)("are unpacked from %s", async (coding, pack) => {
    const whole = chatAnswer({ role: "assistant", content: "Grüße aus 東京" });
    await begin([packed(chatStream("Grüße ", "aus 東京"), coding, pack), packed(whole, coding, pack)]);
    for (const stream of [true, false]) {
      const ending = await runTestTurn(engine.turn, testRequest({ stream }));
      expect([ending.fault, said(ending)]).toEqual([undefined, ["Grüße aus 東京"]]);
    }
    expect(upstream.requests[0]?.headers["accept-encoding"]).toBe("identity");
  });

  const frames = { headers: { "content-type": "application/vnd.amazon.eventstream" } };
  test.each<[string, Reply, Reply]>([
    [
      "responses",
      { chunks: [{ sse: [completedEvent([messageItem("m", "Hi")])] }] },
      { chunks: [{ json: { id: "r", status: "completed", output: [messageItem("m", "Hi")] } }] },
    ],
    [
      "messages",
      {
        chunks: [
          {
            sse: [
              messages.messagesStart(),
              ...messages.messagesTextBlock(0, "Hi"),
              ...messages.messagesStop("end_turn"),
            ],
          },
        ],
      },
      { chunks: [{ json: messages.wholeMessage([{ type: "text", text: "Hi" }]) }] },
    ],
    [
      "gemini",
      { chunks: [{ sse: [geminiChunk([geminiTextPart("Hi")]), geminiLast()] }] },
      { chunks: [{ json: geminiLast([geminiTextPart("Hi")]) }] },
    ],
    [
      "cohere",
      { chunks: [{ sse: [cohereStart, ...cohereTextBlock(0, "Hi"), cohereEnd()] }] },
      { chunks: [{ json: wholeCohere({ content: [{ type: "text", text: "Hi" }] }) }] },
    ],
    [
      "converse",
      {
        ...frames,
        chunks: [{ bytes: Buffer.concat([converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents("end_turn")]) }],
      },
      { chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] },
    ],
  ])("of the dialect %s are decoded", async (dialect, streamed, whole) => {
    await begin([gzipped(streamed), gzipped(whole)], { dialect });
    for (const stream of [true, false]) {
      const ending = await runTestTurn(engine.turn, testRequest({ stream }));
      expect([ending.fault, said(ending)]).toEqual([undefined, ["Hi"]]);
    }
  });

  test("with an error keep its status and its message", async () => {
    const error = { error: { message: "tools.0: unknown field", type: "invalid_request_error" } };
    await begin([gzipped({ status: 400, chunks: [{ json: error }] })]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect([fault?.reason, fault?.message]).toEqual([FaultReason.INVALID_REQUEST, "tools.0: unknown field"]);
  });

  test.each(["zstd", "gzip"])("with an error that cannot be unpacked (%s) keep the status", async (coding) => {
    const headers = { "content-type": "application/json", "content-encoding": coding };
    await begin([{ status: 429, headers, chunks: [{ bytes: "nonsense" }] }]);
    expect((await runTestTurn(engine.turn, testRequest())).fault?.reason).toBe(FaultReason.RATE_LIMITED);
  });

  test("leave their connections usable", async () => {
    await begin([gzipped(chatStream("Hi"))]);
    for (let count = 0; count < 5; count++) await runTestTurn(engine.turn, testRequest());
    expect(upstream.openSockets).toBeLessThanOrEqual(2);
  });
});

describe("a compressed stream of a provider", () => {
  test.each([
    ["gzip", createGzip],
    ["deflate", createDeflate],
    ["deflate", createDeflateRaw],
    ["br", createBrotliCompress],
  ] as const)("gives each event when it comes: %s, %#", async (coding, create) => {
    const [first, second, rest] = await flushed(create(), sse(hi), sse(chatChunk({ content: "you" }), stop, "[DONE]"));
    let release = () => {};
    const taken = new Promise<void>((resolve) => {
      release = resolve;
    });
    await begin([
      {
        headers: { "content-encoding": coding },
        chunks: [{ bytes: first ?? "" }, { bytes: second ?? "", after: taken }, { bytes: rest ?? "" }],
      },
    ]);
    const { scope, abort } = newScope();
    const batches = engine.turn(testRequest(), scope)[Symbol.asyncIterator]();
    const one = await batches.next();
    expect(one.value).toMatchObject([{ type: "start" }, { type: "item.start" }, { type: "text.delta", delta: "Hi" }]);
    release();
    const two = await batches.next();
    expect(two.value).toMatchObject([{ type: "text.delta", delta: "you" }, { type: "item.end" }, { type: "end" }]);
    abort.abort(new Error("left"));
  });

  test("gives the same events when cut anywhere", async () => {
    const bytes = Buffer.concat(await flushed(createGzip(), sse(hi), sse(stop, "[DONE]")));
    const chunks = Array.from(bytes, (byte) => ({ bytes: Uint8Array.of(byte), after: new Promise(setImmediate) }));
    await begin([{ headers: { "content-encoding": "gzip" }, chunks }]);
    expect(said(await runTestTurn(engine.turn, testRequest()))).toEqual(["Hi"]);
  });

  test.each<[string, Partial<Reply>]>([
    ["ends", {}],
    ["breaks", { cut: true }],
  ])("%s before its finish has failed", async (_, how) => {
    const [first, second] = await flushed(createGzip(), sse(hi), sse(stop));
    const headers = { "content-encoding": "gzip" };
    await begin([
      { ...how, headers, chunks: [{ bytes: first ?? "" }] },
      { ...how, headers, chunks: [{ bytes: first ?? "" }, { bytes: second ?? "" }] },
    ]);
    const broken = await runTestTurn(engine.turn, testRequest());
    expect([broken.fault?.reason, broken.fault?.message]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "Provider connection lost",
    ]);
    // After this point of the stream, only the usage is missing.
    const { fault, events } = await runTestTurn(engine.turn, testRequest());
    expect(fault).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed", usage: { estimated: true } } });
  });

  test("is a failure without its end, even with a whole answer", async () => {
    const bytes = gzipSync(
      JSON.stringify({ choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] }),
    );
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    await begin([{ headers, chunks: [{ bytes: bytes.subarray(0, -20) }] }]);
    expect((await runTestTurn(engine.turn, testRequest({ stream: false }))).fault?.reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
  });

  test.each<[string, string | Uint8Array, string, string]>([
    [
      "that is damaged",
      gzipSync(sse(hi, stop)).fill(0xff, 10, 20),
      "gzip",
      "content-encoding gzip that cannot be read",
    ],
    ["that is none", sse(hi, stop), "gzip", "content-encoding gzip that cannot be read"],
    ["of another name", sse(hi, stop), "zstd", "content-encoding zstd"],
    ["over another", gzipSync(gzipSync(sse(hi, stop))), "gzip, gzip", "content-encoding gzip, gzip"],
  ])("is a failure with one %s", async (_, bytes, coding, detail) => {
    await begin([{ headers: { "content-encoding": coding }, chunks: [{ bytes }] }]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect([fault?.reason, (fault?.cause as Error | undefined)?.message]).toEqual([
      FaultReason.PROVIDER_FAILED,
      detail,
    ]);
  });
});

describe("limits of compressed answers", () => {
  test("count the unpacked bytes, up to 64 MiB", async () => {
    const bytes = gzipSync(`{"a":"${"x".repeat(65 * 1024 * 1024)}"}`);
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    await begin([{ headers, chunks: [{ bytes }] }]);
    const { fault } = await runTestTurn(engine.turn, testRequest({ stream: false }));
    expect([fault?.reason, (fault?.cause as Error | undefined)?.message]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "answer of more than 67108864 bytes",
    ]);
  });

  test("stop reading an error page above 64 KiB", async () => {
    const headers = { "content-type": "text/html", "content-encoding": "br" };
    await begin([{ status: 400, headers, chunks: [{ bytes: brotliCompressSync("x".repeat(65_537)) }], hang: true }]);
    expect((await runTestTurn(engine.turn, testRequest())).fault?.reason).toBe(FaultReason.INVALID_REQUEST);
  });

  test("pause the provider for a slow reader, who gets the whole answer", async () => {
    const words = Buffer.from(crypto.getRandomValues(new Uint8Array(24 * 1024))).toString("base64");
    const parts = Array.from({ length: 1_500 }, () => sse(chatChunk({ content: words })));
    // Level 0 does not compress, so as many bytes wait as were sent.
    const pieces = await flushed(createGzip({ level: 0 }), ...parts, sse(stop, "[DONE]"));
    await begin([{ headers: { "content-encoding": "gzip" }, chunks: pieces.map((bytes) => ({ bytes })) }]);
    const { scope, abort } = newScope();
    const batches = engine.turn(testRequest(), scope)[Symbol.asyncIterator]();
    await batches.next();
    let characters = words.length;
    const ahead = async () => (await waitUntilStable(() => upstream.bytesWritten)) - characters;
    const read = async (limit: number) => {
      while (characters < limit) {
        const next = await batches.next();
        if (next.done === true) return;
        for (const event of next.value) if (event.type === "text.delta") characters += event.delta.length;
      }
    };
    expect(await ahead()).toBeLessThan(20 * 1024 * 1024);
    await read(750 * words.length);
    // Memory must stay bounded, however much is read.
    expect(await ahead()).toBeLessThan(20 * 1024 * 1024);
    await read(Number.POSITIVE_INFINITY);
    expect(characters).toBe(1_500 * words.length);
    abort.abort(new Error("left"));
  });

  test("close the socket of an unread stream at an abort", async () => {
    const [first] = await flushed(createGzip(), sse(hi));
    await begin([{ headers: { "content-encoding": "gzip" }, chunks: [{ bytes: first ?? "" }], hang: true }]);
    const { scope, abort } = newScope();
    await openAnswer(engine.turn(testRequest(), scope));
    const closed = upstream.nextClose();
    abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED));
    await closed;
    expect(upstream.openSockets).toBe(0);
  });
});
