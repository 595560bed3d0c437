/** Captured prompts and answers: whose are stored, which keys can read them, and what the database, a changed row or another key reveals. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import pg from "pg";
import { WebSocket } from "ws";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

const maxBytes = 8_192;
const [key, nextKey] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
const models = () => `
providers:
  - {id: sluice, dialect: echo}
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [any]}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: acme/embed, output_modalities: [embeddings], endpoints: [{provider: acme}]}
`;
const capture = (settings: string) => `${models()}capture: {${settings}, max_bytes: ${maxBytes}}`;
/** A text for prompts; the built-in model repeats it in its answers. */
const secret = "the-heron-stands-in-the-reeds";

interface Text {
  readonly text: string;
  readonly bytes: number;
  readonly is_truncated: boolean;
}

interface Content {
  readonly id: string;
  readonly expires_at: string;
  readonly request: Text;
  readonly answer: Text | null;
}

interface Turn {
  readonly id: string;
  readonly requestId: string;
  readonly body: string;
  readonly answer: string;
}

let upstream: Upstream;
let installation: Installation;
let database: pg.Client;
let apiKey: string;
let keyHash: string;

beforeAll(async () => {
  const vector = { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 3, total_tokens: 3 } };
  upstream = await startUpstream([{ chunks: [{ json: vector }] }]);
  installation = await startInstallation({
    config: capture('key: "${OPERATOR_KEY}"'),
    environment: { OPERATOR_KEY: key },
  });
  database = new pg.Client(installation.databaseUrl);
  await database.connect();
  ({ bearer: apiKey, hash: keyHash } = await makeKey());
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await upstream?.stop();
});

async function administer(method: string, path: string, body?: object, bearer = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as { readonly data: unknown; readonly error?: { readonly message: string } };
  return { status: response.status, json };
}

/** A key with captured content. */
async function makeKey() {
  const { json } = await administer("POST", "/keys", { name: "captured", capture_content: true });
  const { key: bearer, data } = json as unknown as { key: string; data: { hash: string } };
  return { bearer, hash: data.hash };
}

async function sendRequest(
  fields: object = {},
  { path = "/responses", bearer = apiKey, headers = {} } = {},
): Promise<Turn> {
  const body = JSON.stringify({ model: "sluice/echo", input: secret, ...fields });
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json", ...headers },
    body,
  });
  const answer = await response.text();
  const header = (name: string) => response.headers.get(name) as string;
  return { id: header("x-generation-id"), requestId: header("x-request-id"), body, answer };
}

const read = (query: string, bearer?: string) => administer("GET", `/generation/content?${query}`, undefined, bearer);

/** The content of a turn, once it is stored. */
async function stored({ id }: Pick<Turn, "id">): Promise<Content> {
  await eventually(async () => (await rowsOf(id)) > 0);
  const { status, json } = await read(`id=${id}`);
  expect([status, json.error]).toEqual([200, undefined]);
  return json.data as Content;
}

async function rowsOf(id: string): Promise<number> {
  const { rowCount } = await database.query("select from captured_contents where generation_id = $1", [id]);
  return rowCount ?? 0;
}

const environmentOf = (pid: number): string => readFileSync(`/proc/${pid}/environ`, "utf8");

const whole = (text: string): Text => ({ text, bytes: Buffer.byteLength(text), is_truncated: false });

describe("content of a key with capture", () => {
  test.each([
    ["an object", "/responses", {}],
    ["a stream", "/responses", { stream: true }],
    ["a chat completion", "/chat/completions", { input: undefined, messages: [{ role: "user", content: secret }] }],
    [
      "a stream of messages",
      "/messages",
      { input: undefined, messages: [{ role: "user", content: secret }], max_tokens: 64, stream: true },
    ],
  ])("is stored as it was sent and answered: %s", async (_, path, fields) => {
    const turn = await sendRequest(fields, { path });
    const content = await stored(turn);
    expect(content).toMatchObject({ id: turn.id, request: whole(turn.body), answer: whole(turn.answer) });
    expect(content.answer?.text).toContain(secret);
    expect((await read(`request_id=${turn.requestId}`)).json.data).toEqual(content);
    await eventually(async () => {
      const { status, json } = await administer("GET", `/generation?id=${turn.id}`);
      return status === 200 && (json.data as { content_expires_at: string }).content_expires_at === content.expires_at;
    });
  });

  test("is stored once for requests sharing a turn", async () => {
    const headers = { "idempotency-key": "one" };
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => sendRequest({}, { headers })));
    const { request, answer } = await stored(first as Turn);
    expect([request, answer?.text]).toEqual([whole((first as Turn).body), expect.stringContaining(secret)]);
    const shared = others.filter(({ id }) => id === first?.id);
    expect(await rowsOf((first as Turn).id)).toBe(1);
    for (const { answer: same } of shared) expect(same).toBe(first?.answer);
  });

  test("is stored for embeddings", async () => {
    const turn = await sendRequest({ model: "acme/embed" }, { path: "/embeddings" });
    expect(await stored(turn)).toMatchObject({ request: whole(turn.body), answer: whole(turn.answer) });
  });

  test("is stored for a response on a WebSocket", async () => {
    const { bearer, hash } = await makeKey();
    const socket = new WebSocket(`${installation.baseUrl.replace("http", "ws")}/responses`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "response.create", model: "sluice/echo", input: secret }));
    await new Promise<void>((resolve) => {
      socket.on("message", (data: Buffer) => data.includes("response.completed") && resolve());
    });
    socket.close();
    const ids = async () => {
      const query = "select generation_id as id from captured_contents where key_hash = $1";
      return (await database.query<{ id: string }>(query, [hash])).rows;
    };
    await eventually(async () => (await ids()).length === 1);
    const { answer, request } = await stored((await ids())[0] as { id: string });
    expect([request.text, answer?.text]).toEqual([expect.stringContaining(secret), expect.stringContaining(secret)]);
  });

  test("is truncated at the limit, and never within a character", async () => {
    const { id, body } = await sendRequest({ input: `x${"é".repeat(maxBytes)}` });
    const { request, answer } = await stored({ id });
    expect(request).toMatchObject({ bytes: Buffer.byteLength(body), is_truncated: true });
    expect([body.startsWith(request.text), request.text.includes("\uFFFD")]).toEqual([true, false]);
    expect(Buffer.byteLength(request.text)).toBeGreaterThanOrEqual(maxBytes - 1);
    expect(answer?.is_truncated).toBe(true);
  });

  test("has no answer if the client got an error", async () => {
    const { id, body } = await sendRequest({ model: "nobody/has-this" });
    expect(await stored({ id })).toMatchObject({ request: whole(body), answer: null });
  });
});

describe("captured content", () => {
  test("is not stored for other keys, and for requests that forbid it", async () => {
    const forbidding = [{ provider: { zdr: true } }, { provider: { data_collection: "deny" } }, { store: false }];
    const turns = await Promise.all(forbidding.map((fields) => sendRequest(fields)));
    turns.push(await sendRequest({}, { bearer: installation.apiKey }));
    // Contents are delivered in their order, so one more turn proves that earlier ones were not captured.
    await stored(await sendRequest());
    for (const { id } of turns) {
      expect([id, await rowsOf(id)]).toEqual([id, 0]);
      expect((await read(`id=${id}`)).status).toBe(404);
    }
  });

  test("is in clear text neither in the table nor in the logs or metrics", async () => {
    const { id } = await sendRequest();
    await stored({ id });
    const { rows } = await database.query<{ row: string }>(
      `select to_jsonb(content)::text || encode(sealed, 'escape') as row from captured_contents as content`,
    );
    expect(rows.filter(({ row }) => row.includes("heron") || row.includes("sluice/echo"))).toEqual([]);
    const metrics = await (await fetch(`http://127.0.0.1:${installation.ports.gateway_health}/metrics`)).text();
    expect(metrics).toContain("sluice_captured_contents_total");
    expect([metrics.includes("heron"), (await installation.allLogged()).includes("heron")]).toEqual([false, false]);
  });
});

describe("captured content is read", () => {
  test("only by management keys of the workspace, each time with an entry in the audit log", async () => {
    const { id } = await sendRequest();
    await stored({ id });
    await installation.admin("workspaces", "create", "--name", "other");
    const theirsIn = ["--workspace", "other", "--name", "theirs", "--json"];
    const { stdout } = await installation.admin("keys", "create", "--management", ...theirsIn);
    const { key: theirs } = JSON.parse(stdout) as { readonly key: string };
    expect((await read(`id=${id}`, theirs)).status).toBe(404);
    expect((await read(`id=${id}`, apiKey)).status).toBe(403);
    expect((await read(`id=${id}`, "nobody")).status).toBe(401);
    expect((await read("")).status).toBe(400);
    const { json } = await administer("GET", `/audit?action=calls.content&target=${id}`);
    expect(json.data).toHaveLength(1);
  });

  test("on the command line at another Sluice", async () => {
    const { id } = await sendRequest();
    await stored({ id });
    await eventually(async () => (await administer("GET", `/generation?id=${id}`)).status === 200);
    let out = "";
    const code = await runCli(["calls", "content", id], {
      remote: { url: installation.baseUrl, key: installation.managementKey },
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (out += text) },
    });
    expect([code, out]).toEqual([0, expect.stringContaining(secret)]);
    await expect(installation.admin("calls", "content", id)).rejects.toThrow("set SLUICE_URL");
    await expect(installation.admin("keys", "update", keyHash, "--capture-content")).rejects.toThrow("capture.key");
  });

  test("never after a change or a move to another turn", async () => {
    const [changed, moved] = [await sendRequest(), await sendRequest()];
    await Promise.all([stored(changed), stored(moved)]);
    const otherBit = "set_byte(sealed, 40, get_byte(sealed, 40) # 1)";
    await database.query(`update captured_contents set sealed = ${otherBit} where generation_id = $1`, [changed.id]);
    const refused = { status: 422, json: { error: { message: expect.stringContaining("was changed") } } };
    expect(await read(`id=${changed.id}`)).toMatchObject(refused);
    const copied = "(sealed, salt) = (select sealed, salt from captured_contents where generation_id = $2)";
    await database.query(`update captured_contents set ${copied} where generation_id = $1`, [changed.id, moved.id]);
    expect(await read(`id=${changed.id}`)).toMatchObject(refused);
  });
});

describeWithChromium(`the page of a request ${inChromium}`, () => {
  test("shows the sent body on demand, if it is stored", async () => {
    const browser = await openBrowser();
    const visited = await visit(browser, new URL(installation.baseUrl).origin);
    const { page, complaints } = visited;
    await signInTo(visited, installation.managementKey);
    const open = async ({ id }: Turn) => {
      await eventually(async () => (await administer("GET", `/generation?id=${id}`)).status === 200);
      await page.goto(`/console/requests/${id}`);
      await page.getByRole("heading", { name: "Calls to providers" }).waitFor();
    };
    const show = page.getByRole("button", { name: "Show prompt and answer" });
    await open(await sendRequest({}, { bearer: installation.apiKey }));
    expect(await show.count()).toBe(0);
    const turn = await sendRequest();
    await stored(turn);
    await open(turn);
    expect(await page.getByText(secret).count()).toBe(0);
    await show.click();
    await page.getByText(secret, { exact: true }).first().waitFor();
    const sent = page.locator("details", { hasText: "as sent" }).locator("pre");
    expect(await sent.allTextContents()).toEqual([turn.body, turn.answer]);
    expect([await findBarriers(page), complaints]).toEqual([[], []]);
    await browser.close();
  });
});

describe("captured content is removed", () => {
  test("once it has expired", async () => {
    const { id } = await sendRequest();
    const { expires_at: expiry } = await stored({ id });
    expect(new Date(expiry).getTime()).toBeGreaterThan(Date.now() + 6.9 * 86_400_000);
    await database.query("update captured_contents set expires_at = now() where generation_id = $1", [id]);
    expect((await read(`id=${id}`)).status).toBe(404);
    await eventually(async () => (await rowsOf(id)) === 0);
  });

  test("together with its end user, and with its key", async () => {
    const { id } = await sendRequest({ user: "eve" });
    await stored({ id });
    await installation.admin("end-users", "erase", "eve");
    expect(await rowsOf(id)).toBe(0);
    const { bearer, hash } = await makeKey();
    const turn = await sendRequest({}, { bearer });
    await stored(turn);
    await administer("DELETE", `/keys/${hash}`);
    expect(await rowsOf(turn.id)).toBe(0);
  });
});

describe("the capture key of the configuration file", () => {
  const configure = (text: string) => writeFileSync(join(installation.dataDir, "sluice.yaml"), text);

  test("may be replaced, and content under the earlier key is read while that key is configured", async () => {
    const { id } = await sendRequest();
    await stored({ id });
    configure(capture(`key: "${nextKey}"`));
    await eventually(async () => (await read(`id=${id}`)).status === 422);
    expect((await read(`id=${id}`)).json.error?.message).toContain("capture.previous_keys");
    await stored(await sendRequest());
    configure(capture(`key: "${nextKey}", previous_keys: ["${key}"]`));
    await eventually(async () => (await read(`id=${id}`)).status === 200);
  });

  const onLinux = process.platform === "linux" ? test : test.skip;
  onLinux("is in the environment of admin-svc alone, among those that the supervisor starts", () => {
    const knowing = Object.entries(installation.pids()).filter(([, pid]) => environmentOf(pid).includes(key));
    expect(knowing.map(([name]) => name)).toEqual(["supervisor", "admin-svc"]);
  });

  test("is required by keys with capture", async () => {
    configure(models());
    const optIn = () => administer("POST", "/keys", { name: "captures", capture_content: true });
    await eventually(async () => (await optIn()).status === 400);
    expect((await optIn()).json.error?.message).toMatch(/capture_content: .*capture\.key/);
    expect((await administer("PATCH", `/keys/${keyHash}`, { name: "renamed" })).status).toBe(200);
    expect((await administer("PATCH", `/keys/${keyHash}`, { capture_content: false })).status).toBe(200);
  });
});
