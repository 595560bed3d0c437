/** Limits of models that several gateways and inference processes count together, in parallel over HTTP and gRPC: exactly, with one Redis. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ServiceError } from "@grpc/grpc-js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { fromServiceError } from "@sluice/proto/lib/rpc/status.js";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { describeWithRedis, redisUrl } from "../../support/redis.ts";
import { administer } from "../permissions/keys.ts";
import { type Entry, respond } from "./limited.ts";

const config = `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: sluice/other, endpoints: [{provider: sluice}]}
limits: {streams_per_key: 1000}
`;

async function untilShared(port: number, processes: number): Promise<void> {
  await eventually(async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const figure = (name: string) => Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m").exec(text)?.[1]);
    return figure("sluice_limits_shared") === 1 && figure("sluice_limits_processes") >= processes;
  });
}

describeWithRedis("two installations with one Redis", () => {
  const apiKey = mintKey(KeyKind.INFERENCE);
  let installations: Installation[];

  beforeAll(async () => {
    const environment = { REDIS_URL: redisUrl, SLUICE_BOOTSTRAP_API_KEY: apiKey };
    installations = await Promise.all([1, 2].map(() => startInstallation({ config, environment })));
    for (const { ports } of installations) {
      await untilShared(ports.gateway_health, 2);
      await untilShared(ports.inference_health, 2);
    }
  });
  afterAll(async () => {
    for (const installation of installations ?? []) await installation.stop();
  });

  const limitWorkspaces = async (entries: readonly Entry[] | null) => {
    for (const installation of installations)
      await administer(installation, "PATCH", `/workspaces/${defaultWorkspaceId}`, { model_limits: entries });
  };

  /** Statuses of parallel requests, by turns at each gateway and directly at each inference process. */
  async function storm(model: string, count: number): Promise<readonly number[]> {
    const clients = installations.map(({ ports }) => dial(`127.0.0.1:${ports.inference}`));
    const one = async (index: number): Promise<number> => {
      if (index % 4 < 2) {
        const answer = await respond(installations[index % 2] as Installation, apiKey, { model });
        await answer.text();
        return answer.status;
      }
      const turn = runTurn(clients[index % 2] as (typeof clients)[number], apiKey, turnRequest(model, "Hi"));
      return turn.over.then(
        () => 200,
        (error: ServiceError) => fromServiceError(error).status,
      );
    };
    const statuses = await Promise.all(Array.from({ length: count }, (_, index) => one(index)));
    for (const client of clients) client.close();
    return statuses;
  }

  test("admit exactly as many requests as daily limits allow, and fewer where another limit refuses", async () => {
    await limitWorkspaces([
      { models: ["sluice/*"], requests_per_day: 45 },
      { models: ["sluice/other"], requests_per_day: 10 },
    ]);
    const others = await storm("sluice/other", 80);
    expect(others.filter((status) => status === 200)).toHaveLength(10);
    // Requests refused by the second limit did not count in the first one.
    const statuses = await storm("sluice/echo", 160);
    expect(statuses.filter((status) => status === 200)).toHaveLength(35);
    expect(new Set([...others, ...statuses])).toEqual(new Set([200, 429]));
    await limitWorkspaces([{ models: ["sluice/*"], requests_per_day: 50 }]);
    const more = await storm("sluice/echo", 40);
    expect(more.filter((status) => status === 200)).toHaveLength(5);
  });

  test("give back every place taken under a limit of concurrent requests", async () => {
    await limitWorkspaces([{ models: ["sluice/*"], concurrent_requests: 4 }]);
    const statuses = await storm("sluice/echo", 120);
    expect(new Set([...statuses, 200, 429])).toEqual(new Set([200, 429]));
    // No concurrent request stays counted: as many as the limit run at once afterwards, again and again.
    for (let n = 0; n < 5; n++)
      await eventually(async () => (await storm("sluice/echo", 4)).every((status) => status === 200));
  });
});

test("parallel requests at one inference process share a limit exactly without Redis", async () => {
  const installation = await startInstallation({ config, inferenceReplicas: 1 });
  try {
    await administer(installation, "PATCH", `/workspaces/${defaultWorkspaceId}`, {
      model_limits: [{ models: ["sluice/echo"], requests_per_day: 25 }],
    });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => respond(installation, installation.apiKey, { model: "sluice/echo" })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(25);
  } finally {
    await installation.stop();
  }
});
