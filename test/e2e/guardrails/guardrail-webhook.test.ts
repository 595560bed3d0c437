/**
 * Guardrails with a webhook over running services: a working webhook, failing ones, and the example programs for services of vendors, whose
 * answers have the published forms.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type DetectorService, startWebhook } from "../../support/providers/detector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { root } from "../../support/processes.ts";
import { parseSse } from "../../support/answers/sse.ts";
import {
  type Received,
  type Reply,
  type Upstream,
  chatAnswer,
  chatStream,
  startUpstream,
} from "../../support/providers/upstream.ts";

const secret = `whsec_${Buffer.alloc(32, 4).toString("base64")}`;

const adapters = ["bedrock", "azure-content-safety", "model-armor", "lakera"] as const;
type Adapter = (typeof adapters)[number];

let acme: Upstream;
let own: DetectorService;
let scripted: Upstream;
let vendor: Upstream;
let running: ReadonlyMap<Adapter, RunningAdapter>;
let installation: Installation;

interface RunningAdapter {
  readonly url: string;
  readonly child: ChildProcess;
}

async function startAdapter(name: Adapter): Promise<RunningAdapter> {
  const child = spawn(process.execPath, [`${root}deploy/examples/guardrail-webhooks/${name}.mjs`], {
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      WEBHOOK_SECRET: secret,
      AWS_BEARER_TOKEN_BEDROCK: "aws-key",
      BEDROCK_ENDPOINT: vendor.url,
      BEDROCK_GUARDRAIL_ID: "gr1",
      BEDROCK_GUARDRAIL_VERSION: "3",
      CONTENT_SAFETY_ENDPOINT: vendor.url,
      CONTENT_SAFETY_KEY: "azure-key",
      CONTENT_SAFETY_BLOCKLISTS: "rivals",
      MODEL_ARMOR_TEMPLATE: "projects/p/locations/europe-west4/templates/t",
      MODEL_ARMOR_ENDPOINT: vendor.url,
      GCE_METADATA_HOST: new URL(vendor.url).host,
      LAKERA_GUARD_API_KEY: "lakera-key",
      LAKERA_ENDPOINT: vendor.url,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url: `http://127.0.0.1:${line.replace("ready on port ", "")}`, child };
}

beforeAll(async () => {
  [acme, scripted, vendor] = await Promise.all([
    startUpstream(),
    startUpstream(),
    startUpstream([{}], { isLenient: true }),
  ]);
  own = await startWebhook(secret, { "Anna Berg": "NAME", "project x": "CODE" });
  running = new Map(await Promise.all(adapters.map(async (name) => [name, await startAdapter(name)] as const)));
  const common = `secret: "${secret}", dialect: webhook`;
  const patient = "timeout_ms: 60000, total_ms: 120000";
  const ofAdapter = (name: Adapter, finds: string, categories: string): string =>
    `  - {id: ${name}-${finds}, ${common}, finds: ${finds}, base_url: "${running.get(name)?.url}/${finds}", categories: ${categories}, ${patient}, cache_ttl_s: 0, retries: 0}`;
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme}]}
detectors:
  - {id: own, ${common}, base_url: "${own.url}/check?tenant=7", categories: {person-name: [NAME], code-name: [CODE]}, ${patient}}
  - {id: wrong, ${common}, base_url: "${scripted.url}", categories: {person-name: [NAME]}, timeout_ms: 2000, total_ms: 2000, cache_ttl_s: 0, retries: 0}
${ofAdapter("bedrock", "labels", "{attack: [content:PROMPT_ATTACK], blocked: [intervened]}")}
${ofAdapter("bedrock", "spans", "{email: [pii:EMAIL]}")}
${ofAdapter("azure-content-safety", "labels", "{hate: [Hate], attack: [prompt-attack], rivals: [blocklist:rivals]}")}
${ofAdapter("model-armor", "labels", "{attack: [prompt-attack], harm: [rai:dangerous], blocked: [matched]}")}
${ofAdapter("model-armor", "spans", "{email: [sdp:EMAIL_ADDRESS]}")}
${ofAdapter("lakera", "labels", "{attack: [prompt_attack], blocked: [flagged]}")}
${ofAdapter("lakera", "spans", "{email: [pii/email]}")}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  for (const { child } of running?.values() ?? []) {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }
  await Promise.all([acme?.stop(), scripted?.stop(), vendor?.stop(), own?.stop()]);
});
beforeEach(() => acme.script([chatAnswer({ content: "Hello" })]));

/** A key under a guardrail with these rules. */
async function guarded(detectors: readonly object[], settings: object = {}): Promise<string> {
  const manage = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([path, response.ok]).toEqual([path, true]);
    return response.json();
  };
  const guardrail = (await manage("/guardrails", { name: "webhook", detectors, ...settings })) as {
    data: { id: string };
  };
  const made = (await manage("/keys", { name: "k" })) as { key: string; data: { hash: string } };
  await manage(`/guardrails/${guardrail.data.id}/assignments/keys`, { key_hashes: [made.data.hash] });
  return made.key;
}

const rule = (detector: string, category: string, action: string) => ({ detector, category, action });

async function post(key: string, body: object): Promise<readonly [status: number, text: string]> {
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", ...body }),
  });
  return [response.status, await response.text()];
}

const sent = () => acme.requests.at(-1)?.body ?? "";

describe("a webhook for a guardrail", () => {
  test("blocks, redacts and reports findings of requests", async () => {
    const blocking = await guarded([rule("own", "code-name", "block")]);
    expect((await post(blocking, { input: "Tell me about project x." }))[0]).toBe(403);
    expect((await post(blocking, { input: "Tell me about Anna Berg." }))[0]).toBe(200);
    const redacting = await guarded([rule("own", "person-name", "redact")]);
    expect((await post(redacting, { input: "\u{1f600} Anna Berg called." }))[0]).toBe(200);
    expect(sent()).toContain("[PERSON_NAME] called.");
    const reporting = await guarded([rule("own", "person-name", "flag")]);
    expect((await post(reporting, { input: "Anna Berg called." }))[0]).toBe(200);
    expect(sent()).toContain("Anna Berg called.");
    expect(own.requests.every(({ path }) => path === "/check?tenant=7")).toBe(true);
  });

  test("redacts a streamed answer wherever it is cut, and gets the direction of the text", async () => {
    const key = await guarded([rule("own", "person-name", "redact")], { applies_to: "output" });
    const before = own.requests.length;
    for (const deltas of [
      ["I met An", "na Berg", ". Bye."],
      Array.from("I met Anna Berg. Bye."),
      ["I met Anna Berg. Bye."],
    ]) {
      acme.script([chatStream(...deltas)]);
      const [status, text] = await post(key, { input: "Hi", stream: true });
      expect([status, text.includes("Berg")]).toEqual([200, false]);
      const { events } = parseSse(text);
      const delivered = (events as { type: string; delta?: string }[])
        .filter(({ type }) => type === "response.output_text.delta")
        .map(({ delta }) => delta);
      expect(delivered.join("")).toBe("I met [PERSON_NAME]. Bye.");
    }
    const directions = own.requests.slice(before).map(({ json }) => (json["data"] as { direction: string }).direction);
    expect(new Set(directions)).toEqual(new Set(["output"]));
  });
});

const findings = (...found: readonly object[]): Reply => ({ chunks: [{ json: { findings: found } }] });

describe("a failing webhook", () => {
  test.each<[string, Reply]>([
    ["lies about places", findings({ label: "NAME", start: 0, end: 4_000 })],
    ["gives a place before the text", findings({ label: "NAME", start: -5, end: 2 })],
    ["stalls", { hang: true }],
    ["stalls within its answer", { chunks: [{ bytes: '{"findings":[' }], hang: true }],
    ["floods", { chunks: [{ json: { findings: [], more: "x".repeat(6_000_000) } }] }],
    ["dies", { chunks: [{ bytes: '{"findings":[]' }], cut: true }],
    ["refuses the signature", { status: 401, chunks: [{ json: { findings: [] } }] }],
  ])("fails closed or open as its guardrail demands when it %s, in both directions", async (_, reply) => {
    scripted.script([reply]);
    for (const [settings, status] of [
      [{}, 503],
      [{ on_error: "open" }, 200],
    ] as const) {
      const key = await guarded([rule("wrong", "person-name", "block")], { applies_to: "input", ...settings });
      expect([settings, (await post(key, { input: "Anna" }))[0]]).toEqual([settings, status]);
    }
    const closed = await guarded([rule("wrong", "person-name", "redact")], { applies_to: "output" });
    acme.script([chatStream("Anna ", "Berg.")]);
    const [, text] = await post(closed, { input: "Hi", stream: true });
    expect(text).not.toMatch(/Anna|Berg/);
  });
});

/** The vendor's answers by the path of the request. */
const scriptVendor = (replies: Readonly<Record<string, object>>): void =>
  vendor.script(({ path }: Received) => {
    const [, answer] = Object.entries(replies).find(([part]) => path.includes(part)) ?? [];
    return answer === undefined ? { status: 500, chunks: [{ json: {} }] } : { chunks: [{ json: answer }] };
  });

const token = { "/computeMetadata/": { access_token: "gcp-token", expires_in: 3_600, token_type: "Bearer" } };
const armor = (state: string, results: object) => ({
  ...token,
  ":sanitize": { sanitizationResult: { filterMatchState: state, invocationResult: "SUCCESS", filterResults: results } },
});
const execution = (matchState: string) => ({ executionState: "EXECUTION_SUCCESS", matchState });

const mail = "write to a@b.example now";
const [at, until] = [mail.indexOf("a@b"), mail.indexOf(" now")];

const blocked: readonly [Adapter, category: string, answers: Readonly<Record<string, object>>][] = [
  [
    "bedrock",
    "attack",
    {
      "/guardrail/gr1/version/3/apply": {
        action: "GUARDRAIL_INTERVENED",
        outputs: [{ text: "no" }],
        assessments: [
          {
            contentPolicy: {
              filters: [{ type: "PROMPT_ATTACK", confidence: "HIGH", action: "BLOCKED", detected: true }],
            },
          },
        ],
      },
    },
  ],
  ["bedrock", "blocked", { "/apply": { action: "GUARDRAIL_INTERVENED", assessments: [{ anotherPolicy: {} }] } }],
  [
    "azure-content-safety",
    "hate",
    {
      "text:analyze": { blocklistsMatch: [], categoriesAnalysis: [{ category: "Hate", severity: 6 }] },
      "text:shieldPrompt": { userPromptAnalysis: { attackDetected: false }, documentsAnalysis: [] },
    },
  ],
  [
    "azure-content-safety",
    "attack",
    {
      "text:analyze": { categoriesAnalysis: [{ category: "Hate", severity: 0 }] },
      "text:shieldPrompt": { userPromptAnalysis: { attackDetected: true }, documentsAnalysis: [] },
    },
  ],
  [
    "azure-content-safety",
    "rivals",
    {
      "text:analyze": {
        blocklistsMatch: [{ blocklistName: "rivals", blocklistItemId: "1", blocklistItemText: "Acme" }],
        categoriesAnalysis: [],
      },
      "text:shieldPrompt": { userPromptAnalysis: { attackDetected: false } },
    },
  ],
  [
    "model-armor",
    "attack",
    armor("MATCH_FOUND", {
      pi_and_jailbreak: { piAndJailbreakFilterResult: { ...execution("MATCH_FOUND"), confidenceLevel: "HIGH" } },
    }),
  ],
  [
    "model-armor",
    "harm",
    armor("MATCH_FOUND", {
      rai: {
        raiFilterResult: {
          ...execution("MATCH_FOUND"),
          raiFilterTypeResults: { dangerous: { confidenceLevel: "MEDIUM_AND_ABOVE", matchState: "MATCH_FOUND" } },
        },
      },
    }),
  ],
  ["model-armor", "blocked", armor("MATCH_FOUND", { another: { anotherFilterResult: execution("MATCH_FOUND") } })],
  [
    "lakera",
    "attack",
    { "/v2/guard": { flagged: true, breakdown: [{ detector_type: "prompt_attack", detected: true, message_id: 0 }] } },
  ],
  ["lakera", "blocked", { "/v2/guard": { flagged: true, breakdown: [] } }],
];

const clean: Readonly<Record<Adapter, Readonly<Record<string, object>>>> = {
  bedrock: { "/apply": { action: "NONE", outputs: [], assessments: [{}] } },
  "azure-content-safety": {
    "text:analyze": { blocklistsMatch: [], categoriesAnalysis: [{ category: "Hate", severity: 0 }] },
    "text:shieldPrompt": { userPromptAnalysis: { attackDetected: false } },
  },
  "model-armor": armor("NO_MATCH_FOUND", { csam: { csamFilterFilterResult: execution("NO_MATCH_FOUND") } }),
  lakera: { "/v2/guard": { flagged: false, payload: [], breakdown: [] } },
};

const redacted: readonly [Adapter, Readonly<Record<string, object>>][] = [
  [
    "bedrock",
    {
      "/apply": {
        action: "GUARDRAIL_INTERVENED",
        assessments: [
          {
            sensitiveInformationPolicy: {
              piiEntities: [{ type: "EMAIL", match: "a@b.example", action: "ANONYMIZED" }],
            },
          },
        ],
      },
    },
  ],
  [
    "model-armor",
    armor("MATCH_FOUND", {
      sdp: {
        sdpFilterResult: {
          inspectResult: {
            ...execution("MATCH_FOUND"),
            findings: [
              {
                infoType: "EMAIL_ADDRESS",
                likelihood: "VERY_LIKELY",
                location: { codepointRange: { start: String(at), end: String(until) } },
              },
            ],
          },
        },
      },
    }),
  ],
  [
    "lakera",
    {
      "/v2/guard": {
        flagged: true,
        payload: [
          { detector_type: "pii/email", start: at, end: until, text: "a@b.example", labels: [], message_id: 0 },
        ],
      },
    },
  ],
];

describe("the example program of a webhook", () => {
  test.each(blocked)("for %s blocks by its finding of %s", async (adapter, category, answers) => {
    const key = await guarded([rule(`${adapter}-labels`, category, "block")], { applies_to: "input" });
    scriptVendor(clean[adapter]);
    expect((await post(key, { input: "a question of some length" }))[0]).toBe(200);
    scriptVendor(answers);
    expect((await post(key, { input: "a question of some length" }))[0]).toBe(403);
  });

  test.each(redacted)("for %s redacts the places that it finds", async (adapter, answers) => {
    const key = await guarded([rule(`${adapter}-spans`, "email", "redact")], { applies_to: "input" });
    scriptVendor(answers);
    expect((await post(key, { input: mail }))[0]).toBe(200);
    expect(sent()).toContain("write to [EMAIL] now");
  });

  test.each<[Adapter, Readonly<Record<string, object>>]>([
    ["bedrock", { "/apply": { message: "no such guardrail" } }],
    ["azure-content-safety", { "text:analyze": clean["azure-content-safety"]["text:analyze"] as object }],
    ["azure-content-safety", { ...clean["azure-content-safety"], "text:shieldPrompt": {} }],
    [
      "model-armor",
      armor("NO_MATCH_FOUND", {
        rai: { raiFilterResult: { executionState: "EXECUTION_SKIPPED", matchState: "NO_MATCH_FOUND" } },
      }),
    ],
    ["model-armor", { ":sanitize": {} }],
    ["lakera", { "/v2/guard": { error: "quota" } }],
  ])("for %s refuses when the service has not answered: %j", async (adapter, answers) => {
    const category = adapter === "azure-content-safety" ? "hate" : "blocked";
    const key = await guarded([rule(`${adapter}-labels`, category, "block")], { applies_to: "input" });
    scriptVendor(answers);
    expect((await post(key, { input: "a question of some length" }))[0]).toBe(503);
  });

  test("refuses messages with a wrong signature, an old one, and a body that is too long", async () => {
    const url = running.get("lakera")?.url ?? "";
    const asked = async (headers: Record<string, string>, body = "{}") =>
      (await fetch(url, { method: "POST", headers, body })).status;
    const now = String(Math.floor(Date.now() / 1_000));
    expect(await asked({})).toBe(401);
    expect(await asked({ "webhook-id": "1", "webhook-timestamp": now, "webhook-signature": "v1,AAAA" })).toBe(401);
    expect(await asked({}, "x".repeat(1_000_001))).toBe(413);
    expect((await fetch(url)).status).toBe(405);
  });
});
