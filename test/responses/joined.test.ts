/** Texts that clients join, cut anywhere over parts and items: no match of a guardrail's rule in the joined text is delivered, in any dialect. */
import { toGeneratedAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { Ladder } from "@sluice/gateway/doors/responses/ladder.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import { outputGuardrails } from "@sluice/inference-svc/features/guardrails/output/layer.js";
import type { Batch, Turn } from "@sluice/inference-svc/turn/turn.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { describe, expect, test } from "@jest/globals";
import { testRequest, newScope } from "../inference-svc/asking.ts";
import {
  type Outcome,
  blockFilter,
  runGuarded,
  guardrailOf,
  redactFilter,
} from "../inference-svc/features/guardrails/gating.ts";
import type { WireFormat } from "../inference-svc/models/dialects/scenes/format.ts";
import { wireFormats } from "../inference-svc/models/dialects/scenes/formats.ts";
import { responsesAnswers } from "../inference-svc/models/dialects/scenes/responses.ts";
import { type Piece, textPiece, sumOf } from "../inference-svc/models/dialects/scenes/scene.ts";
import { type Answer, checkLadder } from "../support/answers/ladder-rules.ts";
import { parseSse } from "../support/answers/sse.ts";
import { readWhole, readStream } from "./answering.ts";

/** Letters found nowhere else in an answer, so a single leaked letter is noticed. */
const secret = "жщъюфц";
const shows = new RegExp(`[${secret}]`);
const placeholder = "<s>";

/** Places of the secret's pieces: `@` marks a part with a piece; a plus joins a part to the item before it. */
const layouts: readonly (readonly [layout: string, piecesOf: Kind])[] = [
  ["text@ +text@", "text"],
  ["text@ text@", "text"],
  ["text@ +refusal +text@", "text"],
  ["text@ refusal text@", "text"],
  ["text@ thought text@", "text"],
  ["text@ call text@", "text"],
  ["text@ thought call text@ +text", "text"],
  ["text@ text@ text@", "text"],
  ["text@ +text@ thought text@", "text"],
  ["text@ thought text@ call text@", "text"],
  ["text +text@ thought text@", "text"],
  ["refusal@ text refusal@", "refusal"],
  ["refusal@ +text +refusal@", "refusal"],
  ["thought@ +thought@", "thought"],
  ["thought@ summary +thought@", "thought"],
  ["summary@ +summary@ text", "summary"],
  ["text@ +refusal@", "text"],
];

type Kind = Exclude<Piece["kind"], "image">;

const fillers: Readonly<Record<Kind, string>> = {
  text: "Well. ",
  thought: "Hm. ",
  summary: "So. ",
  refusal: "No. ",
  call: "{}",
};

/** A delta event for each character of the text. */
const inLetters = (kind: Kind, text: string, joins = false): Piece => ({
  kind,
  said: Array.from(text),
  joins,
  name: "f",
  id: "c",
});

function piecesOf(layout: string, secrets: readonly string[]): readonly Piece[] {
  let secretAt = 0;
  return layout.split(" ").map((word) => {
    const kind = word.replaceAll(/[+@]/g, "") as Kind;
    const text = word.endsWith("@") ? around(secrets, secretAt++) : fillers[kind];
    return inLetters(kind, text, word.startsWith("+"));
  });
}

const around = (pieces: readonly string[], at: number): string =>
  (at === 0 ? "It is " : "") + pieces[at] + (at === pieces.length - 1 ? " now. " : "");

/** All ways to cut a text into this number of pieces. */
function cutsOf(text: string, count: number): readonly (readonly string[])[] {
  if (count === 1) return [[text]];
  const firsts = Array.from({ length: text.length - count + 1 }, (_, at) => at + 1);
  return firsts.flatMap((at) => cutsOf(text.slice(at), count - 1).map((rest) => [text.slice(0, at), ...rest]));
}

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };

/** The stream sent to a client. */
function ladderOf({ events, fault }: Outcome): string {
  const ladder = new Ladder(new ResponseObject({ id: "resp_1", createdAt: 1, model: "acme/large-2", echo }));
  const written = ladder.events(toWire(events, () => new Uint8Array()).events);
  return fault ? written + ladder.failed(fault) : written;
}

interface Said {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
}

interface Item {
  readonly type: string;
  readonly content?: readonly Said[];
  readonly summary?: readonly Said[];
}

/** Joins the parts of an answer as client libraries do. */
function joined({ output }: Answer, kind: Kind, { thoughts }: WireFormat): string {
  const thought = thoughts.isSummary === true ? "summary_text" : "reasoning_text";
  const types = { text: "output_text", thought, summary: "summary_text", refusal: "refusal", call: "" };
  return (output as unknown as readonly Item[])
    .flatMap(({ content = [], summary = [] }) => [...content, ...summary])
    .map((part) => (part.type === types[kind] ? (part.text ?? part.refusal ?? "") : ""))
    .join("");
}

function batchesOf(format: WireFormat, pieces: readonly Piece[], isStream: boolean): Batch[] {
  const isEmpty = format.emptyFails === true && pieces.every(({ kind }) => kind === "thought");
  const scene = { pieces: isEmpty ? [...pieces, textPiece(".")] : pieces };
  return isStream ? readStream(format.dialect, format.stream(scene)) : readWhole(format.dialect, format.whole(scene));
}

/** @returns the answer, of a stream checked against the order rules */
async function redacted(batches: Batch[], isStream: boolean): Promise<Answer> {
  const outcome = await runGuarded(batches, [redactFilter(secret, placeholder)]);
  expect(outcome.fault).toBeUndefined();
  const sse = ladderOf(outcome);
  expect(sse).not.toMatch(shows);
  return isStream ? checkLadder(parseSse(sse), true) : (parseSse(sse).events.at(-1)?.["response"] as Answer);
}

async function blocked(batches: Batch[]): Promise<void> {
  const outcome = await runGuarded(batches, [blockFilter(secret, "metal")]);
  const sse = ladderOf(outcome);
  expect(sse).not.toMatch(shows);
  if (outcome.fault) expect(outcome.fault.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  else expect(checkLadder(parseSse(sse), true)).toMatchObject({ incomplete_details: { reason: "content_filter" } });
}

const formats = wireFormats.filter(({ dialect, name }) => name === "chat" || dialect !== wireFormats[0]?.dialect);

describe.each(formats)("an output guardrail at $name", (format) => {
  const possible = layouts.filter(([layout]) =>
    layout.split(" ").every((word) => format.kinds.includes(word.replaceAll(/[+@]/g, "") as Kind)),
  );

  test.each(possible)("passes no cut of a secret in the layout %s", async (layout, kind) => {
    const count = layout.split("@").length - 1;
    for (const secrets of cutsOf(secret, count)) {
      const pieces = piecesOf(layout, secrets);
      const said = pieces.map((each) => (each.kind === kind ? sumOf(each) : "")).join("");
      for (const isStream of [true, false]) {
        const batches = batchesOf(format, pieces, isStream);
        await blocked(batches);
        const answer = await redacted(batches, isStream);
        // A reader joins a text and the refusal after it; no client library does.
        if (said.includes(secret)) expect(joined(answer, kind, format)).toBe(said.replace(secret, placeholder));
      }
    }
  });
});

describe("streams under an output guardrail", () => {
  const batches = (pieces: readonly Piece[]) => batchesOf(responsesAnswers, pieces, true);

  /** Text released by the output guard after each read. */
  async function outAfterEach(pieces: readonly Piece[]): Promise<readonly string[]> {
    const rules = guardrailOf([redactFilter(secret, placeholder)]);
    const { scope } = newScope({ guardrail: rules });
    const out: string[] = [];
    let given = "";
    const turn: Turn = () =>
      toGeneratedAnswer(
        (async function* () {
          for (const batch of batches(pieces)) {
            yield batch;
            out.push(given);
          }
        })(),
      );
    for await (const batch of outputGuardrails(turn)(testRequest(), scope)) {
      for (const event of batch) given += "delta" in event ? event.delta : `<${event.type}>`;
    }
    return [...out, given];
  }

  test("hold back only the last character of a text that cannot begin a match", async () => {
    const pieces = piecesOf("text thought call text +text refusal thought text", []);
    const out = await outAfterEach(pieces);
    const read = batches(pieces).map((batch) =>
      batch.map((event) => ("delta" in event ? event.delta : `<${event.type}>`)).join(""),
    );
    const held = read.map((_, at) => read.slice(0, at + 1).join("").length - (out[at]?.length ?? 0));
    // The arguments of a call are held until they are whole.
    expect(Math.max(...held)).toBeLessThanOrEqual("<item.start>{}".length);
    expect(out.at(-1)).toBe(read.join(""));
  });

  test("do not delay text after reasoning until the end of the reasoning", async () => {
    const pieces = (["thought", "text"] as const).map((kind) => inLetters(kind, "So it is ж"));
    const out = await outAfterEach(pieces);
    expect(out).toContain("<item.start>So it is ж<item.end><item.start>So it is ");
  });

  test("hold a possible match at the end of a text until the text continues in a later item", async () => {
    const said = ["It is ж", "Hm. ", "And so it goes."];
    const pieces = (["text", "thought", "text"] as const).map((kind, at) => inLetters(kind, said[at] ?? ""));
    const out = await outAfterEach(pieces);
    const states = [...new Set(out)];
    const first = states.findIndex((state) => state.includes("ж"));
    expect(states.slice(first - 1, first + 1)).toEqual([
      "<item.start>It is ",
      "<item.start>It is ж<item.end><item.start>Hm. <item.end><item.start>A",
    ]);
  });
});
