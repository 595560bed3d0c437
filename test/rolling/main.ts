/** npm run rolling -- [--restarts N] [--requests N] [--streams N]: restarts every service of a house again and again under load. */
import { numbersGiven } from "../support/campaign-options.ts";
import { campaign } from "./campaign.ts";

const given = numbersGiven("rolling", {
  /** Of each service: about ten minutes for twenty. */
  restarts: { usual: 20, least: 1, most: 10_000 },
  /** A second. */
  requests: { usual: 200, least: 1, most: 10_000 },
  /** That are always open. */
  streams: { usual: 100, least: 0, most: 10_000 },
});

const { requests, streams, failures } = await campaign({
  restarts: given.restarts,
  requestsPerSecond: given.requests,
  streams: given.streams,
  progress: (line) => console.log(line),
});
for (const [failure, count] of failures) console.log(`${count} times ${failure}`);
console.log(
  `${given.restarts} restarts of each: ${requests} requests, ${streams} streams, ${failures.size} ways to fail`,
);
if (failures.size > 0) process.exitCode = 1;
