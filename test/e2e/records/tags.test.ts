/** Tags of requests and keys: recorded at every door, listed, summed, and required by workspaces. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { runCli } from "@sluice/admin-svc/cli.js";
import { type Client, Metadata } from "@grpc/grpc-js";
import { EmbedRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { validate } from "../../support/answers/published.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;
let inference: Client;
beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: paid, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: acme/large, endpoints: [{provider: paid, pricing: {prompt: "1.00", completion: "2.00"}}]}
  - {id: acme/embed, context_length: 8192, output_modalities: [embeddings], endpoints: [{provider: paid, pricing: {prompt: "1", completion: "0"}}]}
`,
  });
  inference = dial(`127.0.0.1:${installation.ports.inference}`);
});
afterAll(async () => {
  inference?.close();
  await installation?.stop();
  await upstream?.stop();
});

type Json = Readonly<Record<string, unknown>>;

async function administer(method: string, path: string, body?: object, key = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Json };
}

async function newKey(settings: object = {}): Promise<string> {
  const { json } = await administer("POST", "/keys", { name: "tagged", ...settings });
  return json["key"] as string;
}

interface Asked {
  readonly status: number;
  /** Message of the error; empty when the request succeeded. */
  readonly message: string;
}

interface Given {
  readonly header?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

type Ask = (key: string, given: Given) => Promise<Asked>;

const post =
  (path: string, body: object): Ask =>
  async (key, { header, metadata }) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(header !== undefined && { "x-sluice-tags": header }),
      },
      body: JSON.stringify({ ...body, ...(metadata && { metadata }) }),
    });
    const { error } = (await response.json()) as { error?: { message: string } | null };
    return { status: response.status, message: error?.message ?? "" };
  };

const messages = [{ role: "user", content: "Hi" }];
const vectors = { chunks: [{ json: { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } } }] };

const webSocket: Ask = async (key, { header, metadata }) => {
  const client = new SocketClient(installation.ports.gateway, {
    authorization: `Bearer ${key}`,
    ...(header !== undefined && { "x-sluice-tags": header }),
  });
  await new Promise((resolve) => client.socket.once("open", resolve));
  const end = (await client.ask({ model: "sluice/echo", input: "Hi", ...(metadata && { metadata }) })).at(-1);
  client.socket.close();
  return end?.type === "response.completed"
    ? { status: 200, message: "" }
    : { status: end?.status ?? 0, message: end?.error?.message ?? "" };
};

const runTurnCall: Ask = async (key, { header = "", metadata = {} }) => {
  const turn = runTurn(inference, key, turnRequest("sluice/echo", "Hi", { tags: header, metadata }));
  const failed = await turn.over.then(
    () => false,
    () => true,
  );
  if (!failed) return { status: 200, message: "" };
  const { fault } = await faultOf(turn);
  return { status: fault.status, message: fault.message };
};

const embedCall: Ask = async (key, { header = "" }) => {
  upstream.script([vectors]);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${key}`);
  const request = create(EmbedRequestSchema, { model: "acme/embed", inputJson: Buffer.from('"Hi"'), tags: header });
  return await call(inference, InferenceService.method.embed, request, metadata, 10_000).then(
    () => ({ status: 200, message: "" }),
    (error: { status: number; message: string }) => ({ status: error.status, message: error.message }),
  );
};

/** Doors, and whether their requests have metadata for tags. */
const doors: readonly (readonly [name: string, ask: Ask, hasMetadata: boolean])[] = [
  ["responses", post("/responses", { model: "sluice/echo", input: "Hi" }), true],
  ["chat", post("/chat/completions", { model: "sluice/echo", messages }), true],
  ["messages", post("/messages", { model: "sluice/echo", messages, max_tokens: 100 }), false],
  [
    "embeddings",
    (key, given) => {
      upstream.script([vectors]);
      return post("/embeddings", { model: "acme/embed", input: "Hi" })(key, given);
    },
    false,
  ],
  ["WebSocket", webSocket, true],
  ["RunTurn", runTurnCall, true],
  ["Embed", embedCall, false],
];

/** The turns of a key, oldest first, once there are so many. */
async function turnsOf(key: string, count: number): Promise<readonly Json[]> {
  let turns: readonly Json[] = [];
  await eventually(async () => {
    const { json } = await administer("GET", `/generations?key=${hashKey(key)}`);
    expect(validate("GenerationList", json)).toEqual([]);
    turns = (json["data"] as readonly Json[]).toReversed();
    return turns.length >= count;
  });
  return turns;
}

describe.each(doors)("a request at %s", (_, ask, hasMetadata) => {
  test("is recorded with tags of the header, of metadata and of the key, which wins", async () => {
    const key = await newKey({ tags: { team: "search", cost_center: "4711" } });
    const metadata = { run: "7", env: "ignored" };
    const given = { header: "team=spoofed, env=prod%2Ceu", ...(hasMetadata && { metadata }) };
    expect(await ask(key, given)).toEqual({ status: 200, message: "" });
    const [turn] = await turnsOf(key, 1);
    expect(turn?.["tags"]).toEqual({
      team: "search",
      cost_center: "4711",
      env: "prod,eu",
      ...(hasMetadata && { run: "7" }),
    });
  });

  test("without tags is recorded without any", async () => {
    const key = await newKey();
    expect((await ask(key, {})).status).toBe(200);
    const [turn] = await turnsOf(key, 1);
    expect(turn?.["tags"]).toEqual({});
  });

  test.each([
    ["too many", Array.from({ length: 17 }, (_each, n) => `t${n}=v`).join(",")],
    ["too many with those of the key", Array.from({ length: 16 }, (_each, n) => `t${n}=v`).join(",")],
    ["a pair without a value", "env"],
    ["a repeated name", "env=a,env=b"],
    ["an encoded line break", "env=a%0d%0ainjected"],
    ["an encoded NUL", "env=a%00"],
    ["a name for prototypes", "__proto__=a"],
    ["a long value", `env=${"v".repeat(257)}`],
  ])("with %s is a 400 that names the header", async (_name, header) => {
    const key = await newKey({ tags: { team: "search" } });
    const { status, message } = await ask(key, { header });
    expect([status, message]).toEqual([400, expect.stringContaining("x-sluice-tags")]);
    // The refusal is recorded with the tags of the key, the only ones that are certain.
    const [turn] = await turnsOf(key, 1);
    expect(turn).toMatchObject({ outcome: "refused", tags: { team: "search" } });
  });
});

test("more than sixteen tags of metadata and the key together are a 400 that names metadata", async () => {
  const key = await newKey({ tags: { team: "search" } });
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`t${n}`, "v"]));
  for (const [, ask, hasMetadata] of doors) {
    if (!hasMetadata) continue;
    const { status, message } = await ask(key, { metadata });
    expect([status, message]).toEqual([400, expect.stringMatching(/^metadata: at most 16 tags/)]);
  }
});

test("tags are not sent to providers", async () => {
  const key = await newKey({ tags: { team: "secret-of-key" } });
  const from = upstream.requests.length;
  for (const [path, body] of [
    ["/responses", { model: "acme/large", input: "Hi" }],
    ["/chat/completions", { model: "acme/large", messages }],
    ["/messages", { model: "acme/large", messages, max_tokens: 100 }],
  ] as const) {
    upstream.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", {})]);
    expect((await post(path, body)(key, { header: "env=secret-of-header" })).status).toBe(200);
  }
  const sent = upstream.requests.slice(from);
  expect(sent).toHaveLength(3);
  expect(JSON.stringify(sent)).not.toMatch(/secret-of|x-sluice-tags/);
});

describe("a workspace with required tags", () => {
  let team: string;
  let id: string;
  beforeAll(async () => {
    const made = await administer("POST", "/workspaces", {
      name: "chargeback",
      required_tags: ["team", "cost,center"],
    });
    expect(made.status).toBe(201);
    const data = made.json["data"] as { id: string; required_tags: string[] };
    expect(data.required_tags).toEqual(["team", "cost,center"]);
    ({ id } = data);
    const first = ["keys", "create", "--workspace", id, "--management", "--name", "m", "--json"];
    const { stdout } = await installation.admin(...first);
    const { key: manager } = JSON.parse(stdout) as { key: string };
    const { json } = await administer("POST", "/keys", { name: "app", tags: { team: "search" } }, manager);
    team = json["key"] as string;
  });

  test.each(doors)("refuses requests without one of the tags, at %s", async (_, ask, hasMetadata) => {
    const { status, message } = await ask(team, { header: "env=prod" });
    expect([status, message]).toEqual([400, expect.stringContaining("requires the tag cost%2Ccenter")]);
    expect((await ask(team, { header: "cost%2Ccenter=1" })).status).toBe(200);
    if (hasMetadata) expect((await ask(team, { metadata: { "cost,center": "1" } })).status).toBe(200);
  });

  test("counts tokens of requests without the tags, and plans dry runs only with them", async () => {
    const count = post("/messages/count_tokens", { model: "sluice/echo", messages });
    expect((await count(team, {})).status).toBe(200);
    const dryRun = post("/responses/dry-run", { model: "sluice/echo", input: "Hi" });
    expect((await dryRun(team, {})).status).toBe(400);
    expect((await dryRun(team, { header: "cost%2Ccenter=1" })).status).toBe(200);
  });

  test("accepts requests without tags, from the next request on, once none is required", async () => {
    const changed = await administer("PATCH", `/workspaces/${id}`, { required_tags: null });
    expect(changed.json).toMatchObject({ data: { required_tags: [] } });
    expect((await doors[0]?.[1](team, {}))?.status).toBe(200);
  });
});

describe("reports by tag", () => {
  let key: string;
  beforeAll(async () => {
    key = await newKey({ tags: { app: "reports" } });
    for (const [team, tokens] of [
      ["search", 1_000],
      ["ads", 2_000],
      ["ads", 3_000],
    ] as const) {
      const usage = { prompt_tokens: tokens, completion_tokens: 1 };
      upstream.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage })]);
      const body = { model: "acme/large", input: "Hi", session_id: `run-${team}` };
      const asked = post("/responses", body)(key, { header: `team=${team}` });
      expect((await asked).status).toBe(200);
    }
    await turnsOf(key, 3);
  });

  test("sum usage by the values of a tag, and filter by tags", async () => {
    const of = async (query: string) => {
      const { status, json } = await administer("GET", `/usage/series?${query}`);
      expect([status, validate("UsageSeries", json)]).toEqual([200, []]);
      return (json["totals"] as readonly Json[]).map((total) => [
        total["value"],
        total["second"],
        total["requests"],
        Number(total["cost_usd"]),
      ]);
    };
    const app = "tags=app%3Dreports";
    expect(await of(`by=tag:team&${app}`)).toEqual([
      ["ads", undefined, 2, 0.005004],
      ["search", undefined, 1, 0.001002],
    ]);
    expect(await of(`by=model,tag:team&${app},team=search`)).toEqual([["acme/large", "search", 1, 0.001002]]);
    expect(await of("tags=team%3Dnobody")).toEqual([]);
    expect((await of(`by=tag:nobody&${app}`))[0]?.slice(0, 3)).toEqual([null, undefined, 3]);
    const change = await administer("GET", `/usage/change?${app}`);
    expect(change.json).toMatchObject({ after: { requests: 3 } });
  });

  test("sum activity and list sessions by tags", async () => {
    const activity = await administer("GET", "/activity?tags=app%3Dreports,team%3Dads");
    expect(validate("ActivityAnswer", activity.json)).toEqual([]);
    expect(activity.json["data"]).toMatchObject([{ model: "acme/large", requests: 2, usage: 0.005004 }]);
    expect((await administer("GET", "/activity?tags=team%3Dnobody")).json).toEqual({ data: [] });
    const sessions = await administer("GET", "/sessions?tags=app%3Dreports,team%3Dsearch");
    expect(validate("SessionList", sessions.json)).toEqual([]);
    expect(sessions.json["data"]).toMatchObject([{ id: "run-search", requests: 1, cost_usd: "0.001002000000" }]);
  });

  test("list requests by tags, and show them on the request", async () => {
    const { json } = await administer("GET", "/generations?tags=app=reports,team=search");
    const [turn, ...others] = json["data"] as readonly Json[];
    expect(others).toEqual([]);
    const shown = await administer("GET", `/generation?id=${String(turn?.["id"])}`);
    expect(validate("GenerationAnswer", shown.json)).toEqual([]);
    expect(shown.json).toMatchObject({ data: { tags: { app: "reports", team: "search" } } });
  });

  test("are read on the command line, in the database and over HTTP", async () => {
    const run = async (place: object, args: string[]): Promise<Json> => {
      let stdout = "";
      const out = { write: (text: string) => (stdout += text) };
      expect(await runCli([...args, "--json"], { ...place, stdout: out, stderr: out })).toBe(0);
      return JSON.parse(stdout) as Json;
    };
    const remote = { url: installation.baseUrl, key: installation.managementKey };
    for (const place of [{ databaseUrl: installation.databaseUrl }, { remote }]) {
      const listed = await run(place, ["calls", "list", "--tags", "app=reports,team=ads"]);
      expect(listed["data"]).toHaveLength(2);
      const sessions = await run(place, ["sessions", "list", "--tags", "app=reports,team=ads"]);
      expect(sessions["data"]).toMatchObject([{ id: "run-ads", requests: 2 }]);
      const series = await run(place, ["usage", "series", "--by", "tag:team", "--tags", "app=reports"]);
      expect(series["totals"]).toMatchObject([{ value: "ads" }, { value: "search" }]);
    }
  });

  test.each([
    ["/usage/series?by=tag:", "by"],
    ["/usage/series?by=tag:a%255B", "by"],
    ["/usage/series?tags=team", "tags"],
    ["/generations?tags=team%3D", "tags"],
    ["/sessions?tags=team", "tags"],
    ["/activity?tags=team", "tags"],
    ["/usage/series?by=tag:team,tag:team", "by"],
  ])("refuse %s with a 400 that names the parameter", async (path, name) => {
    const { status, json } = await administer("GET", path);
    expect([status, (json["error"] as { message: string }).message]).toEqual([400, expect.stringMatching(`^${name}`)]);
  });
});

test("tags of a key are set and removed over HTTP and on the command line", async () => {
  const key = await newKey({ tags: { team: "search" } });
  const path = `/keys/${hashKey(key)}`;
  expect((await administer("GET", path)).json).toMatchObject({ data: { tags: { team: "search" } } });
  await installation.admin("keys", "update", hashKey(key), "--tags", "team=ads,city=Z%C3%BCrich");
  expect((await administer("GET", path)).json).toMatchObject({ data: { tags: { team: "ads", city: "Zürich" } } });
  const refused = await administer("PATCH", path, { tags: { "a[b": "c" } });
  expect([refused.status, (refused.json["error"] as { message: string }).message]).toEqual([
    400,
    expect.stringMatching(/^tags/),
  ]);
  expect((await administer("PATCH", path, { tags: null })).json).toMatchObject({ data: { tags: null } });
  expect((await post("/responses", { model: "sluice/echo", input: "Hi" })(key, {})).status).toBe(200);
  expect((await turnsOf(key, 1))[0]?.["tags"]).toEqual({});
});
