/** Some rolling restarts under load. More of them, under more: npm run rolling. */
import { expect, test } from "@jest/globals";
import { runRollingCampaign } from "./campaign.ts";

/** Lines shown by CI together with a failure. */
const progress = (line: string) => void process.stdout.write(`      ${line}\n`);

test("a restart of every service fails no request and cuts no stream", async () => {
  const { requests, streams, resent, refused, failures, wasOverloaded } = await runRollingCampaign({
    restarts: 1,
    requestsPerSecond: 20,
    streams: 10,
    progress,
  });
  process.stdout.write(
    `rolling: ${requests} requests, ${streams} streams, ${resent} sent again, ${refused} refused for overload, ${failures.size} ways to fail\n`,
  );
  expect(Object.fromEntries(failures)).toEqual({});
  expect(resent + refused).toBeLessThan(requests / 20);
  // The only valid reason for a refusal is a machine too busy for the load.
  expect(wasOverloaded || refused === 0).toBe(true);
  expect(requests).toBeGreaterThan(100);
  expect(streams).toBeGreaterThan(20);
}, 300_000);
