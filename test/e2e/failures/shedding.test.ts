/** An overloaded installation: new turns are refused at once, and everything else goes on. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { validateError } from "../../support/answers/published.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { samplesOf } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";

/** More turns than may wait for an inference process that begins none of them. */
const waiting = 100;

describe("a frozen inference process", () => {
  let installation: Installation;
  let stopped: number;
  let accepted: Promise<Response[]>;

  beforeAll(async () => {
    installation = await startInstallation({
      inferenceReplicas: 1,
      config: `
providers: [{id: built-in, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: built-in}]}]
limits: {streams_per_key: 1000}
`,
    });
    expect((await sendRequest()).status).toBe(200);
    stopped = installation.pids()["inference-svc"] ?? Number.NaN;
    process.kill(stopped, "SIGSTOP");
    accepted = Promise.all(Array.from({ length: waiting }, () => sendRequest()));
    // The first turn that is refused; earlier turns are queued.
    await eventually(async () => {
      const leaving = new AbortController();
      setTimeout(() => leaving.abort(), 1_000);
      return sendRequest("Hi", leaving.signal).then(
        ({ status }) => status === 503,
        () => false,
      );
    });
  });
  afterAll(async () => {
    process.kill(stopped, "SIGCONT");
    await installation?.stop();
  });

  const sendRequest = (input = "Hi", signal: AbortSignal | null = null) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input }),
      signal,
    });

  /** Metrics of the gateway: inference-svc has none of shedding. */
  const metrics = async () => (await fetch(`http://127.0.0.1:${installation.ports.gateway_health}/metrics`)).text();

  test.each([
    ["a short one", "Hi"],
    ["one that is longer than what is read over", "x".repeat(200_000)],
  ])("makes the gateway refuse %s, with a retry hint", async (_, input) => {
    const response = await sendRequest(input);
    const hint = Number(response.headers.get("retry-after"));
    expect([response.status, hint >= 1, hint <= 5, response.headers.get("x-should-retry")]).toEqual([
      503,
      true,
      true,
      "true",
    ]);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(validateError(503, await response.json())).toEqual([]);
  });

  test("gives several requests on a kept connection the contract's error each, before they are read", async () => {
    const agent = new Agent({ keepAlive: true });
    const noted = async () => samplesOf(await metrics()).filter(({ name }) => name === "sluice_http_requests_total");
    const before = await noted();
    const sockets = new Set<Socket>();
    for (let count = 0; count < 4; count++) {
      const asking = request(`${installation.baseUrl}/responses`, { agent, method: "POST" }).end(
        '{"model":"sluice/echo"}',
      );
      asking.on("socket", (socket) => sockets.add(socket));
      const [answer] = (await once(asking, "response")) as [IncomingMessage];
      expect([answer.statusCode, validateError(503, await json(answer))]).toEqual([503, []]);
    }
    agent.destroy();
    expect([sockets.size, await noted()]).toEqual([1, before]);
  });

  test("leaves probes and administration working", async () => {
    const { origin } = new URL(installation.baseUrl);
    expect((await fetch(`${origin}/livez`)).status).toBe(200);
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    const changed = await fetch(`${installation.baseUrl}/end-users/nobody`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: '{"is_active":true}',
    });
    expect(changed.status).toBe(404);
  });

  test("has its refusals counted, and logged once", async () => {
    expect(Number(/^sluice_shed_total\{.*\} (\d+)$/m.exec(await metrics())?.[1])).toBeGreaterThanOrEqual(7);
    await installation.logged("gateway", "overloaded: new turns may be refused");
  });

  test("serves accepted and new turns when it continues", async () => {
    process.kill(stopped, "SIGCONT");
    expect((await accepted).map(({ status }) => status)).toEqual(Array.from({ length: waiting }, () => 200));
    await eventually(async () => (await sendRequest()).status === 200);
  });
});
