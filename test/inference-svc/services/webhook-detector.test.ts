/** A webhook detector over real sockets: its signed requests, and every wrong form of an answer. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { configSchema } from "@sluice/proto/config/config-file.js";
import type { Detector } from "@sluice/inference-svc/services/detection/detector.js";
import { type Detectors, openDetectors } from "@sluice/inference-svc/services/detection/open-detectors.js";
import { DetectorUnavailable } from "@sluice/inference-svc/services/detection/wire.js";
import { isSignedBy } from "../../support/providers/detector.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { newScope } from "../asking.ts";

const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
let service: Upstream;
let opened: Detectors[] = [];

beforeEach(async () => {
  service = await startUpstream();
  opened = [];
});
afterEach(async () => {
  await service.stop();
  await Promise.all(opened.map((detectors) => detectors.close()));
});

const settings = {
  id: "own",
  dialect: "webhook",
  secret,
  categories: { person: ["NAME"], secret: ["CODE", "NAME"] },
  retries: 0,
  // Time limit of a webhook, long enough that a busy machine is no outage.
  timeout_ms: 60_000,
  total_ms: 120_000,
};

function detector(more: object = {}, path = "/check?tenant=7"): Detector {
  const { detectors } = configSchema.parse({ detectors: [{ ...settings, base_url: service.url + path, ...more }] });
  const made = openDetectors(detectors, { version: "1", watch: () => () => {}, now: () => performance.now() });
  opened.push(made);
  return made.byId.get("own") as Detector;
}

const reply = (...findings: readonly unknown[]): Reply => ({ chunks: [{ json: { findings } }] });

async function found(own: Detector, text: string, side?: "input" | "output") {
  const marks = await own.find([text], newScope().scope, side);
  return (marks.get(text) ?? []).map(({ category, start, end, score }) => [category, text.slice(start, end), score]);
}

describe("a webhook detector", () => {
  test("gets a signed message with the text and its direction, at the whole URL", async () => {
    service.script([reply({ label: "CODE", start: 0, end: 3, score: 0.7 }), reply()]);
    const own = detector({ api_key: "k" });
    expect([own.engine, own.returnsSpans]).toEqual(["webhook:own", true]);
    expect(await found(own, "007 came")).toEqual([["secret", "007", 0.7]]);
    // The answer to the same text in another direction is not taken from memory.
    expect(await found(own, "007 came", "output")).toEqual([]);
    expect(await found(own, "007 came")).toEqual([["secret", "007", 0.7]]);
    expect(service.requests.map(({ json }) => json)).toMatchObject([
      { type: "guardrail.check", data: { detector: "own", direction: "input", text: "007 came" } },
      { type: "guardrail.check", data: { detector: "own", direction: "output", text: "007 came" } },
    ]);
    for (const { path, headers, body } of service.requests) {
      expect(path).toBe("/check?tenant=7");
      expect(headers.authorization).toBe("Bearer k");
      expect(isSignedBy(secret, body, headers)).toBe(true);
      expect(isSignedBy(secret, `${body} `, headers)).toBe(false);
    }
    const ids = new Set(service.requests.map(({ headers }) => headers["webhook-id"]));
    expect(ids.size).toBe(2);
  });

  test("gets a repeated question with the same id and body", async () => {
    service.script([{ status: 503, chunks: [{ json: {} }] }, reply()]);
    expect(await found(detector({ retries: 1 }), "hello")).toEqual([]);
    const [first, second] = service.requests;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(second?.body).toBe(first?.body);
  });

  test.each(["", "/"])("with the path %j is called at the root", async (path) => {
    service.script([reply()]);
    await found(detector({}, path), "hello");
    expect(service.requests[0]?.path).toBe("/");
  });

  test.each([
    ["code_points", 2, 6],
    ["utf16", 3, 7],
    ["bytes", 5, 9],
  ])("returns places in %s", async (offsets, start, end) => {
    service.script([reply({ label: "NAME", start, end })]);
    expect(await found(detector({ offsets }), "\u{1f600} Anna \u00e9")).toEqual([
      ["person", "Anna", 1],
      ["secret", "Anna", 1],
    ]);
  });

  test("that returns labels judges the whole text, with or without a place", async () => {
    service.script([reply({ label: "NAME" }, { label: "CODE", start: 1, end: 2 }, { label: "unknown" })]);
    expect(await found(detector({ finds: "labels" }), "Anna")).toEqual([
      ["person", "Anna", 1],
      ["secret", "Anna", 1],
      ["secret", "Anna", 1],
    ]);
  });

  const wrongAnswers: readonly (readonly [title: string, reply: Reply, settings?: object])[] = [
    ["a place after the end", reply({ label: "NAME", start: 0, end: 400 })],
    ["a place before the start", reply({ label: "NAME", start: -1, end: 4 })],
    ["a place that ends before it starts", reply({ label: "NAME", start: 4, end: 2 })],
    ["an empty place", reply({ label: "NAME", start: 4, end: 4 })],
    ["a place within a character", reply({ label: "NAME", start: 1, end: 5 }), { offsets: "bytes" }],
    [
      "a place within a pair of surrogates",
      reply({ label: "NAME", start: 0, end: 4 }),
      { offsets: "utf16", text: "ab \u{1f600} cd" },
    ],
    ["a place that is no whole number", reply({ label: "NAME", start: 0.5, end: 4 })],
    ["places as texts", reply({ label: "NAME", start: "0", end: "4" })],
    ["no place", reply({ label: "NAME" })],
    ["half of a place", reply({ label: "NAME", start: 0 })],
    ["half of a place for labels", reply({ label: "NAME", end: 1 }), { finds: "labels" }],
    ["a score above 1", reply({ label: "NAME", start: 0, end: 1, score: 7 })],
    ["a label that is no text", reply({ label: 7, start: 0, end: 1 })],
    ["a valid finding beside a wrong one", reply({ label: "CODE", start: 0, end: 1 }, null)],
    ["no findings", { chunks: [{ json: { ok: true } }] }],
    ["a list", { chunks: [{ json: [] }] }],
    ["no JSON", { chunks: [{ bytes: "fine" }] }],
    ["an empty body", { chunks: [] }],
    ["another status", { status: 401, chunks: [{ json: { findings: [] } }] }],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" }, chunks: [{ json: { findings: [] } }] }],
    ["a connection that breaks", { chunks: [{ bytes: '{"findings":' }], cut: true }],
    ["a flood", { chunks: [{ json: { findings: [], padding: "x".repeat(5 * 1024 * 1024) } }] }],
    ["silence", { hang: true }, { timeout_ms: 100, total_ms: 100 }],
  ];

  // A row of two values would leave the third parameter to jest, which waits for its callback.
  test.each(wrongAnswers.map(([title, wrong, more = {}]) => ({ title, wrong, more })))(
    "that answers with $title counts as not answering",
    async ({ wrong, more }) => {
      service.script([wrong]);
      const { text = "\u00e9 Anna", ...settings } = more as { text?: string };
      await expect(found(detector(settings), text)).rejects.toThrow(DetectorUnavailable);
    },
  );
});

test.each([
  [{ secret: undefined }, ["secret"]],
  [{ secret: "whsec_short" }, ["secret"]],
  [{ dialect: "presidio" }, ["secret"]],
  [{ dialect: "tei", secret: undefined, finds: "spans" }, ["finds"]],
  [{ dialect: "tei", secret: undefined, offsets: "bytes" }, ["offsets"]],
])("settings %j of a webhook detector are refused by name", (more, path) => {
  const { error } = configSchema.safeParse({ detectors: [{ ...settings, base_url: "http://127.0.0.1", ...more }] });
  expect(error?.issues.map((issue) => issue.path)).toEqual([["detectors", 0, ...path]]);
});
