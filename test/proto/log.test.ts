import { PassThrough } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { lineLog, member, openLog } from "@sluice/proto/runtime/log.js";

/** A logger, and what it has written, as objects. */
function logging(level: string) {
  const sink = new PassThrough({ encoding: "utf8" });
  const log = openLog("test", level, sink);
  const written = () =>
    String(sink.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, written };
}

describe("line log", () => {
  test("writes the line that the logger would have written", () => {
    const { log, written } = logging("info");
    log.info({ model: 'a "quoted"\nslug', ms: 3, attempts: [{ status: 200 }], none: undefined }, "turn");
    lineLog(log, "turn").info(
      `${member("model", 'a "quoted"\nslug')},"ms":3${member("attempts", [{ status: 200 }])}${member("none", undefined)}`,
    );
    const [own, ours] = written();
    expect(ours).toEqual({ ...own, time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) });
  });

  test("keeps quiet below the level", () => {
    const { log, written } = logging("warn");
    lineLog(log, "turn").info(member("ms", 3));
    expect(written()).toEqual([]);
  });

  test("an error keeps its members, its stack and a cause that refers to itself", () => {
    const { log, written } = logging("info");
    const cause: Error & { self?: Error } = new Error("broken");
    cause.self = cause;
    lineLog(log, "turn").error(member("ms", 3), cause);
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
