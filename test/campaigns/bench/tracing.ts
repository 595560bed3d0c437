/**
 * Measures the cost of traces: `node test/dist/campaigns/bench/tracing.js`. Three installations run at the same time and get requests in turn, so
 * that a busy machine affects all of them. It prints the processor time of gateway and inference-svc for a request, and its ratio to the installation
 * without traces.
 */
import { Agent, request as ask } from "node:http";
import { cpuNs } from "../../support/machine.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { startCollector } from "../../support/collector.ts";
import { chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

const rounds = 7;
const requestsEach = 400;
const warmUp = 800;
const atOnce = 8;

interface Subject {
  readonly name: string;
  readonly installation: Installation;
  readonly agent: Agent;
}

/** Microseconds of processor time so far in gateway and inference-svc. */
function usedUs({ installation }: Subject): number {
  const { gateway = 0, "inference-svc": inference = 0 } = installation.pids();
  return (cpuNs(gateway) + cpuNs(inference)) / 1_000;
}

function once({ installation, agent }: Subject, stream: boolean): Promise<void> {
  const headers = { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = ask(`${installation.baseUrl}/responses`, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume().on("end", resolve);
    });
    request.on("error", reject).end(JSON.stringify({ model: "acme/large", input: "Hi", stream }));
  });
}

async function many(subject: Subject, stream: boolean, count: number): Promise<void> {
  let left = count;
  const work = async () => {
    while (left-- > 0) await once(subject, stream);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const upstream = await startUpstream();
const collector = await startCollector();
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
const sampled = { ...endpoint, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" };
const config = `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme}]}]
`;
const subjects: Subject[] = [];
for (const [name, environment] of [
  ["off", {}],
  ["all", endpoint],
  ["1 in 100", sampled],
] as const) {
  const installation = await startInstallation({ config, environment, embeddedPostgres: true });
  subjects.push({ name, installation, agent: new Agent({ keepAlive: true, maxSockets: atOnce }) });
}
try {
  for (const stream of [false, true]) {
    upstream.script([
      stream ? chatStream(..."twenty words of an answer".repeat(4).split(" ")) : chatAnswer({ content: "Hello" }),
    ]);
    const used = new Map(subjects.map((subject) => [subject, [] as number[]]));
    for (const subject of subjects) await many(subject, stream, warmUp);
    for (let round = 0; round < rounds; round++) {
      // The order alternates, because the second subject finds warm caches.
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        const before = usedUs(subject);
        await many(subject, stream, requestsEach);
        used.get(subject)?.push((usedUs(subject) - before) / requestsEach);
      }
    }
    const off = median(used.get(subjects[0] as Subject) ?? []);
    for (const [{ name }, values] of used) {
      const us = median(values);
      console.log(`${stream ? "stream" : "whole "}  ${name.padEnd(8)}  ${us.toFixed(0)} us  ${(us / off).toFixed(2)}`);
    }
  }
} finally {
  for (const { installation, agent } of subjects) {
    agent.destroy();
    await installation.stop();
  }
  await collector.stop();
  await upstream.stop();
}
