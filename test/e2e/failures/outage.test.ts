import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

/** A process without a heartbeat for this time regards its policy as unconfirmed. */
const silenceMs = 3_500;

describe("an unresponsive admin-svc", () => {
  let installation: Installation;
  let stopped: number;

  beforeAll(async () => {
    installation = await startInstallation({});
    await sendRequest(installation.apiKey);
    stopped = installation.pids()["admin-svc"] ?? Number.NaN;
    process.kill(stopped, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, silenceMs));
  });
  afterAll(async () => {
    process.kill(stopped, "SIGCONT");
    await installation?.stop();
  });

  async function sendRequest(key: string): Promise<{ status: number; headers: Headers; tookMs: number }> {
    const at = performance.now();
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "x" }),
    });
    await response.text();
    return { status: response.status, headers: response.headers, tookMs: performance.now() - at };
  }

  test("delays only the first request of a known key, which keeps working", async () => {
    const answers = [];
    for (let n = 0; n < 10; n++) answers.push(await sendRequest(installation.apiKey));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    // Gateway and inference-svc each wait once, for two seconds, and then know of the outage. A slow machine may delay a few more requests.
    expect(answers.filter(({ tookMs }) => tookMs > 1_500).length).toBeLessThan(5);
  });

  test("gives an unknown key 503 and not 401, because its state is unknown", async () => {
    const { status, headers } = await sendRequest(mintKey(KeyKind.INFERENCE));
    expect([status, headers.get("retry-after"), headers.get("x-should-retry")]).toEqual([503, "1", "true"]);
  });

  test.each<[string, string, string | undefined]>([
    ["PATCH", "/end-users/bob", '{"is_active":true}'],
    ["GET", "/end-users", undefined],
    ["GET", "/key", undefined],
    ["GET", "/keys", undefined],
    ["POST", "/keys", '{"name":"x"}'],
    ["DELETE", `/keys/${"0".repeat(64)}`, undefined],
    ["GET", "/guardrails", undefined],
    ["GET", "/guardrails/assignments/keys", undefined],
  ])("makes administration 500 with a retry hint: %s %s", async (method, path, body) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body }),
    });
    const said = [response.status, response.headers.get("retry-after"), response.headers.get("x-should-retry")];
    expect(said).toEqual([500, "1", "true"]);
    expect(await response.json()).toMatchObject({ error: { code: 500, message: "Internal Server Error" } });
  });

  test("answers unknown keys with 401 again after its return", async () => {
    process.kill(stopped, "SIGCONT");
    await eventually(async () => (await sendRequest(mintKey(KeyKind.INFERENCE))).status === 401);
    expect((await sendRequest(installation.apiKey)).status).toBe(200);
  });
});

describe("an inference process paused during a policy change", () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ inferenceReplicas: 1 });
  });
  afterAll(() => installation?.stop());

  const send = (path: string, key: string, body: object) =>
    fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const sendRequest = () => send("/responses", installation.apiKey, { model: "sluice/echo", input: "a secret" });
  const lastChange = async () =>
    JSON.parse((await installation.admin("audit", "list", "--limit", "1", "--json")).stdout) as unknown;

  test("is named in the audit log, and serves nothing under the old policy after the change was answered", async () => {
    const filters = [{ pattern: "secret", action: "block" }];
    const made = await send("/guardrails", installation.managementKey, { name: "words", content_filters: filters });
    const { data } = (await made.json()) as { data: { id: string } };
    expect((await sendRequest()).status).toBe(200);
    const stopped = installation.pids()["inference-svc"] ?? Number.NaN;
    process.kill(stopped, "SIGSTOP");
    try {
      const assigned = await send(`/guardrails/${data.id}/assignments/keys`, installation.managementKey, {
        key_hashes: [hashKey(installation.apiKey)],
      });
      expect(await assigned.json()).toEqual({ assigned_count: 1 });
      expect(await lastChange()).toMatchObject([
        { action: "policy.late", after: { processes: [expect.stringMatching(/^inference-svc\//)] } },
      ]);
      // The process reads the turn and the policy change when it wakes. In either order, the turn carries the policy generation of its gateway.
      const asked = sendRequest();
      process.kill(stopped, "SIGCONT");
      expect((await asked).status).toBe(403);
    } finally {
      process.kill(stopped, "SIGCONT");
    }
  });
});
