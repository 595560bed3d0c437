/** POST /guardrails/try over running services: a trial finds and does the same as a turn under the guardrail. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type DetectorService, startRecognizer } from "../../support/providers/detector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validate } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

interface Trial {
  readonly decision: string;
  readonly text: string | null;
  readonly error: { readonly code: number; readonly message: string; readonly metadata: object } | null;
  readonly matches: readonly { rule: string; action: string; engine: string; start: number; end: number }[];
  readonly pipeline: readonly { summary: string; data: Record<string, unknown> }[];
}

let installation: Installation;
let acme: Upstream;
let names: DetectorService;

beforeAll(async () => {
  acme = await startUpstream();
  names = await startRecognizer({ "Anna Berg": "PERSON" });
  const gone = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme}]}
detectors:
  - {id: names, dialect: presidio, base_url: "${names.url}", categories: {person-name: [PERSON]}}
  - {id: gone, dialect: presidio, base_url: "${gone.url}", categories: {person-name: [PERSON]}, retries: 0}
`,
  });
  await gone.stop();
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), names?.stop()]);
});

async function send(path: string, body: object, key = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { data: Trial; error: { message: string } } };
}

async function attempt(body: object): Promise<Trial> {
  const { status, body: answer } = await send("/guardrails/try", body);
  expect([status, answer.error]).toEqual([200, undefined]);
  return answer.data;
}

const filters = [
  { pattern: "secret-\\d+", label: "code", action: "block" },
  { pattern: "[a-z]+@acme\\.test", label: "[MAIL]", action: "redact" },
  { pattern: "refund", label: "refund", action: "flag" },
];
const guardrail = { content_filters: filters, applies_to: "both" };

/** The result of a turn under the same guardrail: the text sent to the model or the client, and the status. */
async function turn(side: string, pieces: readonly string[], settings: object) {
  const made = await send("/guardrails", { name: "same", ...settings });
  const { id } = made.body.data as unknown as { readonly id: string };
  const { key, hash } = JSON.parse((await installation.admin("keys", "create", "--name", "same", "--json")).stdout) as {
    readonly key: string;
    readonly hash: string;
  };
  await send(`/guardrails/${id}/assignments/keys`, { key_hashes: [hash] });
  if (side === "input") {
    acme.script([chatAnswer({ content: "Hello" })]);
    const before = acme.requests.length;
    const { status } = await send("/responses", { model: "acme/large", input: pieces.join("") }, key);
    const asked = acme.requests[before]?.json as { messages?: { content: unknown }[] } | undefined;
    return { status, text: asked?.messages?.at(-1)?.content ?? null, error: undefined };
  }
  acme.script([chatStream(...pieces)]);
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "Hello", stream: true }),
  });
  if (response.status !== 200) return { status: response.status, text: null };
  const { events } = parseSse(await response.text());
  const deltas = events.flatMap(({ type, ...event }) =>
    type === "response.output_text.delta" ? [event["delta"]] : [],
  );
  return { status: 200, text: deltas.join("") };
}

describe("a trial of a guardrail does the same as a turn", () => {
  test.each<[string, string, readonly string[], object]>([
    ["a harmless text", "input", ["Hello there"], guardrail],
    ["a blocked text", "input", ["the secret-42"], guardrail],
    ["a redacted text", "input", ["write to anna@acme.test now"], guardrail],
    ["a disguised text", "input", ["the s\u200bec\u200bret-42"], guardrail],
    ["a harmless answer", "output", ["Hello ", "there"], guardrail],
    ["an answer that is blocked at once", "output", ["secret", "-", "42"], guardrail],
    ["an answer that is redacted over pieces", "output", ["to an", "na@ac", "me.test, now"], guardrail],
    ["a guardrail of the other side", "output", ["secret-42"], { ...guardrail, applies_to: "input" }],
    ["an audit", "input", ["the secret-42"], { ...guardrail, mode: "audit" }],
    [
      "a built-in detector",
      "input",
      ["call +1 415 555 2671"],
      { content_filter_builtins: [{ slug: "phone", action: "redact" }] },
    ],
  ])("for %s", async (_, side, pieces, settings) => {
    const trial = await attempt({ guardrail: settings, side, text: pieces });
    const done = await turn(side, pieces, settings);
    expect([trial.text, trial.error?.code ?? 200]).toEqual([done.text, done.status]);
  });
});

describe("a trial of a guardrail", () => {
  test("shows the matching rules and their places in code points", async () => {
    const text = "\u{1f600} anna@acme.test wants a refund";
    const trial = await attempt({ guardrail, text });
    expect(trial).toMatchObject({ decision: "redacted", text: "\u{1f600} [MAIL] wants a refund", error: null });
    expect(trial.matches).toEqual([
      { rule: "[MAIL]", action: "redact", engine: "regex", start: 2, end: 16 },
      { rule: "refund", action: "flag", engine: "regex", start: 25, end: 31 },
    ]);
  });

  test("shows the places of matches in the pieces of an answer, and the text delivered until then", async () => {
    const trial = await attempt({ guardrail, side: "output", text: ["One. Two. ", "sec", "ret-42 and more"] });
    expect(trial).toMatchObject({ decision: "blocked", text: "One. Two. ", error: null });
    expect(trial.matches).toEqual([{ rule: "code", action: "block", engine: "regex", start: 10, end: 19 }]);
    expect(trial.pipeline).toMatchObject([{ data: { action: "blocked", patterns: ["code"], applies_to: "output" } }]);
  });

  test("shows the findings of detectors, and an unresponsive detector", async () => {
    const detected = (detector: string) => ({ detectors: [{ detector, category: "person-name", action: "redact" }] });
    const found = await attempt({ guardrail: detected("names"), text: "I am Anna Berg" });
    expect(found).toMatchObject({ decision: "redacted", matches: [{ engine: "ner:names", start: 5, end: 14 }] });
    const silent = await attempt({ guardrail: detected("gone"), text: "I am Anna Berg" });
    expect(silent).toMatchObject({ decision: "error", text: null, error: { code: 503 }, matches: [] });
  });

  test("shows the action of a stored guardrail, with its message", async () => {
    const made = await send("/guardrails", { name: "stored", ...guardrail, blocked_message: "Not here." });
    const { id } = made.body.data as unknown as { readonly id: string };
    expect(await attempt({ guardrail_id: id, text: "secret-1" })).toMatchObject({
      decision: "blocked",
      error: { message: "Not here.", metadata: { patterns: ["code"] } },
    });
  });

  test("shows the documented fields", async () => {
    for (const side of ["input", "output"]) {
      for (const text of ["Hello", "secret-42", "anna@acme.test"]) {
        const { body } = await send("/guardrails/try", { guardrail, side, text });
        expect(validate("GuardrailTrialAnswer", body)).toEqual([]);
      }
    }
  });
});

test("a trial of a guardrail leaves no text in logs and records", async () => {
  const word = "Quaxolotl";
  await attempt({ guardrail, side: "output", text: [word, " secret-42"] });
  await attempt({ guardrail, text: `${word} anna@acme.test` });
  expect(await installation.allLogged()).not.toContain(word);
  const { stdout } = await installation.admin("audit", "list", "--json");
  expect(stdout).not.toContain(word);
});

test.each<[object, number, string]>([
  [{ text: "x" }, 400, "guardrail: required, or guardrail_id in its place"],
  [{ text: "x", guardrail, guardrail_id: "y" }, 400, "guardrail: required, or guardrail_id in its place"],
  [{ guardrail }, 400, "text: required"],
  [{ guardrail, text: 5 }, 400, "text: must be a string or an array of strings"],
  [{ guardrail, text: ["x", 5] }, 400, "text.1: must be a string"],
  [{ guardrail, text: ["x".repeat(200_000), "x".repeat(62_145)] }, 400, "text: at most 262144 UTF-16 units"],
  [{ guardrail, text: "x", side: "both" }, 400, "side: must be"],
  [
    { guardrail: { content_filters: [{ pattern: "(", action: "block" }] }, text: "x" },
    400,
    "content_filters.0.pattern",
  ],
  [
    { guardrail: { detectors: [{ detector: "no", category: "x", action: "flag" }] }, text: "x" },
    400,
    "detectors.0.detector",
  ],
  [{ guardrail_id: crypto.randomUUID(), text: "x" }, 404, "Guardrail not found"],
])("a trial of a guardrail is refused with %j", async (body, status, message) => {
  const answer = await send("/guardrails/try", body);
  expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringContaining(message)]);
});

test("a trial of a guardrail needs a management key, and finds no guardrail of another workspace", async () => {
  expect((await send("/guardrails/try", { guardrail, text: "x" }, installation.apiKey)).status).toBe(403);
  const made = await send("/guardrails", { name: "ours", ...guardrail });
  const { id } = made.body.data as unknown as { readonly id: string };
  await installation.admin("workspaces", "create", "--name", "theirs");
  const options = ["--management", "--name", "x", "--workspace", "theirs", "--json"];
  const { key } = JSON.parse((await installation.admin("keys", "create", ...options)).stdout) as {
    readonly key: string;
  };
  expect((await send("/guardrails/try", { guardrail_id: id, text: "x" }, key)).status).toBe(404);
});
