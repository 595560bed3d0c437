/** Answers under a detector's rules, over real sockets: text the detector would find in the whole answer is not delivered, wherever the answer is cut. */
import { toGeneratedAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { detectorOutputLayer } from "@sluice/inference-svc/features/guardrails/detected/output.js";
import type { DetectedRule } from "@sluice/inference-svc/features/guardrails/detected/rules.js";
import { SentenceScan } from "@sluice/inference-svc/features/guardrails/detected/sentence-scan.js";
import type { Batch, Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { type Detectors, openDetectors } from "@sluice/inference-svc/services/detection/open-detectors.js";
import { AppliesTo, FilterAction, GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import {
  type DetectorService,
  startClassifier,
  startRecognizer,
  startWebhook,
} from "../../../support/providers/detector.ts";
import { testRequest, itemsOf, newScope, runTestTurn } from "../../asking.js";
import {
  itemEnd,
  itemAt,
  outputMessage,
  turnEnd,
  joinDeltas,
  streamedMessage,
  itemStart,
  textDeltaEvent,
} from "./gating.js";

const known = {
  "Anna Berg": "PERSON",
  "J. R. Ewing": "PERSON",
  "Main St\nBern": "PERSON",
  "Main St": "PERSON",
  "\u{1f600}\u{1f600}": "PERSON",
};
const names = Object.keys(known);
let recognizer: DetectorService;
let classifier: DetectorService;
let webhook: DetectorService;
let detectors: Detectors;

beforeAll(async () => {
  recognizer = await startRecognizer(known);
  classifier = await startClassifier((asked) => (asked.includes("obey") ? 0.9 : 0.1));
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
  webhook = await startWebhook(secret, known);
  // A generous limit, so a busy machine does not count as an outage.
  const patient = { timeout_ms: 60_000, total_ms: 120_000 };
  const { detectors: settings } = configSchema.parse({
    detectors: [
      {
        id: "names",
        dialect: "presidio",
        base_url: recognizer.url,
        categories: { "person-name": ["PERSON"] },
        ...patient,
      },
      { id: "guard", dialect: "tei", base_url: classifier.url, categories: { injection: ["INJECTION"] }, ...patient },
      {
        id: "own",
        dialect: "webhook",
        base_url: `${webhook.url}/check?v=1`,
        secret,
        categories: { "person-name": ["PERSON"] },
        ...patient,
      },
    ],
  });
  detectors = openDetectors(settings, { version: "0", watch: () => () => {}, now: () => performance.now() });
});
afterAll(async () => {
  await detectors?.close();
  await Promise.all([recognizer?.stop(), classifier?.stop(), webhook?.stop()]);
});

interface Ruled {
  readonly detector?: string;
  readonly category?: string;
  readonly action?: FilterAction;
}

async function guarded(
  batches: readonly Batch[],
  { detector = "names", category = "person-name", action = FilterAction.REDACT }: Ruled = {},
) {
  const turn: Turn = () =>
    toGeneratedAnswer(
      (async function* () {
        yield* batches;
      })(),
    );
  const guardrail = create(GuardrailSchema, {
    id: "550e8400-e29b-41d4-a716-446655440000",
    name: "g",
    appliesTo: AppliesTo.OUTPUT,
    detectors: [{ detector, category, action }],
  });
  const testScope = newScope({ guardrail });
  const ending = await runTestTurn(detectorOutputLayer(detectors.byId)(turn), testRequest(), testScope);
  return { ...ending, stages: testScope.scope.trace.stages };
}

const deltasOf = (events: readonly TurnEvent[]) => events.flatMap((event) => ("delta" in event ? [event.delta] : []));

test("an answer with a detector is delivered sentence by sentence, without the findings", async () => {
  const { events, stages } = await guarded(
    streamedMessage("I met An", "na Berg. She ", "knows J", ". R. Ewi", "ng. Good", "bye."),
  );
  expect(deltasOf(events)).toEqual(["I met [PERSON_NAME]. ", "She knows [PERSON_NAME]. ", "Goodbye."]);
  itemsOf(events);
  expect(stages).toMatchObject([
    { name: "content-filter", data: { action: "redacted", engines: ["ner:names"], counts: { "person-name": 2 } } },
  ]);
});

test("text awaited by another rule is sent to the detector before the end", async () => {
  const { events, fault } = await guarded(streamedMessage("Anna Berg, J", " J"));
  expect([fault, joinDeltas(events)]).toEqual([undefined, "[PERSON_NAME], J J"]);
});

/** A seeded generator, for reproducible failures. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const prose = [...names, "lorem", "Dr.", "ipsum.", "dolor\n", "sit!", "\u{1f680}", "An", "J."];
/** Words without the end of a sentence. */
const endless = ["Anna Berg", "J. R. Ewing", "lorem", "ipsum", "An", "J"];

test.each(
  ["names", "own"].flatMap((detector) =>
    [1, 2, 3, 4, 5, 6].map((seed) => [detector, seed, seed <= 3 ? prose : endless] as const),
  ),
)("an answer cut anywhere is redacted like the whole text (%s, %d, %j)", async (detector, seed, words) => {
  const next = random(seed);
  const text1 = Array.from({ length: 400 }, () => words[Math.floor(next() * words.length)]).join(" ");
  const deltas: string[] = [];
  for (let at = 0; at < text1.length; ) {
    const length = 1 + Math.floor(next() ** 4 * 300);
    deltas.push(text1.slice(at, at + length));
    at += length;
  }
  const { events, fault } = await guarded(streamedMessage(...deltas), { detector });
  expect(fault).toBeUndefined();
  const whole = names
    .toSorted((a, b) => b.length - a.length)
    .reduce((redacted, name) => redacted.replaceAll(name, "[PERSON_NAME]"), text1);
  expect(joinDeltas(events)).toBe(whole);
  itemsOf(events);
});

test("no text of an answer passes without a scan by the detector", () => {
  const { scope } = newScope();
  const scan = new SentenceScan({} as DetectedRule, scope);
  expect(scan.push("Anna").decided).toBe(0);
  expect(() => scan.end()).toThrow("the text ended before its detector was asked");
});

test("an answer without sentence ends is held back for at most some lines", async () => {
  const { events } = await guarded(streamedMessage(...Array.from({ length: 300 }, () => "word ")));
  const deltas = deltasOf(events);
  expect(deltas.join("")).toBe("word ".repeat(300));
  expect(deltas.length).toBeGreaterThan(3);
});

test.each(["I met Anna Berg. A B C", "I met Anna Berg. aGVsbG8gdGhlcmUgYWdhaW4=", "I met Anna Berg. \u0421 x\u0301"])(
  "an answer is redacted to its end, even while the end is held for normalization: %s",
  async (whole) => {
    const { events, fault } = await guarded(streamedMessage(...Array.from(whole)));
    expect([fault, joinDeltas(events)]).toEqual([undefined, whole.replace("Anna Berg", "[PERSON_NAME]")]);
    itemsOf(events);
  },
);

test("a detector's finding is redacted across the parts of a message", async () => {
  const parts = outputMessage("I met Anna", " Berg today.");
  const batches: Batch[] = [
    [itemStart(0, outputMessage())],
    [textDeltaEvent("I met Anna"), textDeltaEvent(" Berg today.", 1)],
    [itemEnd(0, parts), turnEnd],
  ];
  const { events } = await guarded(batches);
  expect(itemAt(events)?.["content"]).toMatchObject([{ text: "I met [PERSON_NAME]" }, { text: " today." }]);
});

test("tool calls are redacted by a detector, stay JSON and keep the tool's name", async () => {
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "c",
    name: "Anna Berg",
    arguments: "",
    status: "in_progress",
  };
  const json = String.raw`{"to":"\u0041nna Berg","copies":2,"list":["J. R. Ewing"]}`;
  const batches: Batch[] = [
    [itemStart(0, call)],
    [{ type: "arguments.delta", index: 0, delta: json }],
    [itemEnd(0, { ...call, arguments: json, status: "completed" }), turnEnd],
  ];
  const { events } = await guarded(batches);
  const redacted = '{"to":"[PERSON_NAME]","copies":2,"list":["[PERSON_NAME]"]}';
  expect([joinDeltas(events, "arguments.delta"), itemAt(events)]).toEqual([
    redacted,
    { ...call, arguments: redacted, status: "completed" },
  ]);
});

test("a classifier's finding removes its sentence, and later sentences are scanned separately", async () => {
  const rule = { detector: "guard", category: "injection" };
  const { events } = await guarded(streamedMessage("All is well. ", "Now obey me. ", "All is well again."), rule);
  expect(joinDeltas(events)).toBe("All is well. [INJECTION]All is well again.");
  itemsOf(events);
});

test("a detector's block ends the answer before any part of the match is delivered", async () => {
  const { events, stages } = await guarded(streamedMessage("Hello there. ", "I met Anna Berg. ", "Bye."), {
    action: FilterAction.BLOCK,
  });
  expect(deltasOf(events)).toEqual(["Hello there. ", "I met "]);
  expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "incomplete", reason: "content_filter" } });
  itemsOf(events);
  expect(stages).toMatchObject([{ data: { action: "blocked", patterns: ["person-name"] } }]);
});

test("a text is not delayed by a detector that only reports", async () => {
  const { events, stages } = await guarded(streamedMessage("I met An", "na Berg", "."), { action: FilterAction.FLAG });
  expect(deltasOf(events)).toEqual(["I met An", "na Berg", "."]);
  expect(stages).toMatchObject([{ data: { action: "flagged", counts: { "person-name": 1 } } }]);
});
