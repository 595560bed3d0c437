/** A budget that pays for a number of requests, and several times as many requests at once. */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Installation } from "../../support/installation.ts";
import { Administrator } from "./administrator.ts";
import type { Figure } from "./figure.ts";

const admitted = 100;

/** YAML of a model whose every answer costs a cent. */
export const flatPriceModel = `  - {id: sluice/flat, endpoints: [{provider: sluice, pricing: {prompt: "0", completion: "0", request: "0.01"}}]}`;

export async function measureOvershoot(installation: Installation, asked: number): Promise<Figure[]> {
  const key = await new Administrator(installation).makeKey({ limit: admitted / 100 });
  const agent = new Agent({ keepAlive: true, maxSockets: asked });
  const statuses = new Map<number, number>();
  let refused = 0;
  await Promise.all(
    Array.from({ length: asked }, async () => {
      let status = 0;
      // A request is repeated while an overloaded installation refuses it with a retryable status.
      while (status !== 200 && status !== 402) {
        status = await answered(agent, installation.ports.gateway, key);
        if (status !== 200 && status !== 402) await delay(1_000 + 4_000 * Math.random(), refused++);
      }
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }),
  );
  agent.destroy();
  const served = statuses.get(200) ?? 0;
  const all = [...statuses].map(([status, count]) => `${count} x ${status}`);
  return [
    {
      measure: `a budget of ${admitted} requests, asked for by ${asked} at once`,
      found: `${all.join(", ")} (and ${refused} times asked to come back)`,
      goal: `at most ${admitted + 1} x 200`,
      reached: served > 0 && served <= admitted + 1,
    },
  ];
}

/** Status of one turn; 0 if the connection failed. */
function answered(agent: Agent, port: number, key: string): Promise<number> {
  const body = JSON.stringify({ model: "sluice/flat", input: "x" });
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": body.length,
  };
  return new Promise((resolve) => {
    const sent = request({ agent, port, path: "/api/v1/responses", method: "POST", headers }, (response) => {
      response.resume();
      response.on("close", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}
