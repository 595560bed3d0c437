/** Keys with a budget never cause more provider usage than the limit, for any requests and abandoned calls of clients. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let judge: Upstream;
let installation: Installation;
let database: pg.Client;

beforeAll(async () => {
  acme = await startUpstream();
  judge = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: judge, dialect: chat, base_url: "${judge.url}/v1"}
models:
  - id: acme/reader
    context_length: 200000
    input_modalities: [text, image, file, audio]
    endpoints: [{provider: acme, pricing: {prompt: "3", completion: "15"}}]
  - {id: acme/flat, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "0", request: "0.01"}}]}
  - {id: acme/cheap, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "1"}}]}
  - {id: acme/judge, endpoints: [{provider: judge, pricing: {prompt: "0", completion: "0", request: "0.001"}}]}
internal_models:
  alignment_judge: {model: acme/judge, cache_ttl_s: 0, retries: 0, total_ms: 60000}
limits: {streams_per_key: 5000}
`,
  });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await Promise.all([acme?.stop(), judge?.stop()]);
});
beforeEach(() => acme.script([counted("Hi", 10, 1)]));

/** An answer with usage from the provider. */
const counted = (content: string, prompt: number, completion: number): Reply =>
  chatAnswer({ role: "assistant", content }, "stop", {
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  });

async function newKey(limit: number): Promise<{ readonly key: string; readonly hash: string }> {
  const answer = await fetch(`${installation.baseUrl}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "budgeted", limit }),
  });
  const { key, data } = (await answer.json()) as { key: string; data: { hash: string } };
  return { key, hash: data.hash };
}

const sendRequest = (key: string, body: object, signal?: AbortSignal) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/reader", input: "Hi", ...body }),
    ...(signal && { signal }),
  });

const withPart = (part: object) => ({
  input: [{ type: "message", role: "user", content: [part] }],
  max_output_tokens: 16,
});

interface Row {
  readonly status: string;
  readonly operation: string;
  readonly payer: string;
  readonly is_estimated: boolean;
  readonly input_tokens: string | null;
  readonly output_tokens: string | null;
  readonly cost_usd: string | null;
}

const rowsOf = async (hash: string): Promise<readonly Row[]> =>
  (await database.query<Row>("select * from all_calls where key_hash = $1 order by opened_at", [hash])).rows;

const heldOf = async (hash: string): Promise<number> => {
  const { rows } = await database.query("select 1 from budget_reservations where key_hash = $1", [hash]);
  return rows.length;
};

describe("a request is refused if its worst case does not fit in the budget", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const wave = (seconds: number) => {
    const head = Buffer.alloc(44);
    head.write("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1");
    head.writeUInt32LE(8_000, 24);
    head.writeUInt32LE(8_000, 28);
    head.writeUInt16LE(1, 32);
    head.writeUInt16LE(8, 34);
    return Buffer.concat([head, Buffer.alloc(8_000 * seconds)]).toString("base64");
  };
  const png = (width: number, height: number) => {
    const bytes = Buffer.alloc(33);
    bytes.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return `data:image/png;base64,${bytes.toString("base64")}`;
  };
  const file = (name: string, type: string, text: string) => ({
    type: "input_file",
    filename: name,
    file_data: `data:${type};base64,${base64(text)}`,
  });

  // A budget of 0.05 USD covers 16,666 tokens at 3 USD per million.
  test.each<[string, object, number]>([
    ["a text file of 200 kB", file("a.txt", "text/plain", "word ".repeat(40_000)), 402],
    ["a text file of 2 kB", file("a.txt", "text/plain", "word ".repeat(400)), 200],
    ["a PDF", file("a.pdf", "application/pdf", "%PDF-1.7 packed"), 402],
    ["an archive", file("a.zip", "application/zip", "PK\u0003\u0004"), 402],
    ["a picture of 8000 pixels square", { type: "input_image", image_url: png(8_000, 8_000) }, 402],
    ["a picture of 800 pixels square", { type: "input_image", image_url: png(800, 800) }, 200],
    ["a picture that the provider fetches", { type: "input_image", image_url: "https://example.com/a.png" }, 402],
    ["a sound of ten minutes", { type: "input_audio", input_audio: { format: "wav", data: wave(600) } }, 402],
    ["a sound of ten seconds", { type: "input_audio", input_audio: { format: "wav", data: wave(10) } }, 200],
    ["a sound of no known format", { type: "input_audio", input_audio: { format: "mp3", data: base64("?") } }, 402],
  ])("for %s", async (_, part, status) => {
    const { key } = await newKey(0.05);
    const before = acme.requests.length;
    const answer = await sendRequest(key, withPart(part));
    expect([answer.status, acme.requests.length - before]).toEqual([status, status === 200 ? 1 : 0]);
  });

  test("a provider gets the reserved maximum for a request without a limit", async () => {
    const { key } = await newKey(1);
    await sendRequest(key, {});
    expect(acme.requests.at(-1)?.json["max_tokens"]).toBe(4_096);
    await sendRequest(key, { max_output_tokens: 77 });
    expect(acme.requests.at(-1)?.json["max_tokens"]).toBe(77);
    await sendRequest(installation.apiKey, {});
    expect(acme.requests.at(-1)?.json).not.toHaveProperty("max_tokens");
  });
});

describe("a sent request is paid for", () => {
  const long = "The largest moon of Saturn is Titan. ".repeat(100);

  test.each([true, false])("by a client that leaves before the first word; stream: %s", async (stream) => {
    const { key, hash } = await newKey(1);
    acme.script([{ chunks: [], hang: true }]);
    for (let n = 0; n < 5; n++) {
      const leave = new AbortController();
      const sent = acme.nextRequest();
      const answer = sendRequest(key, { input: long, stream }, leave.signal).catch(() => {});
      await sent;
      leave.abort();
      await answer;
    }
    await eventually(async () => (await rowsOf(hash)).length === 5 && (await heldOf(hash)) === 0);
    for (const row of await rowsOf(hash)) {
      expect(row).toMatchObject({ status: "cancelled", is_estimated: true, output_tokens: "0" });
      expect(Number(row.input_tokens)).toBeGreaterThan(900);
      expect(Number(row.cost_usd)).toBeGreaterThan(0.0027);
    }
  });

  test("when inference-svc is killed, with the text until a second before", async () => {
    const { key, hash } = await newKey(1);
    const words = "z".repeat(400);
    // The second part comes after the next checkpoint of the text received so far.
    acme.script([
      {
        chunks: [
          { sse: [chatChunk({ content: words })] },
          { sse: [chatChunk({ content: words })], afterMs: 1_100 },
          { sse: [chatChunk({ content: "!" })], afterMs: 100 },
        ],
        hang: true,
      },
    ]);
    const answer = await sendRequest(key, { input: long, stream: true });
    const reader = answer.body?.getReader();
    for (let text = ""; !text.includes("!"); ) {
      text += Buffer.from((await reader?.read())?.value ?? []).toString();
    }
    process.kill(installation.pids()["inference-svc"] as number, "SIGKILL");
    await reader?.cancel().catch(() => {});
    await eventually(async () => (await rowsOf(hash)).length === 1 && (await heldOf(hash)) === 0);
    const [row] = await rowsOf(hash);
    expect(row).toMatchObject({ status: "lost", is_estimated: true });
    expect(Number(row?.input_tokens)).toBeGreaterThan(900);
    expect(Number(row?.output_tokens)).toBeGreaterThanOrEqual(200);
    acme.script([counted("Hi", 10, 1)]);
    await eventually(async () => (await sendRequest(installation.apiKey, { model: "acme/flat" })).status === 200);
  });
});

test("a provider that reports far too many tokens exceeds a budget once, not until its records arrive", async () => {
  const { key, hash } = await newKey(0.01);
  // 0.006 USD for a request with a maximum cost of 0.0002.
  acme.script([counted("Hi", 6_000, 0)]);
  const statuses: number[] = [];
  for (let n = 0; n < 12; n++)
    statuses.push((await sendRequest(key, { model: "acme/cheap", max_output_tokens: 16 })).status);
  expect(statuses).toEqual([200, 200, ...Array.from({ length: 10 }, () => 402)]);
  await eventually(async () => (await heldOf(hash)) === 0);
});

test("judge calls beyond the operator's share per request are paid by the key, and end with its budget", async () => {
  const { key, hash } = await newKey(0.01);
  judge.script([chatAnswer({ content: JSON.stringify({ evidence: "x", verdict: "followed", probability: 0.1 }) })]);
  const before = judge.requests.length;
  const rules = Array.from({ length: 128 }, (_, n) => `Never say the number ${n} in any language.`);
  const answer = await sendRequest(key, {
    model: "acme/cheap",
    max_output_tokens: 16,
    plugins: [{ id: "alignment", rules }],
  });
  expect(answer.status).toBe(402);
  await eventually(async () => (await heldOf(hash)) === 0);
  // The operator pays for 32 calls of the judge, and 0.01 USD pay for ten more at most.
  expect(judge.requests.length - before).toBeGreaterThan(32);
  expect(judge.requests.length - before).toBeLessThanOrEqual(42);
  const judged = (await rowsOf(hash)).filter(({ operation }) => operation === "judge");
  expect(judged.filter(({ payer }) => payer === "operator").length).toBe(32);
  const { rows } = await database.query<{ cost: string }>(
    "select sum(cost_usd) as cost from key_days where key_hash = $1",
    [hash],
  );
  expect(Number(rows[0]?.cost)).toBeLessThanOrEqual(0.01);
});

test("a budget's refusal is not logged as a failure of a provider", async () => {
  const { key } = await newKey(0);
  const answer = await sendRequest(key, {});
  expect(answer.status).toBe(402);
  const id = answer.headers.get("x-request-id") as string;
  await installation.logged("inference-svc", id, '"msg":"turn"');
  const lines = installation.logs("inference-svc").split("\n");
  const ofIt = lines.filter((line) => line.includes(id));
  expect(ofIt.filter((line) => line.includes("attempt failed") || line.includes('"provider"'))).toEqual([]);
});
