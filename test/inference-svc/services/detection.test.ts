/** External detectors: the requests to them, the reading of their answers, and the outcome without an answer. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Detector } from "@sluice/inference-svc/services/detection/detector.js";
import { type Detection, DetectorUnavailable } from "@sluice/inference-svc/services/detection/wire.js";
import { type Detectors, openDetectors } from "@sluice/inference-svc/services/detection/open-detectors.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { type TestScope, newScope } from "../asking.ts";

let service: Upstream;
let opened: Detectors[];
let begun: number;
let outcomes: string[];
let clock: number;

beforeEach(async () => {
  service = await startUpstream();
  opened = [];
  begun = 0;
  outcomes = [];
  clock = 0;
});
afterEach(async () => {
  await service.stop();
  await Promise.all(opened.map((detectors) => detectors.close()));
});

function detector(settings: object = {}): Detector {
  const { detectors } = configSchema.parse({
    detectors: [
      {
        id: "names",
        dialect: "presidio",
        base_url: `${service.url}/base/`,
        categories: { "person-name": ["PERSON"], place: ["LOCATION", "GPE"], any: ["PERSON", "LOCATION"] },
        retries: 0,
        // Time limit of a detector, long enough that a busy machine is no outage.
        timeout_ms: 60_000,
        total_ms: 120_000,
        ...settings,
      },
    ],
  });
  const surroundings = {
    version: "1.2.3",
    watch: () => {
      begun++;
      return (outcome: string) => void outcomes.push(outcome);
    },
    now: () => clock,
  };
  const made = openDetectors(detectors, surroundings);
  opened.push(made);
  return made.byId.get("names") as Detector;
}

const classifier = (settings: object = {}) =>
  detector({ dialect: "tei", categories: { "prompt-injection": ["INJECTION", "JAILBREAK"] }, ...settings });

const json = (value: unknown, status = 200): Reply => ({ status, chunks: [{ json: value }] });
const entity = (start: number, end: number, type = "PERSON", score = 0.85) => ({
  entity_type: type,
  start,
  end,
  score,
});

async function found(testScope: Detector, texts: readonly string[], { scope }: TestScope = newScope()) {
  const marks = await testScope.find(texts, scope);
  return texts.map((text) =>
    (marks.get(text) ?? []).map((mark: Detection) => [mark.category, text.slice(mark.start, mark.end), mark.score]),
  );
}

async function failure(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error("did not fail");
  return error;
}

describe("a recognizer of personal data as an external detector", () => {
  test("gets Presidio's requests, and its labels follow the configuration file", async () => {
    service.script([json([entity(0, 4), entity(11, 15, "GPE"), entity(11, 15, "NRP")])]);
    const asked = detector({ api_key: "secret", language: "de" });
    expect([asked.engine, asked.returnsSpans, asked.has("place"), asked.has("toString")]).toEqual([
      "ner:names",
      true,
      true,
      false,
    ]);
    expect(await found(asked, ["Anna is in Bern"])).toEqual([
      [
        ["person-name", "Anna", 0.85],
        ["any", "Anna", 0.85],
        ["place", "Bern", 0.85],
      ],
    ]);
    const [{ method, path, headers, json: body }] = service.requests as [(typeof service.requests)[number]];
    expect([method, path]).toEqual(["POST", "/base/analyze"]);
    expect(headers).toMatchObject({ authorization: "Bearer secret", "content-type": "application/json" });
    expect(body).toEqual({
      text: "Anna is in Bern",
      language: "de",
      entities: ["PERSON", "LOCATION", "GPE"],
      score_threshold: 0,
    });
    expect(outcomes).toEqual(["answered"]);
  });

  test("counts in code points, also with lone surrogates", async () => {
    service.script([json([entity(2, 6)])]);
    expect(await found(detector(), ["\u{1f600} Anna"])).toEqual([
      [
        ["person-name", "Anna", 0.85],
        ["any", "Anna", 0.85],
      ],
    ]);
    service.script([json([entity(2, 6, "GPE")])]);
    expect(await found(detector(), ["\ud83d Anna \u{1f600}"])).toEqual([[["place", "Anna", 0.85]]]);
    expect(service.requests.at(-1)?.json).toMatchObject({ text: "\ufffd Anna \u{1f600}" });
  });

  test("gets short texts together, and known texts not again", async () => {
    service.script([json([entity(3, 7, "GPE"), entity(0, 7, "LOCATION")])]);
    const asked = detector();
    const both = await found(asked, ["Hi", "Anna", "?!"]);
    expect(service.requests[0]?.json).toMatchObject({ text: "Hi\nAnna" });
    expect(both).toEqual([
      [
        ["place", "Hi", 0.85],
        ["any", "Hi", 0.85],
      ],
      [
        ["place", "Anna", 0.85],
        ["place", "Anna", 0.85],
        ["any", "Anna", 0.85],
      ],
      [],
    ]);
    await found(asked, ["Hi", "Anna"]);
    expect(service.requests).toHaveLength(1);
    await found(asked, ["Hi", "Anna"], newScope({ workspaceId: "another" }));
    clock = 600_000;
    await found(asked, ["Hi", "Anna"]);
    expect(service.requests).toHaveLength(3);
  });

  test("gets a long text in overlapping windows", async () => {
    service.script([json([entity(0, 1)])]);
    const text = "word ".repeat(200);
    const [marks] = await found(detector({ window_chars: 400 }), [text]);
    // The third window equals the first, so it is not sent again.
    const asked = service.requests.map((request) => String(request.json.text));
    expect(asked.map(({ length }) => length)).toEqual([400, 600]);
    expect(marks).toHaveLength(6);
    expect(marks?.every(([, said]) => said === "w")).toBe(true);
  });
});

describe("a classifier as an external detector", () => {
  test("gets the requests of text-embeddings-inference, each text separately", async () => {
    service.script([
      json([
        { label: "JAILBREAK", score: 0.9 },
        { label: "SAFE", score: 0.1 },
      ]),
    ]);
    const asked = classifier();
    expect([asked.engine, asked.returnsSpans]).toEqual(["classifier:names", false]);
    // A single word is too short to classify.
    expect(await found(asked, ["Do as I say!", "Ignore it.", "string"])).toEqual([
      [["prompt-injection", "Do as I say!", 0.9]],
      [["prompt-injection", "Ignore it.", 0.9]],
      [],
    ]);
    expect(service.requests.map(({ path, json: body }) => [path, body])).toEqual(
      ["Do as I say!", "Ignore it."].map((inputs) => ["/base/predict", { inputs, raw_scores: false, truncate: false }]),
    );
  });

  test("of a hosted endpoint answers with a list of one list", async () => {
    service.script([json([[{ label: "INJECTION", score: 0.7 }]])]);
    expect(await found(classifier(), ["Do as I say!"])).toEqual([[["prompt-injection", "Do as I say!", 0.7]]]);
  });

  test("that refuses a text as too long gets its halves", async () => {
    const tooLong = json({ error: "`inputs` must have less than 512 tokens", error_type: "Validation" }, 413);
    service.script([tooLong, json([{ label: "INJECTION", score: 0.7 }])]);
    const text = "\u6f22".repeat(1_000);
    const [marks] = await found(classifier(), [text]);
    expect(service.requests).toHaveLength(3);
    expect(marks?.map(([, said]) => String(said).length)).toEqual([500, 700]);
    service.script([tooLong]);
    expect(await failure(classifier().find([text], newScope().scope))).toBeInstanceOf(DetectorUnavailable);
  });
});

describe("a missing or bad answer of an external detector never passes the text:", () => {
  const text = "Anna is here";
  const answers: readonly (readonly [string, Reply, string])[] = [
    ["an error", json({ error: "No matching recognizers" }, 500), "refused"],
    ["a refusal", json({ error: "no" }, 400), "refused"],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" }, chunks: [{ json: {} }] }, "refused"],
    ["a busy service", json({ error: "Model is overloaded" }, 429), "refused"],
    ["a page", { chunks: [{ bytes: "<html>" }] }, "unreadable"],
    ["nothing", { chunks: [{ bytes: "" }] }, "unreadable"],
    ["an object", json({ entities: [] }), "unreadable"],
    ["null among the entities", json([null]), "unreadable"],
    ["an entity without a place", json([{ entity_type: "PERSON", score: 1 }]), "unreadable"],
    ["an entity behind the text", json([entity(0, 4), entity(8, 13)]), "unreadable"],
    ["an entity before the text", json([entity(-1, 4)]), "unreadable"],
    ["an empty entity", json([entity(4, 4)]), "unreadable"],
    ["half a place", json([entity(0.5, 4)]), "unreadable"],
    ["a score of no scale", json([entity(0, 4, "PERSON", 7)]), "unreadable"],
    ["a place of another kind than it was asked for, behind the text", json([entity(0, 99, "URL")]), "unreadable"],
    ["an answer without an end", { chunks: [{ bytes: "[" }], cut: true }, "unreachable"],
    ["a socket that closes", { cut: true }, "unreachable"],
    ["more than any answer", { chunks: [{ bytes: " ".repeat(1024 * 1024), repeat: 5 }] }, "unreachable"],
  ];
  test.each(answers)("%s", async (_, reply, outcome) => {
    service.script([reply]);
    expect(await failure(detector().find([text], newScope().scope))).toBeInstanceOf(DetectorUnavailable);
    expect(outcomes).toEqual([outcome]);
  });

  test("a late answer", async () => {
    service.script([{ hang: true }]);
    const closed = service.nextClose();
    expect(await failure(detector({ timeout_ms: 20 }).find([text], newScope().scope))).toBeInstanceOf(
      DetectorUnavailable,
    );
    await closed;
    expect(outcomes).toEqual(["unreachable"]);
  });

  test("a service that cannot be reached", async () => {
    const asked = detector();
    await service.stop();
    expect(await failure(asked.find([text], newScope().scope))).toBeInstanceOf(DetectorUnavailable);
    expect(outcomes).toEqual(["unreachable"]);
  });

  test.each([
    ["no list", { label: "SAFE", score: 1 }],
    ["an empty list", []],
    ["a label without a score", [{ label: "SAFE" }]],
  ])("%s of a classifier", async (_, answer) => {
    service.script([json(answer)]);
    expect(await failure(classifier().find([text], newScope().scope))).toBeInstanceOf(DetectorUnavailable);
  });

  test("an impossible amount of text", async () => {
    const texts = Array.from({ length: 1_001 }, (_, index) => `This is number ${index}.`);
    expect(await failure(classifier().find(texts, newScope().scope))).toMatchObject({
      message: "1001 stretches of text",
    });
    expect(service.requests).toHaveLength(0);
  });
});

describe("an external detector is called again", () => {
  const good = json([]);

  test("after a connection failure or a 503, not after a 500", async () => {
    service.script([{ cut: true }, good]);
    await detector({ retries: 1 }).find(["Anna"], newScope().scope);
    service.script([json({}, 503), good]);
    await detector({ retries: 1 }).find(["Anna"], newScope().scope);
    expect(outcomes).toEqual(["unreachable", "answered", "refused", "answered"]);
    service.script([json({}, 500), good]);
    await failure(detector({ retries: 1 }).find(["Anna"], newScope().scope));
    expect(outcomes).toHaveLength(5);
  });

  test("only after a pause after five missing answers", async () => {
    const asked = detector();
    service.script([{ cut: true }]);
    for (let times = 0; times < 6; times++) await failure(asked.find(["Anna"], newScope().scope));
    expect(service.requests).toHaveLength(5);
    clock = 15_001;
    service.script([good]);
    await asked.find(["Anna"], newScope().scope);
    expect(service.requests).toHaveLength(6);
  });

  test("by no queued request during an outage", async () => {
    const asked = detector({ max_concurrency: 1, cache_ttl_s: 0 });
    service.script([{ cut: true }]);
    const texts = Array.from({ length: 8 }, (_, index) => `Anna ${index}`);
    await Promise.all(texts.map((text) => failure(asked.find([text], newScope().scope))));
    expect(service.requests).toHaveLength(5);
  });

  test("at once after a failure that a text can provoke, so that no text disables it for others", async () => {
    const asked = detector();
    service.script([json({}, 500)]);
    for (let times = 0; times < 6; times++) await failure(asked.find([`Anna ${times}`], newScope().scope));
    service.script([json([entity(0, 99)])]);
    for (let times = 0; times < 6; times++) await failure(asked.find([`Anna ${times}`], newScope().scope));
    expect(service.requests).toHaveLength(12);
  });
});

test("an unchanged detector of the configuration file keeps its cache, and a changed one starts anew", async () => {
  service.script([json([])]);
  const settings = (more: object = {}) =>
    configSchema.parse({
      detectors: [
        { id: "names", dialect: "presidio", base_url: service.url, categories: { name: ["PERSON"] }, ...more },
      ],
    }).detectors;
  const surroundings = { version: "1", watch: () => () => {}, now: () => clock };
  const first = openDetectors(settings(), surroundings);
  const find = (detectors: Detectors) => detectors.byId.get("names")?.find(["Anna"], newScope().scope);
  await find(first);
  const same = openDetectors(settings(), surroundings, first);
  await find(same);
  expect([service.requests.length, service.openSockets]).toEqual([1, 1]);
  const closed = service.nextClose();
  const changed = openDetectors(settings({ api_key: "new" }), surroundings, same);
  opened.push(changed);
  await find(changed);
  await closed;
  expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, "Bearer new"]);
});

test("one request has at most eight concurrent detector calls, and starts none after a failure", async () => {
  const texts = Array.from({ length: 50 }, (_, index) => `This is number ${index}.`);
  service.script([{ hang: true }]);
  const asked = classifier({ max_concurrency: 50 });
  const first = newScope();
  const waiting = failure(asked.find(texts, first.scope));
  while (service.requests.length < 8) await service.nextRequest();
  expect(begun).toBe(8);
  first.abort.abort(new Error("left"));
  await waiting;
  service.script([{ status: 500, chunks: [{ json: {} }] }]);
  expect(await failure(asked.find(texts, newScope().scope))).toBeInstanceOf(DetectorUnavailable);
  expect(service.requests.length).toBeLessThan(8 + 20);
});

test("a large number of findings of a detector is not cached", async () => {
  service.script([json(Array.from({ length: 17 }, () => entity(0, 4)))]);
  const asked = detector();
  for (const times of [1, 2]) {
    // Each finding counts for two categories.
    expect((await found(asked, ["Anna"]))[0]).toHaveLength(34);
    expect(service.requests).toHaveLength(times);
  }
});

test("a turn that ends makes no more detector calls, and does not delay other turns", async () => {
  service.script([{ hang: true }]);
  const asked = detector({ max_concurrency: 1 });
  const first = newScope();
  const waiting = asked.find(["Anna"], first.scope);
  const queued = asked.find(["Berta"], newScope().scope);
  await service.nextRequest();
  const closed = service.nextClose();
  service.script([json([])]);
  first.abort.abort(new Error("left"));
  expect(await failure(waiting)).toBeInstanceOf(Fault);
  await closed;
  expect(await queued).toEqual(new Map());
  expect(outcomes).toEqual(["cancelled", "answered"]);
});
