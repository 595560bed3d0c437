/** npm run rolling -- [--restarts N] [--requests N] [--streams N]: restarts the services of an installation again and again under load. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { runRollingCampaign } from "./campaign.ts";

const given = readNumbersOrExit("rolling", {
  /** Number of restarts of each service; twenty take about ten minutes. */
  restarts: { default: 20, min: 1, max: 10_000 },
  /** Number of requests per second. */
  requests: { default: 200, min: 1, max: 10_000 },
  /** Number of open streams. */
  streams: { default: 100, min: 0, max: 10_000 },
});

const { requests, streams, resent, refused, failures } = await runRollingCampaign({
  restarts: given.restarts,
  requestsPerSecond: given.requests,
  streams: given.streams,
  progress: (line) => console.log(line),
});
for (const [failure, count] of failures) console.log(`${count} times ${failure}`);
console.log(
  `${given.restarts} restarts of each: ${requests} requests, ${streams} streams, ${resent} sent again, ${refused} refused for overload, ${failures.size} ways to fail`,
);
if (failures.size > 0) process.exitCode = 1;
