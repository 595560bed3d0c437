/**
 * Answers of every format as items for clients: one table of scenes, and one encoder for each format. Each scene is read whole and as a stream,
 * cut at several kinds of boundaries, with noise between its events.
 */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { SdkReader } from "@sluice/inference-svc/models/upstream/ai-sdk/stream.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { testRequest, itemsOf, maskIds } from "../../asking.ts";
import { sdkAnswers } from "./scenes/ai-sdk.ts";
import type { AnswerFormat, WireFormat } from "./scenes/format.ts";
import { canCarryScene, keepsOrder, wireFormats } from "./scenes/formats.ts";
import { cutBytes, readAtBoundaries } from "./scenes/reading.ts";
import { type Counts, type Scene, type Stop, textPiece, sumOf } from "./scenes/scene.ts";
import { type SceneRow, type Shown, sceneRows } from "./scenes/table.ts";

interface Read {
  readonly events: readonly TurnEvent[];
  /** Reason of the fault; absent for an answer that ended well. */
  readonly reason?: FaultReason;
  /** Whether the translator knew the end reason before the connection ended. */
  readonly finished: boolean;
  readonly done: boolean;
}

function read(format: WireFormat, scene: Scene, reads: readonly Uint8Array[], isWhole = false): Read {
  const events: TurnEvent[] = [];
  const states: boolean[][] = [];
  const type = isWhole ? "application/json" : format.dialect.framing.type;
  const finish = (reason?: FaultReason): Read => {
    const [finished = false, done = false] = states.at(-2) ?? [];
    return { events, finished, done, ...(reason !== undefined && { reason }) };
  };
  try {
    readAtBoundaries({ ...format, request: testRequest(scene.request) }, type, reads, (batch, translator) => {
      events.push(...batch);
      states.push([translator.finished, translator.done]);
    });
    return finish();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return finish(error.reason);
  }
}

const single = (reads: readonly Uint8Array[]): Buffer => Buffer.concat(reads);

/** The same bytes, cut at other boundaries. */
function boundaries(reads: readonly Uint8Array[]): readonly (readonly [string, readonly Uint8Array[]])[] {
  const bytes = single(reads);
  const ofLength = (length: number) =>
    cutBytes(
      bytes,
      Array.from({ length: Math.floor(bytes.length / length) }, (_, at) => at * length),
    );
  return [
    ["one read", [bytes]],
    ["a read for each byte", ofLength(1)],
    ...[2, 3, 7, 61].map((length) => [`reads of ${length} bytes`, ofLength(length)] as const),
  ];
}

/** Lines may end in CR, LF or both, and an event may have its type only in its name. */
function lineEnds(reads: readonly Uint8Array[]): readonly (readonly [string, readonly Uint8Array[]])[] {
  const text = single(reads)
    .toString()
    .replaceAll(/^(event: (.*)\ndata: \{)"type":"\2",?/gm, "$1");
  return ["\r\n", "\r"].flatMap((end) => {
    const bytes = Buffer.from(text.replaceAll("\n", end));
    return [
      [`lines that end in ${JSON.stringify(end)}`, [bytes]],
      [`lines that end in ${JSON.stringify(end)}, in reads of a byte`, [...bytes].map((byte) => Uint8Array.of(byte))],
    ] as const;
  });
}

const noisy = ({ noise }: WireFormat, reads: readonly Uint8Array[]): readonly Uint8Array[] =>
  reads.flatMap((event, at) => (at === 0 ? [event] : [...noise, event]));

function shownItem({ thoughts }: AnswerFormat, shown: Shown): object {
  if (!("thought" in shown)) return { ...shown, id: expect.any(String) };
  const { thought: text, signature = null, status = "completed" } = shown;
  const isSummary = thoughts.isSummary === true;
  return {
    type: "reasoning",
    id: expect.any(String),
    status,
    summary: isSummary ? [{ type: "summary_text", text }] : [],
    content: isSummary ? [] : [{ type: "reasoning_text", text }],
    format: thoughts.format,
    signature: thoughts.isSigned === true ? signature : null,
  };
}

const outcomes: Readonly<Record<Stop, object>> = {
  end: { status: "completed" },
  calls: { status: "completed" },
  limit: { status: "incomplete", reason: "max_output_tokens" },
  filter: { status: "incomplete", reason: "content_filter" },
};

function usageOf(format: AnswerFormat, counts: Counts): object {
  const count = (name: keyof Counts) => (format.counts.includes(name) ? counts[name] : 0);
  return {
    inputTokens: count("input"),
    cachedTokens: count("cached"),
    cacheWriteTokens: count("written"),
    outputTokens: count("output"),
    reasoningTokens: count("reasoning"),
  };
}

function expectShown(format: AnswerFormat, row: SceneRow, events: readonly TurnEvent[]): void {
  expect(itemsOf(events)).toEqual(row.items.map((shown) => shownItem(format, shown)));
  expect(events.at(-1)).toEqual({
    type: "end",
    outcome: {
      ...outcomes[row.inferred ?? row.stop ?? "end"],
      ...(row.inferred && { isInferred: true }),
      ...(row.counts && { usage: usageOf(format, row.counts) }),
      serviceTier: format.hasTiers === true && row.tier !== undefined ? row.tier : "default",
    },
  });
}

/** Each piece of a stream becomes a delta; calls are whole in formats that have no pieces of arguments. */
function expectDeltas(format: AnswerFormat, row: SceneRow, events: readonly TurnEvent[]): void {
  const pieces = row.pieces.flatMap((piece) =>
    piece.kind === "image" ? [] : piece.kind === "call" && format.cutsCalls !== true ? [sumOf(piece)] : piece.said,
  );
  const deltas = events.flatMap((event) => ("delta" in event ? [event.delta] : []));
  const expected = (row.deltas ?? pieces).filter((delta) => delta !== "");
  if (row.deltas && format.cutsCalls !== true) expect(deltas.join("")).toBe(expected.join(""));
  else expect(deltas).toEqual(expected);
}

const hi: Scene = { pieces: [textPiece("H", "i")] };

describe.each(wireFormats)("an answer in the format $name", (format) => {
  const { dialect, target } = format;
  const isText = dialect.framing.type === "text/event-stream";
  const possible = sceneRows.filter((row) => canCarryScene(format, row));

  test.each(possible.map((row) => [row.name, row] as const))("gives the items of %s", (_, row) => {
    const reads = format.stream(row);
    const { events, reason } = read(format, row, reads);
    expect(reason).toBeUndefined();
    expectShown(format, row, events);
    expectDeltas(format, row, events);
    const masked = maskIds(events);
    const others = [...boundaries(reads), ...(isText ? lineEnds(reads) : []), ["noise", noisy(format, reads)] as const];
    for (const [boundary, other] of others) {
      expect([boundary, maskIds(read(format, row, other).events)]).toEqual([boundary, masked]);
    }
    if (keepsOrder(format, row))
      expectShown(format, row, read(format, row, [Buffer.from(format.whole(row))], true).events);
  });

  test("may be cut in two anywhere in a text", () => {
    const [, , row] = sceneRows as [SceneRow, SceneRow, SceneRow];
    const bytes = single(format.stream(row));
    const masked = maskIds(read(format, row, [bytes]).events);
    for (let at = 1; at < bytes.length; at++) {
      expect(maskIds(read(format, row, [bytes.subarray(0, at), bytes.subarray(at)]).events)).toEqual(masked);
    }
  });

  test("without content is completed and empty", () => {
    const nothing: Scene = { pieces: [] };
    for (const { events, reason } of [
      read(format, nothing, format.stream(nothing)),
      read(format, nothing, [Buffer.from(format.whole(nothing))], true),
    ]) {
      if (format.emptyFails === true) expect(reason).toBe(FaultReason.PROVIDER_FAILED);
      else expect([reason, itemsOf(events), events.length]).toEqual([undefined, [], 1]);
    }
  });

  test("lost after any event except the last ones is a failure, and its text stays", () => {
    for (const row of possible) {
      const reads = format.stream(row);
      const full = maskIds(read(format, row, reads).events) as TurnEvent[];
      for (let count = 0; count < reads.length; count++) {
        const { events, reason, finished } = read(format, row, reads.slice(0, count));
        const isOver = count >= reads.length - format.tail;
        if (finished && isOver) expect(events.at(-1)?.type).toBe("end");
        else expect([row.name, count, reason, finished]).toEqual([row.name, count, FaultReason.PROVIDER_FAILED, false]);
        if (reason !== undefined) expect(maskIds(events)).toEqual(full.slice(0, events.length));
      }
    }
  });

  test.each(Object.entries(format.stops))("ends with the meaning of the word %s in its format", (word, meaning) => {
    const streamed = read(format, hi, format.stream(hi, word));
    const whole = read(format, hi, [Buffer.from(format.whole(hi, word))], true);
    for (const { events, reason } of [streamed, whole]) {
      if (typeof meaning !== "string") {
        expect(reason).toBe(meaning);
        continue;
      }
      const outcome = outcomes[meaning];
      expect(events.at(-1)).toMatchObject({ type: "end", outcome });
      expect(itemsOf(events)).toMatchObject([{ status: "status" in outcome ? outcome.status : "" }]);
    }
  });

  /** The events of a text, without the events of its end. */
  const begun = format.stream(hi).slice(0, Math.min(3, format.stream(hi).length - 1 - format.tail));

  test.each(format.failures.map(([event, reason]) => [event.toString().trim(), reason, event] as const))(
    "fails the turn with the event %j",
    (_, reason, event) => {
      expect(read(format, hi, [event]).reason).toBe(reason);
      const after = read(format, hi, [...begun, event]);
      expect([after.reason, after.events.some(({ type }) => type === "text.delta")]).toEqual([reason, true]);
    },
  );

  test("of unreadable bytes is a failure", () => {
    const broken = isText ? ["data: {\n\n", 'data: {"a":1} x\n\n'] : ["{", "x".repeat(40)];
    for (const bytes of broken) {
      expect([bytes, read(format, hi, [...begun, Buffer.from(bytes)]).reason]).toEqual([
        bytes,
        FaultReason.PROVIDER_FAILED,
      ]);
    }
    for (const bytes of ["{", "[]", '{"x":1}', "<html>", "null"]) {
      expect([bytes, read(format, hi, [Buffer.from(bytes)], true).reason]).toEqual([
        bytes,
        FaultReason.PROVIDER_FAILED,
      ]);
    }
  });

  test("is not read further after its end", () => {
    const { done, events } = read(format, hi, format.stream(hi));
    const [failure] = format.failures[0] as (typeof format.failures)[number];
    const after = read(format, hi, [...format.stream(hi), failure]);
    if (done) expect([after.reason, maskIds(after.events)]).toEqual([undefined, maskIds(events)]);
  });

  test("ends at a full context window as at a limit", () => {
    const events: TurnEvent[] = [];
    let left = begun.length;
    readAtBoundaries({ dialect, target, request: testRequest() }, dialect.framing.type, begun, (batch, translator) => {
      if (--left === 0) translator.cut();
      events.push(...batch);
      if (left === 0) expect([translator.finished, translator.done]).toEqual([true, true]);
    });
    expect(itemsOf(events)).toMatchObject([{ type: "message", status: "incomplete" }]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: outcomes.limit });
  });
});

describe("an answer of the AI SDK interface", () => {
  function events(parts: ReturnType<typeof sdkAnswers.parts>, scene: Scene): readonly TurnEvent[] {
    const given: TurnEvent[] = [];
    const reader = new SdkReader(
      testRequest(scene.request),
      "default",
      (event) => given.push(event),
      () => undefined,
    );
    for (const part of parts) reader.read(part);
    reader.close();
    return given;
  }
  const possible = sceneRows.filter((row) => canCarryScene(sdkAnswers, row));

  test.each(possible.map((row) => [row.name, row] as const))("gives the items of %s", (_, row) => {
    const given = events(sdkAnswers.parts(row), row);
    expectDeltas(sdkAnswers, row, given);
    expectShown(sdkAnswers, row, given);
  });

  test.each(Object.entries(sdkAnswers.stops))("ends with the meaning of the word %s in its format", (word, meaning) => {
    const give = () => events(sdkAnswers.parts(hi, word), hi);
    if (typeof meaning === "string") expect(give().at(-1)).toMatchObject({ outcome: outcomes[meaning as Stop] });
    else expect(give).toThrow(expect.objectContaining({ reason: meaning }));
  });

  test("lost before its end is a failure", () => {
    for (const row of possible) {
      const parts = sdkAnswers.parts(row);
      for (let count = 0; count < parts.length; count++) {
        expect(() => events(parts.slice(0, count), row)).toThrow(
          expect.objectContaining({ reason: FaultReason.PROVIDER_FAILED }),
        );
      }
    }
  });
});
