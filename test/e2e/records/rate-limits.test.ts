/** Rate limits of a key, with running services: 429 at n + 1, the remainder on every answer, the same for gRPC, and for two installations sharing a Redis. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { DatabaseLink } from "../../support/database-link.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { validateError } from "../../support/answers/published.ts";
import { describeWithRedis, redisUrl } from "../../support/redis.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";

const config = `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
`;

async function newKey(installation: Installation, settings: object): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "limited", ...settings }),
  });
  return ((await answer.json()) as { key: string }).key;
}

const sendRequest = (installation: Installation, key: string, body: object = {}, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "Hi", ...body }),
  });

const limitHeaders = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("x-ratelimit-"));

async function figure({ ports }: Installation, name: string, port = ports.gateway_health): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

describe("a key with rate limits", () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ config });
  });
  afterAll(() => installation?.stop());

  test("gets its remainder with every answer, and is 429 above its limit", async () => {
    const key = await newKey(installation, { requests_per_minute: 4, tokens_per_minute: 100_000 });
    const answers = [
      await sendRequest(installation, key),
      await sendRequest(installation, key, { stream: true }),
      await sendRequest(installation, key, { temperature: 9 }),
      await sendRequest(installation, key, {}, "/responses/dry-run"),
      await sendRequest(installation, key),
      await sendRequest(installation, key, { stream: true }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 400, 200, 429, 429]);
    const left = answers.map(({ headers }) => headers.get("x-ratelimit-remaining-requests"));
    expect(left).toEqual(["3", "2", "1", "0", "0", "0"]);
    for (const answer of answers) {
      expect(limitHeaders(answer)).toHaveLength(6);
      expect(answer.headers.get("x-ratelimit-limit-requests")).toBe("4");
    }
    const refused = answers[4] as Response;
    const ms = Number(refused.headers.get("retry-after-ms"));
    expect([ms > 0, ms <= 15_000, refused.headers.get("retry-after")]).toEqual([
      true,
      true,
      String(Math.ceil(ms / 1_000)),
    ]);
    expect(refused.headers.get("x-should-retry")).toBe("true");
    const body = (await refused.json()) as { error: { message: string } };
    expect(validateError(429, body)).toEqual([]);
    expect(body.error.message).toBe("Rate limit exceeded: 4 requests a minute");
  });

  test("uses up its tokens, whether it streams or not", async () => {
    for (const stream of [false, true]) {
      const key = await newKey(installation, { tokens_per_minute: 3 });
      const first = await sendRequest(installation, key, { stream });
      await first.text();
      expect([first.status, first.headers.get("x-ratelimit-remaining-tokens")]).toEqual([200, "3"]);
      const second = await sendRequest(installation, key, { stream });
      expect([second.status, second.headers.get("x-ratelimit-remaining-tokens")]).toEqual([429, "0"]);
      expect(((await second.json()) as { error: { message: string } }).error.message).toContain("3 tokens a minute");
    }
  });

  test.each(["/models", "/models/count", "/models/sluice/echo", "/models/sluice/echo/endpoints", "/providers", "/key"])(
    "has GET %s counted as a request",
    async (path) => {
      const key = await newKey(installation, { requests_per_minute: 2 });
      const read = () => fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
      const answers = [await read(), await read(), await read(), await sendRequest(installation, key)];
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 429, 429]);
      const left = answers.map(({ headers }) => headers.get("x-ratelimit-remaining-requests"));
      expect(left).toEqual(["1", "0", "0", "0"]);
    },
  );

  test("may read when its tokens are used up, and a management key has no limit", async () => {
    const key = await newKey(installation, { requests_per_minute: 100, tokens_per_minute: 1 });
    await (await sendRequest(installation, key)).text();
    const list = (as: string) =>
      fetch(`${installation.baseUrl}/models`, { headers: { authorization: `Bearer ${as}` } });
    expect([(await sendRequest(installation, key)).status, (await list(key)).status]).toEqual([429, 200]);
    const answer = await list(installation.managementKey);
    expect([answer.status, limitHeaders(answer)]).toEqual([200, []]);
  });

  test("has its requests for the list of models over gRPC counted, too", async () => {
    const key = await newKey(installation, { requests_per_minute: 2 });
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${key}`);
    const { listModels } = InferenceService.method;
    const list = () => call(client, listModels, create(listModels.input), metadata, 10_000);
    try {
      for (let count = 0; count < 2; count++) expect((await list()).models).toHaveLength(1);
      await expect(list()).rejects.toMatchObject({ status: 429, message: "Rate limit exceeded: 2 requests a minute" });
    } finally {
      client.close();
    }
  });

  test("has changed limits from the very next request on", async () => {
    const key = await newKey(installation, { requests_per_minute: 1 });
    const current = await fetch(`${installation.baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } });
    expect((await current.json()) as object).toMatchObject({
      data: { requests_per_minute: 1, tokens_per_minute: null },
    });
    expect((await sendRequest(installation, key)).status).toBe(429);
    const listed = await fetch(`${installation.baseUrl}/keys?limit=100`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    const { data } = (await listed.json()) as { data: { hash: string; requests_per_minute: number | null }[] };
    const hash = data.find(({ requests_per_minute: limit }) => limit === 1)?.hash;
    await fetch(`${installation.baseUrl}/keys/${hash}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ requests_per_minute: null }),
    });
    const free = await sendRequest(installation, key);
    expect([free.status, limitHeaders(free)]).toEqual([200, []]);
  });

  test("is limited over gRPC, too, with the same message", async () => {
    const key = await newKey(installation, { requests_per_minute: 2 });
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    try {
      for (let n = 0; n < 2; n++) await runTurn(client, key, turnRequest("sluice/echo", "Hi")).over;
      const { code, fault } = await faultOf(runTurn(client, key, turnRequest("sluice/echo", "Hi")));
      expect(code).toBe(status.RESOURCE_EXHAUSTED);
      expect([fault.status, fault.message]).toEqual([429, "Rate limit exceeded: 2 requests a minute"]);
      expect(fault.retryAfterMs).toBeGreaterThan(0);
      // Gateway and inference-svc count separately if there is no Redis.
      expect((await sendRequest(installation, key)).headers.get("x-ratelimit-remaining-requests")).toBe("1");
    } finally {
      client.close();
    }
  });
});

describe("an installation with default limits", () => {
  test("limits keys without individual limits, and follows changes of its configuration file", async () => {
    const installation = await startInstallation({ config: `${config}limits: {requests_per_minute: 2}\n` });
    try {
      const statuses = [];
      for (let n = 0; n < 3; n++) statuses.push((await sendRequest(installation, installation.apiKey)).status);
      expect(statuses).toEqual([200, 200, 429]);
      const own = await newKey(installation, { requests_per_minute: 5 });
      expect((await sendRequest(installation, own)).headers.get("x-ratelimit-limit-requests")).toBe("5");
      expect(await figure(installation, "sluice_limits_shared")).toBeNaN();
    } finally {
      await installation.stop();
    }
  });
});

describeWithRedis("two gateways with one Redis", () => {
  const apiKey = mintKey(KeyKind.INFERENCE);
  let link: DatabaseLink;
  let installations: Installation[];

  beforeAll(async () => {
    link = new DatabaseLink(redisUrl);
    const environment = { REDIS_URL: await link.open(redisUrl), SLUICE_BOOTSTRAP_API_KEY: apiKey };
    const limits = `${config}limits: {requests_per_minute: 60, streams_per_key: 100}\n`;
    installations = await Promise.all([1, 2].map(() => startInstallation({ config: limits, environment })));
    // A gateway not yet aware of the other would grant the whole limit if Redis were slow.
    for (const installation of installations) {
      for (const port of [installation.ports.gateway_health, installation.ports.inference_health]) {
        await eventually(async () => (await figure(installation, "sluice_limits_shared", port)) === 1);
        await eventually(async () => (await figure(installation, "sluice_limits_processes", port)) >= 2);
      }
    }
  });
  afterAll(async () => {
    for (const installation of installations ?? []) await installation.stop();
    await link?.cut();
  });

  /** Statuses of this number of requests, ten at a time, half of them at each gateway. */
  async function storm(count: number): Promise<number[]> {
    const statuses: number[] = [];
    let asked = 0;
    const one = async () => {
      while (asked < count) {
        const answer = await sendRequest(installations[asked++ % 2] as Installation, apiKey);
        statuses.push(answer.status);
        await answer.text();
      }
    };
    await Promise.all(Array.from({ length: 10 }, one));
    return statuses;
  }

  test("grant one limit together; without Redis they refuse no request, until it is back", async () => {
    const startedAt = performance.now();
    const statuses = await storm(150);
    const given = statuses.filter((code) => code === 200).length;
    const refilled = Math.ceil((performance.now() - startedAt) / 1_000);
    expect(given).toBeGreaterThanOrEqual(60);
    // On a busy machine Redis may answer too late. A gateway then counts by itself, and admits up to three fifths of the limit in addition.
    const losses = await Promise.all(
      installations.map((installation) => figure(installation, "sluice_limits_redis_losses_total")),
    );
    const lost = losses.filter((count) => count > 0).length;
    expect(given).toBeLessThanOrEqual((60 + refilled) * (1 + 0.6 * lost));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const client = dial(`127.0.0.1:${installations[0]?.ports.inference}`);
    // The limit permits one more request each second.
    const turns = Array.from({ length: 60 }, () => runTurn(client, apiKey, turnRequest("sluice/echo", "Hi")).over);
    const refused = (await Promise.allSettled(turns)).filter((turn) => turn.status === "rejected");
    client.close();
    expect(refused.length).toBeGreaterThan(0);
    await link.cut();
    for (const installation of installations)
      await eventually(async () => (await figure(installation, "sluice_limits_shared")) === 0);
    const alone = await storm(40);
    expect(new Set([...alone, 200, 429])).toEqual(new Set([200, 429]));
    await installations[0]?.logged("gateway", "Redis does not answer: this process counts limits alone");
    await link.restore();
    for (const installation of installations)
      await eventually(async () => (await figure(installation, "sluice_limits_shared")) === 1);
    expect(new Set([...(await storm(40)), 200, 429])).toEqual(new Set([200, 429]));
  });
});
