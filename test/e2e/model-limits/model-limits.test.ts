/** Limits of models for keys and workspaces, with running services: every limit, every way to a model, every door, and a change in force at once. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { validateError } from "../../support/answers/published.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Received, type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { callReply, textReply } from "../../support/tool-replies.ts";
import { administer } from "../permissions/keys.ts";
import { type Entry, limitedKey, post, errorIn, respond } from "./limited.ts";

let upstream: Upstream;
let installation: Installation;

const served = chatAnswer({ role: "assistant", content: "fine" });

beforeAll(async () => {
  upstream = await startUpstream([served]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: borealis, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme}, {provider: borealis}]}
  - {id: acme/small, endpoints: [{provider: acme}]}
  - {id: acme/priced, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "0", request: "0.01"}}]}
  - {id: borealis/vast, endpoints: [{provider: borealis}]}
  - {id: acme/vectors, output_modalities: [embeddings], endpoints: [{provider: acme}]}
  - {id: acme/painter, output_modalities: [image], endpoints: [{provider: acme}]}
internal_models: {advisor: {model: acme/small}, image: {model: acme/painter}}
model_aliases:
  - {match: "claude-*", model: acme/large}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const keyWith = async (...entries: Entry[]) => (await limitedKey(installation, entries)).key;

const ask = (key: string, body: object) => respond(installation, key, body);

const statusOf = async (key: string, body: object): Promise<number> => {
  const answer = await ask(key, body);
  await answer.text();
  return answer.status;
};

const user = [{ role: "user", content: "Hi" }];

describe("requests of a key with limits for models", () => {
  test("are 429 above a limit, with its name and headers, and without a call of the provider", async () => {
    const key = await keyWith({ models: ["acme/l*", "acme/s*"], requests_per_minute: 2 });
    expect([await statusOf(key, { model: "acme/large" }), await statusOf(key, { model: "acme/small" })]).toEqual([
      200, 200,
    ]);
    const before = upstream.requests.length;
    const refused = await ask(key, { model: "acme/large", stream: true });
    const wait = Number(refused.headers.get("retry-after-ms"));
    expect([refused.status, wait > 0 && wait <= 30_000]).toEqual([429, true]);
    expect(Object.fromEntries([...refused.headers].filter(([name]) => name.startsWith("x-ratelimit")))).toEqual({
      "x-ratelimit-limit-requests": "2",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": expect.stringMatching(/^(5\d(\.\d+)?s|1m0s)$/),
    });
    const body = await refused.json();
    expect(validateError(429, body as object)).toEqual([]);
    const { error } = body as { error: { message: string; metadata: object } };
    expect(error.message).toBe(
      "Rate limit exceeded: 2 requests a minute of acme/l*, acme/s* (model_limits.0.requests_per_minute of this key)",
    );
    expect(error.metadata).toMatchObject({
      error_type: "rate_limit_exceeded",
      model_limit: {
        owner: "key",
        limit: "model_limits.0.requests_per_minute",
        models: ["acme/l*", "acme/s*"],
        maximum: 2,
      },
    });
    expect(upstream.requests).toHaveLength(before);
    expect(await statusOf(key, { model: "borealis/vast" })).toBe(200);
  });

  test("do not count when refused for themselves, and count once at a failing provider", async () => {
    const key = await keyWith({ models: ["acme/large"], requests_per_minute: 1 });
    expect(await statusOf(key, { model: "acme/large", temperature: 9 })).toBe(400);
    expect((await post(installation, key, "/responses/dry-run", { model: "acme/large", input: "Hi" })).status).toBe(
      200,
    );
    upstream.script([{ status: 500 }, served]);
    try {
      expect(await statusOf(key, { model: "acme/large" })).toBe(200);
    } finally {
      upstream.script([served]);
    }
    expect(await statusOf(key, { model: "acme/large" })).toBe(429);
  });

  test.each<[string, string, object]>([
    ["chat completions", "/chat/completions", { model: "acme/large", messages: user }],
    ["messages", "/messages", { model: "acme/large", messages: user, max_tokens: 9 }],
    ["an alias", "/responses", { model: "claude-whatever", input: "Hi" }],
    ["a variant", "/responses", { model: "acme/large:nitro", input: "Hi" }],
    ["a compaction", "/responses/compact", { model: "acme/large", input: "Hi" }],
    [
      "a router",
      "/responses",
      { model: "service/auto", plugins: [{ id: "auto-router", allowed_models: ["acme/large"] }], input: "Hi" },
    ],
    [
      "the panel of a fusion",
      "/responses",
      {
        model: "service/fusion",
        plugins: [{ id: "fusion", analysis_models: ["acme/large"], model: "acme/large" }],
        input: "Hi",
      },
    ],
    ["embeddings", "/embeddings", { model: "acme/vectors", input: "Hi" }],
  ])("do not bypass a limit by %s", async (_, path, body) => {
    const key = await keyWith({ models: ["acme/large", "acme/vectors"], requests_per_minute: 1 });
    upstream.script(reply);
    try {
      const first = await post(installation, key, path, body);
      expect([first.status, await first.text()]).toEqual([200, expect.anything()]);
      const second = await post(installation, key, path, body);
      expect([second.status, (await errorIn(second)).message]).toEqual([
        429,
        expect.stringContaining("model_limits.0.requests_per_minute of this key"),
      ]);
      const other = await ask(key, { model: "acme/large" });
      expect(other.status).toBe(429);
    } finally {
      upstream.script([served]);
    }
  });

  test("are served by the next of their models when one is at its limit", async () => {
    const key = await keyWith({ models: ["acme/*"], requests_per_minute: 1 });
    const models = ["acme/large", "acme/small", "borealis/vast"];
    const modelOf = async () => ((await (await ask(key, { models })).json()) as { model: string }).model;
    expect([await modelOf(), await modelOf()]).toEqual(["acme/large", "borealis/vast"]);
    const none = await ask(key, { models: models.slice(0, 2) });
    expect([none.status, (await errorIn(none)).metadata]).toMatchObject([429, { model_limit: { maximum: 1 } }]);
  });

  test("of a subagent, an advisor and an image model count at the limits of these models", async () => {
    const key = await keyWith({ models: ["acme/small"], requests_per_minute: 1 });
    const tools = [{ type: "service:subagent", parameters: { model: "acme/small" } }];
    const calling = (name: string, args: object) => [callReply({ name, args }), textReply("inner"), textReply("outer")];
    const prompt = { task_name: "t", task_description: "Look." };
    try {
      upstream.script(calling("service_subagent", prompt));
      expect(await statusOf(key, { model: "borealis/vast", tools })).toBe(200);
      const before = upstream.requests.length;
      upstream.script([callReply({ name: "service_subagent", args: prompt }), textReply("outer")]);
      const second = await (await ask(key, { model: "borealis/vast", tools })).text();
      expect(upstream.requests.slice(before).map(({ json }) => json["model"])).not.toContain("acme/small");
      expect(second).toContain("outer");
      const advised = upstream.requests.length;
      upstream.script([callReply({ name: "service_advisor", args: { prompt: "?" } }), textReply("outer")]);
      await (await ask(key, { model: "borealis/vast", tools: [{ type: "service:advisor" }] })).text();
      expect(upstream.requests.slice(advised).map(({ json }) => json["model"])).not.toContain("acme/small");
    } finally {
      upstream.script([served]);
    }
  });

  test("count the same over gRPC, a WebSocket and HTTP", async () => {
    const key = await keyWith({ models: ["*"], requests_per_minute: 1 });
    const socket = new SocketClient(installation.ports.gateway, { authorization: `Bearer ${key}` });
    await once(socket.socket, "open");
    expect((await socket.ask({ model: "acme/large", input: "Hi" })).at(-1)?.type).toBe("response.completed");
    expect((await socket.ask({ model: "acme/large", input: "Hi" })).at(-1)).toMatchObject({
      type: "error",
      status: 429,
    });
    socket.socket.close();
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    const { fault } = await faultOf(runTurn(client, key, turnRequest("acme/large", "Hi")));
    expect([fault.status, fault.metadata, fault.retryAfterMs > 0]).toMatchObject([
      429,
      { model_limit: { limit: "model_limits.0.requests_per_minute" } },
      true,
    ]);
    client.close();
  });
});

/** Vectors for embeddings, text for everything else. */
const reply = ({ path }: Received) =>
  path.endsWith("/embeddings")
    ? {
        chunks: [
          {
            json: {
              object: "list",
              model: "vectors",
              data: [{ object: "embedding", index: 0, embedding: [0.5] }],
              usage: { prompt_tokens: 1, total_tokens: 1 },
            },
          },
        ],
      }
    : served;

test("tokens of all calls of a turn use up a model's limit, by the minute and by the day", async () => {
  for (const [limit, words] of [
    ["tokens_per_minute", "tokens a minute"],
    ["tokens_per_day", "tokens a day"],
  ] as const) {
    const key = await keyWith({ models: ["acme/*"], [limit]: 20 });
    for (const stream of [false, true]) await statusOf(key, { model: "acme/large", stream });
    const refused = await ask(key, { model: "acme/small" });
    expect([refused.status, refused.headers.get("x-ratelimit-limit-tokens"), await errorIn(refused)]).toMatchObject([
      429,
      "20",
      { message: `Rate limit exceeded: 20 ${words} of acme/* (model_limits.0.${limit} of this key)` },
    ]);
    expect(await statusOf(key, { model: "borealis/vast" })).toBe(200);
  }
});

test("a model's daily limit admits its requests at once, and a refusal names the longest wait of several limits", async () => {
  const key = await keyWith(
    { models: ["acme/*"], requests_per_minute: 2 },
    { models: ["acme/large"], requests_per_day: 2 },
  );
  for (let n = 0; n < 2; n++) expect(await statusOf(key, { model: "acme/large" })).toBe(200);
  const refused = await ask(key, { model: "acme/large" });
  const { message } = await errorIn(refused);
  expect(message).toBe(
    "Rate limit exceeded: 2 requests a day of acme/large (model_limits.1.requests_per_day of this key)",
  );
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(43_000);
});

test("a limit of one concurrent request also holds for the parallel calls of a single turn", async () => {
  let answer: () => void = () => {};
  const after = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const key = await keyWith({ models: ["acme/*"], concurrent_requests: 1 });
  upstream.script([{ chunks: [{ json: JSON.parse(JSON.stringify(served.chunks?.[0]?.json)), after }] }, served]);
  const called = upstream.nextRequest();
  const running = ask(key, { model: "acme/large" });
  await called;
  const refused = await ask(key, { model: "acme/small" });
  expect([refused.status, (await errorIn(refused)).message]).toEqual([
    429,
    "Rate limit exceeded: 1 requests at a time of acme/* (model_limits.0.concurrent_requests of this key)",
  ]);
  answer();
  expect((await running).status).toBe(200);
  const panel = { id: "fusion", analysis_models: ["acme/large", "acme/small"], model: "acme/large" };
  expect(await statusOf(key, { model: "service/fusion", plugins: [panel] })).toBe(200);
});

/** Sends a request, and leaves while the provider works on it. */
async function leaveEarly(key: string): Promise<void> {
  upstream.script([{ hang: true }, served]);
  const called = upstream.nextRequest();
  const abort = new AbortController();
  const leaving = fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "Hello ".repeat(100) }),
    signal: abort.signal,
  }).catch(() => {});
  await called;
  const closed = upstream.nextClose();
  abort.abort();
  await Promise.all([leaving, closed]);
}

test("a client that leaves frees its concurrent request under a model's limit", async () => {
  const key = await keyWith({ models: ["acme/*"], concurrent_requests: 1 });
  await leaveEarly(key);
  await eventually(async () => (await statusOf(key, { model: "acme/large" })) === 200);
});

test("a client that leaves pays for its tokens under a model's limit", async () => {
  const key = await keyWith({ models: ["acme/*"], tokens_per_day: 1 });
  await leaveEarly(key);
  const refused = await ask(key, { model: "acme/large" });
  expect((await errorIn(refused)).message).toContain("model_limits.0.tokens_per_day");
});

test("requests of a key with a spent budget do not count in the model limits of its workspace", async () => {
  const workspace = (entries: readonly Entry[] | null) =>
    administer(installation, "PATCH", `/workspaces/${defaultWorkspaceId}`, { model_limits: entries });
  const [poor, rich] = await Promise.all([{ limit: 0 }, {}].map((settings) => limitedKey(installation, [], settings)));
  await workspace([{ models: ["acme/priced"], requests_per_day: 1 }]);
  try {
    const status = (key = "") => statusOf(key, { model: "acme/priced" });
    expect([await status(poor?.key), await status(poor?.key), await status(rich?.key)]).toEqual([402, 402, 200]);
    expect(await status(rich?.key)).toBe(429);
  } finally {
    await workspace(null);
  }
});

test("the keys of a workspace share its model limits, and changes are in force on the next request", async () => {
  const workspace = (entries: readonly Entry[] | null) =>
    administer(installation, "PATCH", `/workspaces/${defaultWorkspaceId}`, { model_limits: entries });
  const [first, second] = await Promise.all([1, 2].map(() => limitedKey(installation, [])));
  const status = (key = "") => statusOf(key, { model: "acme/large" });
  await workspace([{ models: ["acme/large"], requests_per_day: 2 }]);
  try {
    expect([await status(first?.key), await status(second?.key)]).toEqual([200, 200]);
    const refused = await ask(first?.key ?? "", { model: "acme/large" });
    expect((await errorIn(refused)).message).toContain("(model_limits.0.requests_per_day of this workspace)");
    await workspace([{ models: ["acme/large"], requests_per_day: 4 }]);
    expect([await status(first?.key), await status(first?.key), await status(second?.key)]).toEqual([200, 200, 429]);
  } finally {
    await workspace(null);
  }
  expect(await status(second?.key)).toBe(200);
  await administer(installation, "PATCH", `/keys/${second?.hash}`, {
    model_limits: [{ models: ["acme/large"], requests_per_minute: 1 }],
  });
  expect([await status(second?.key), await status(second?.key), await status(first?.key)]).toEqual([200, 429, 200]);
});

describe("settings of model limits", () => {
  test.each<[string, unknown, string]>([
    ["no models", [{ requests_per_minute: 1 }], "model_limits.0.models"],
    ["no limit", [{ models: ["*"] }], "model_limits.0"],
    ["an unknown limit", [{ models: ["*"], requests_per_hour: 1 }], "model_limits.0.requests_per_hour"],
    ["a limit of 0", [{ models: ["*"], tokens_per_day: 0 }], "model_limits.0.tokens_per_day"],
    [
      "the same models twice",
      [
        { models: ["a", "b"], requests_per_day: 1 },
        { models: ["b", "a"], tokens_per_day: 1 },
      ],
      "model_limits.1.models",
    ],
    [
      "too many entries",
      Array.from({ length: 21 }, (_, n) => ({ models: [`${n}`], requests_per_day: 1 })),
      "model_limits",
    ],
  ])("with %s are refused by the name of the field", async (_, entries, path) => {
    const answer = await fetch(`${installation.baseUrl}/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "wrong", model_limits: entries }),
    });
    expect([answer.status, (await errorIn(answer)).metadata?.["param"]]).toEqual([400, path]);
  });

  test("are returned as they were given, over HTTP and on the command line", async () => {
    const entries = [{ models: ["acme/*"], requests_per_minute: 3, tokens_per_day: 10_000_000_000 }];
    const { hash } = await limitedKey(installation, entries);
    const read = async () =>
      (
        (await (
          await fetch(`${installation.baseUrl}/keys/${hash}`, {
            headers: { authorization: `Bearer ${installation.managementKey}` },
          })
        ).json()) as { data: { model_limits: unknown } }
      ).data.model_limits;
    expect(await read()).toEqual(entries);
    const others = [{ models: ["borealis/*"], concurrent_requests: 2 }];
    const { stdout } = await installation.admin("keys", "update", hash, "--model-limits", JSON.stringify(others));
    expect(stdout).toContain("policy generation");
    expect(await read()).toEqual(others);
    await installation.admin("keys", "update", hash, "--no-model-limits");
    expect(await read()).toBeNull();
  });

  test("of a workspace are made and changed on the command line, and those of a key go to its successor", async () => {
    const entries = [{ models: ["acme/*"], tokens_per_minute: 5 }];
    const json = JSON.stringify(entries);
    const create = ["workspaces", "create", "--name", "narrow", "--model-limits", json, "--json"];
    const { stdout: made } = await installation.admin(...create);
    const { id, model_limits: stored } = JSON.parse(made) as { readonly id: string; readonly model_limits: unknown };
    expect(stored).toEqual(entries);
    const { stdout } = await installation.admin("workspaces", "update", id, "--no-model-limits", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ model_limits: null });
    const { hash } = await limitedKey(installation, entries);
    const rotated = (await administer(installation, "POST", `/keys/${hash}/rotate`, {})) as { readonly data: object };
    expect(rotated.data).toMatchObject({ model_limits: entries });
  });
});
