/** npm run rolling -- [--restarts N] [--requests N] [--streams N]: restarts every service of a house again and again under load. */
import { parseArgs } from "node:util";
import { campaign } from "./campaign.ts";

const { values } = parseArgs({
  options: {
    /** Of each service: about ten minutes for twenty. */
    restarts: { type: "string", default: "20" },
    /** A second. */
    requests: { type: "string", default: "200" },
    /** That are always open. */
    streams: { type: "string", default: "100" },
  },
});

const { requests, streams, failures } = await campaign({
  restarts: Number(values.restarts),
  requestsPerSecond: Number(values.requests),
  streams: Number(values.streams),
  progress: (line) => console.log(line),
});
for (const [failure, count] of failures) console.log(`${count} times ${failure}`);
console.log(
  `${values.restarts} restarts of each: ${requests} requests, ${streams} streams, ${failures.size} ways to fail`,
);
if (failures.size > 0) process.exitCode = 1;
