/**
 * Measures the cost of a routing decision: `node test/dist/campaigns/bench/routing.js`. A plain SHA-256 on the same machine is
 * printed for comparison.
 */
import { createHash } from "node:crypto";
import { openDecider, pricedEndpoint } from "../../inference-svc/features/routers/deciding.js";

const model = "acme/large-2";
const endpoints = Array.from({ length: 50 }, (_, index) => pricedEndpoint(`e${index}`, index + 1));
const several = openDecider([{ id: model, endpoints }]);
const one = openDecider([{ id: model, endpoints: endpoints.slice(0, 1) }]);

function hashUs(): number {
  const count = 20_000;
  const before = process.cpuUsage();
  for (let index = 0; index < count; index++) createHash("sha256").update(`s${index}`).digest();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const median = (measure: () => number): string => {
  const values = Array.from({ length: 5 }, measure).sort((a, b) => a - b);
  return values[2]!.toFixed(1);
};

/** A long conversation, as agents send it late in a task. */
const input = Array.from({ length: 400 }, (_, index) => {
  const [role, type] = index % 2 === 0 ? ["user", "input_text"] : ["assistant", "output_text"];
  return { type: "message", role, content: [{ type, text: `Step ${index}` }] };
});

const request = { models: [model] };
const [fiftyUs, oneUs] = [median(() => several.cost(request)), median(() => one.cost(request))];
const longUs = median(() => several.cost({ ...request, input }));
process.stdout.write(
  `a decision among 50 endpoints ${fiftyUs} us, of 400 messages ${longUs} us, with one endpoint ${oneUs} us; one SHA-256 ${median(hashUs)} us (processor time)\n`,
);
