import { PassThrough } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { type LogLevel, openLog } from "@sluice/proto/lib/log/log.js";
import { loggedError, redact } from "@sluice/proto/lib/log/error.js";
import { logMember } from "@sluice/proto/lib/log/text.js";

/** A logger, and its written lines as objects. */
function logging(level: LogLevel) {
  const sink = new PassThrough({ encoding: "utf8" });
  const log = openLog("test", level, { write: (line) => sink.write(line) });
  const written = () =>
    String(sink.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, written };
}

describe("the writer of log lines", () => {
  test("writes the same line as the logger", () => {
    const { log, written } = logging("info");
    log.info({ model: 'a "quoted"\nslug', ms: 3, attempts: [{ status: 200 }], route: undefined }, "turn");
    log
      .lines("turn")
      .info(
        `${logMember("model", 'a "quoted"\nslug')},"ms":3${logMember("attempts", [{ status: 200 }])}${logMember("route", undefined)}`,
      );
    const [own, ours] = written();
    expect(ours).toEqual({ ...own, time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) });
  });

  test("writes no line below the level", () => {
    const { log, written } = logging("warn");
    log.lines("turn").info(logMember("ms", 3));
    expect(written()).toEqual([]);
  });

  test("keeps an error's members, its stack and a circular cause", () => {
    const { log, written } = logging("info");
    const cause: Error & { self?: Error } = new Error("broken");
    cause.self = cause;
    log.lines("turn").error(logMember("ms", 3), cause);
    expect(written()).toEqual([
      expect.objectContaining({
        level: 50,
        ms: 3,
        msg: "turn",
        err: expect.objectContaining({ message: "broken", stack: expect.stringContaining("log.test") }),
      }),
    ]);
  });
});

describe("text in a log line", () => {
  test.each([
    ["plain ASCII", "openai/gpt-5 (a, b)"],
    ["control characters", "a\tb\u0000c\u001b[31m"],
    ["characters beyond ASCII", "häuser 東京 \u{1f3e0}"],
    ["a lone surrogate", "a\ud800b"],
    ["characters that terminals act upon", "a\u007fb\u009bc\u2028d\u202ee"],
  ])("is kept unchanged: %s", (_, text) => {
    const { log, written } = logging("info");
    log.info({ model: text, reason: text }, text);
    log.lines("turn").info(logMember("model", text));
    const lines = written();
    expect(lines.map(({ model }) => model)).toEqual([text, text]);
    expect(lines[0]).toMatchObject({ reason: text, msg: text });
  });

  test("has no terminal control character", () => {
    expect(logMember("model", "a\u007fb\u009bc\u2028d\u202ee")).toBe(',"model":"a\\u007fb\\u009bc\\u2028d\\u202ee"');
    expect(logMember("left_out", [{ id: "\u202e" }])).toBe(',"left_out":[{"id":"\\u202e"}]');
  });

  test("is cut at 1,024 characters", () => {
    expect(logMember("model", "x".repeat(5_000))).toBe(`,"model":"${"x".repeat(1_024)}"`);
  });
});

describe("a logged object", () => {
  test("has only listed fields, and others do not compile", () => {
    const { log, written } = logging("info");
    // @ts-expect-error A prompt has no field.
    const never = () => log.info({ prompt: "secret" }, "turn");
    // @ts-expect-error Nor has it one in the line of a request.
    const neither = () => logMember("prompt", "secret");
    expect([never, neither]).toHaveLength(2);
    expect(written()).toEqual([]);
  });

  test("includes an error's kind and origin, not its attached data", () => {
    const cause = Object.assign(new Error("inner"), { code: "ECONNRESET", response: { body: "an answer" } });
    const error = Object.assign(new TypeError("outer", { cause }), { request: { headers: { authorization: "x" } } });
    const logged = loggedError(error);
    expect(logged).toEqual({
      type: "TypeError",
      message: "outer",
      stack: expect.stringMatching(/^\s+at /),
      cause: { type: "Error", code: "ECONNRESET", message: "inner", stack: expect.any(String) },
    });
  });

  test("omits the quotation in an error message", () => {
    const texts = ['{"prompt":"the secret"', "the secret"];
    for (const text of texts) {
      let thrown: unknown;
      try {
        JSON.parse(text);
      } catch (error) {
        thrown = error;
      }
      expect(JSON.stringify(loggedError(thrown))).not.toContain("secret");
    }
    const ofData = Object.assign(new Error('invalid input syntax: "the secret"'), { code: "22P02", severity: "ERROR" });
    expect(loggedError(ofData)).toMatchObject({ code: "22P02", message: "(left out, as it may quote)" });
  });

  test("is cut, and ends even for a circular cause", () => {
    const error: Error & { cause?: unknown } = new Error("x".repeat(5_000));
    error.cause = error;
    expect(loggedError(error).message).toHaveLength(1_024);
    expect(JSON.stringify(loggedError(error)).length).toBeLessThan(20_000);
    expect(loggedError("a text")).toEqual({ type: "string", message: "a text" });
  });

  test.each([
    ["Authorization: Bearer abcdef0123456789", "abcdef0123456789"],
    ["authorization basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
    ["key sk-sl-0123456789abcdefghij is unknown", "0123456789abcdefghij"],
    ["key mk-sl-0123456789abcdefghij is unknown", "0123456789abcdefghij"],
    ["Incorrect API key provided: sk-proj-AbCdEf0123456789", "AbCdEf0123456789"],
    ["connect to postgres://sluice:pass-word@db:5432/x", "pass-word"],
    ["GET https://host/v1/models?key=AIzaSyA0123456789&alt=sse", "AIzaSyA0123456789"],
    ["GET https://host/?X-Amz-Signature=0123abcd&x=1", "0123abcd"],
    ["AKIAIOSFODNN7EXAMPLE cannot sign", "IOSFODNN7EXAMPLE"],
  ])("holds no secret: %s", (text, secret) => {
    expect(redact(text)).not.toContain(secret);
    expect(redact(text)).toContain("…");
  });

  test("keeps words that only resemble secrets", () => {
    const text = "connect ECONNREFUSED 127.0.0.1:5432, task-force, risk_level, GET /v1/models?limit=5";
    expect(redact(text)).toBe(text);
  });
});
