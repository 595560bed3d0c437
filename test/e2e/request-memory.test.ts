/** A stream may last many minutes: the memory of its request is released as soon as the answer has begun. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { cohereBlockStart, cohereDelta, cohereStart } from "../inference-svc/models/dialects/cohere-translation.ts";
import { converseDelta, converseStart } from "../inference-svc/models/dialects/converse-translation.ts";
import {
  messagesBlockStart,
  messagesDelta,
  messagesStart,
} from "../inference-svc/models/dialects/messages-translation.ts";
import { inUseVariables } from "../support/in-use.ts";
import { type ProcessReading, takeReadings } from "../support/readings.ts";
import { type Installation, services, startInstallation } from "../support/installation.ts";
import { samplesOf, scrape } from "../support/metrics.ts";
import { eventually } from "../support/processes.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../support/providers/upstream.ts";

const streams = 12;
const promptBytes = 512 * 1_024;
/** Memory that a stream may keep: an eighth of its prompt, for the stream itself and for memory released late by the process. */
const keptKib = 64;
/** Reserved memory that may stay: two copies of each prompt, and some bytes for each (inference-svc/models/estimate/memory.ts). */
const keptReservation = 2.1 * streams * promptBytes;

const said = "begun, and going on ";
const message = { type: "message", id: "msg_1", role: "assistant", content: [], status: "in_progress" };
const responseEvents = [
  { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
  { type: "response.output_item.added", output_index: 0, item: message },
  { type: "response.content_part.added", output_index: 0, content_index: 0, part: { type: "output_text", text: "" } },
  { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "msg_1", delta: said },
];
const events = (...sse: readonly object[]): Reply => ({ chunks: [{ sse }], hang: true });

/** The beginnings of endless answers. */
const beginnings: Readonly<Record<string, Reply>> = {
  chat: events(chatChunk({ content: said })),
  responses: events(...responseEvents),
  messages: events(
    messagesStart(),
    messagesBlockStart(0, { type: "text", text: "" }),
    messagesDelta(0, { type: "text_delta", text: said }),
  ),
  gemini: events({ candidates: [{ content: { role: "model", parts: [{ text: said }] } }] }),
  cohere: events(cohereStart, cohereBlockStart(0, { type: "text", text: "" }), cohereDelta(0, { text: said })),
  converse: {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: [{ bytes: converseStart() }, { bytes: converseDelta(0, { text: said }) }],
    hang: true,
  },
};
const dialects = Object.keys(beginnings);

let folder: string;
let upstreams: readonly Upstream[];
let installation: Installation;
/** A key under a guardrail for answers. */
let guarded: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-request-memory-"));
  upstreams = await Promise.all(Object.values(beginnings).map((reply) => startUpstream([reply])));
  const access = (dialect: string) =>
    dialect === "converse" ? "aws: {region: eu-central-1, access_key_id: A, secret_access_key: s}" : "api_keys: [k]";
  const provider = (dialect: string, n: number) =>
    `  - {id: ${dialect}, dialect: ${dialect}, base_url: "${upstreams[n]?.url}", ${access(dialect)}}`;
  installation = await startInstallation({
    environment: inUseVariables(folder),
    config: `
providers:
${dialects.map(provider).join("\n")}
models:
${dialects.map((dialect) => `  - {id: ${dialect}/model, endpoints: [{provider: ${dialect}, upstream_model: m}]}`).join("\n")}
`,
  });
  const made = await installation.admin("guardrails", "create", "--name", "g", "--block", "never said", "--json");
  const created = await installation.admin("keys", "create", "--name", "guarded", "--json");
  guarded = (JSON.parse(created.stdout) as { key: string }).key;
  await installation.admin("guardrails", "assign", (JSON.parse(made.stdout) as { id: string }).id, hashKey(guarded));
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all(upstreams.map((upstream) => upstream.stop()));
  rmSync(folder, { recursive: true, force: true });
});

interface Asking {
  readonly path?: string;
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields: (prompt: string) => object;
}

interface Case extends Asking {
  readonly name: string;
  readonly key?: () => string;
}

const input = (prompt: string) => ({ input: prompt });
const messagesOf = (content: string) => ({ messages: [{ role: "user", content }] });

const cases: readonly Case[] = [
  ...dialects.map((dialect) => ({ name: `from ${dialect}`, model: `${dialect}/model`, fields: input })),
  { name: "as chat completions", path: "/chat/completions", fields: messagesOf },
  { name: "as messages", path: "/messages", fields: (prompt) => ({ ...messagesOf(prompt), max_tokens: 100 }) },
  { name: "under a guardrail", key: () => guarded, fields: input },
  { name: "that others may join", headers: { "idempotency-key": "one" }, fields: input },
  {
    name: "with long settings",
    fields: (prompt) => ({ input: "Hi", prediction: { type: "content", content: prompt } }),
  },
];

async function begin({ path = "/responses", headers, fields }: Asking, model: string, key: string, prompt: string) {
  const leaving = new AbortController();
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model, stream: true, ...fields(prompt) }),
    signal: leaving.signal,
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  while (!text.includes("begun")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the answer has ended: ${response.status} ${text}`);
    text += Buffer.from(value).toString();
  }
  return () => leaving.abort();
}

/** Streams with different prompts, because equal items are in memory once. @returns a function that leaves them */
async function open(
  { model = "chat/model", key = () => installation.apiKey, headers = {}, ...asking }: Case,
  salt: string,
) {
  const leave: (() => void)[] = [];
  for (let n = 0; n < streams; n++) {
    const prompt = `${salt}${n} `.padEnd(8, "-").repeat(promptBytes / 8);
    const named = Object.entries(headers).map(([name, value]) => [name, `${value}${salt}${n}`]);
    const own = { ...asking, headers: Object.fromEntries(named) as Record<string, string> };
    leave.push(await begin(own, model, key(), prompt));
  }
  return () => leave.forEach((each) => each());
}

const used = ({ heapKib, externalKib }: ProcessReading) => heapKib + externalKib;

async function metric(name: string): Promise<number> {
  const samples = samplesOf(await scrape(installation)).filter((sample) => sample.name === name);
  expect(samples).not.toEqual([]);
  return Math.max(...samples.map(({ value }) => value));
}

/** Leaves the streams, and waits for their end: otherwise their memory would count as part of the baseline. */
async function end(leave: () => void): Promise<void> {
  leave();
  await eventually(async () => (await metric("sluice_open_turns")) === 0);
}

test.each(cases)(
  "a stream $name keeps no memory for its request once the stream has begun",
  async (asked) => {
    await end(await open(asked, "a"));
    const before = await takeReadings(installation.pids(), folder);
    const leave = await open(asked, "b");
    const after = await takeReadings(installation.pids(), folder);
    const reserved = await metric("sluice_byte_budget_reserved_bytes");
    await end(leave);
    const kept = services.map((name) => [name, (used(after[name]) - used(before[name])) / streams] as const);
    expect(kept.filter(([, kib]) => kib > keptKib)).toEqual([]);
    expect(reserved).toBeLessThanOrEqual(keptReservation);
  },
  120_000,
);
