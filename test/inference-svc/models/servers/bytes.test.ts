/** How servers of all vendors write their answers: the body is read by its content, whatever its header. */
import { describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Chunk, type Reply, chatChunk, sse } from "../../../support/providers/upstream.js";
import {
  runAgainstServer,
  bytesReply,
  greetingChunk,
  outcomeOf,
  readItems,
  stopChunk,
  sseReply,
} from "./odd-server.js";

const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
});

describe("the bytes of a provider's stream", () => {
  const events = [greetingChunk, stopChunk].map((event) => JSON.stringify(event));
  const written = (line: (json: string) => string, end: string) => events.map((json) => line(json) + end).join("");
  test.each<[string, string]>([
    ["CRLF", `${written((json) => `data: ${json}`, "\r\n\r\n")}data: [DONE]\r\n\r\n`],
    ["CR only", `${written((json) => `data: ${json}`, "\r\r")}data: [DONE]\r\r`],
    ["no space after the colon", `${written((json) => `data:${json}`, "\n\n")}data:[DONE]\n\n`],
    [
      "a byte order mark, comments, ids, a retry",
      `\ufeff: hi\nretry: 1\n\n${written((json) => `id: 1\ndata: ${json}`, "\n\n")}`,
    ],
    [
      "JSON over several lines of data",
      `data: {"choices":\ndata: [{"delta":{"content":"Hi"},\ndata: "finish_reason":"stop"}]}\n\n`,
    ],
    ["blank after the last word", `${written((json) => `data: ${json} `, "\n\n")}data: [DONE] \n\n`],
    [
      "empty events between",
      `data:\n\nevent: ping\ndata: \n\n${written((json) => `data: ${json}`, "\n\n: \n\n")}data: [DONE]\n\n`,
    ],
  ])("may be written in any way: %s", async (_, text) => {
    const ending = await runAgainstServer(bytesReply(text));
    expect([readItems(ending), outcomeOf(ending).status]).toEqual([["Hi"], "completed"]);
  });

  test("may have a line of 8 MiB", async () => {
    const content = "x".repeat(8 * 1024 * 1024);
    const ending = await runAgainstServer(sseReply(chatChunk({ content }), stopChunk, "[DONE]"));
    expect([readItems(ending)[0] === content, outcomeOf(ending).status]).toEqual([true, "completed"]);
  });

  test("may come one at a time", async () => {
    const text = Buffer.from(sse(greetingChunk, stopChunk, "[DONE]"));
    const chunks: Chunk[] = Array.from(text, (byte) => ({
      bytes: Uint8Array.of(byte),
      after: new Promise(setImmediate),
    }));
    expect(readItems(await runAgainstServer({ chunks }))).toEqual(["Hi"]);
  });
});

describe("a provider's response head that contradicts its body", () => {
  const streamed = sse(greetingChunk, stopChunk, "[DONE]");
  test.each<[string, Reply]>([
    ["a stream called text/plain", bytesReply(streamed, "text/plain; charset=utf-8")],
    ["a stream called JSON", bytesReply(streamed, "application/json")],
    ["a stream called nothing", bytesReply(streamed, "")],
    ["a stream of octets", bytesReply(streamed, "application/octet-stream")],
    ["a whole answer called a stream", bytesReply(whole)],
    ["a whole answer called text/plain", bytesReply(whole, "text/plain")],
    ["a whole answer called nothing", bytesReply(whole, "")],
    ["blanks before a whole answer", bytesReply(`\n\n  \r\n${whole}\n`, "application/json")],
    ["a byte order mark before a whole answer", bytesReply(`\ufeff${whole}`, "application/json")],
  ])("is read by its body: %s", async (_, reply) => {
    for (const streaming of [true, false]) {
      const ending = await runAgainstServer(reply, { stream: streaming });
      expect(outcomeOf(ending).status).toBe("completed");
      expect(JSON.stringify(ending.events)).toContain("Hi");
    }
  });

  test("may repeat its header", async () => {
    const twice = { "content-type": ["text/event-stream", "text/event-stream"] } as unknown as Record<string, string>;
    expect(outcomeOf(await runAgainstServer({ headers: twice, chunks: [{ bytes: streamed }] })).status).toBe(
      "completed",
    );
    const again = { "retry-after": ["7", "9"] } as unknown as Record<string, string>;
    const { fault } = await runAgainstServer({
      status: 429,
      headers: again,
      chunks: [{ json: { error: { message: "no" } } }],
    });
    expect(fault?.reason).toBe(FaultReason.RATE_LIMITED);
    // The retry time is counted down until the fault reaches the client.
    expect(fault?.retryAfterMs).toBeGreaterThan(0);
    expect(fault?.retryAfterMs).toBeLessThanOrEqual(7_000);
  });

  test.each<[string, Reply]>([
    ["a page", bytesReply("<html>nginx</html>", "text/html")],
    ["a page called text/plain", bytesReply("<html>nginx</html>", "text/plain")],
    ["a page called a stream", bytesReply("\n<!doctype html>")],
    ["an image", bytesReply("x", "image/png")],
  ])("with %s is no answer: another endpoint is called", async (_, reply) => {
    expect((await runAgainstServer(reply)).fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(readItems(await runAgainstServer(reply, { fallback: true }))).toEqual(["Good."]);
  });

  test("may call a JSON error a stream", async () => {
    const reply = bytesReply(JSON.stringify({ error: { message: "slow", code: 429 } }));
    expect((await runAgainstServer(reply)).fault?.reason).toBe(FaultReason.RATE_LIMITED);
  });
});

test("Gemini's answer is read without server-sent events, as one array of all chunks", async () => {
  const chunk = (text: string, more: object = {}) => ({ candidates: [{ content: { parts: [{ text }] }, ...more }] });
  const reply = (...chunks: readonly unknown[]): Reply => ({ chunks: [{ json: chunks }] });
  const call = {
    candidates: [
      {
        content: { parts: [{ functionCall: { name: "f", args: { n: 1 } } }] },
        finishReason: "STOP",
      },
    ],
  };
  const text = JSON.stringify([chunk("Hi, "), chunk("you."), call]).replace('"n":1', '"n":12345678901234567890');
  const ending = await runAgainstServer(bytesReply(text, "application/json"), { dialect: "gemini" });
  expect(readItems(ending)).toEqual(["Hi, you.", { call: "f", arguments: '{"n":12345678901234567890}' }]);
  expect(
    (await runAgainstServer(reply(chunk("Hi"), { error: { code: 503, status: "UNAVAILABLE" } }), { dialect: "gemini" }))
      .fault?.reason,
  ).toBe(FaultReason.PROVIDER_OVERLOADED);
  for (const half of ["[", '[{"candidates":[', "[]", "[1]"])
    expect((await runAgainstServer(bytesReply(half, "application/json"), { dialect: "gemini" })).fault?.reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
});
