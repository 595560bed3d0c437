/** Compares how long one key's turns take with and without crowds of other clients, in the same run. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inUseVariables, readInUse } from "../../support/in-use.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import type { Crowd } from "./crowd.ts";

export interface NeighboursOptions {
  readonly slowReaders: number;
  readonly slowKeys: number;
  readonly documentClients: number;
  /** Number of clients with one key that retry immediately after each refusal. */
  readonly refusedClients: number;
  /** Number of timed turns of each kind. */
  readonly turns: number;
  readonly progress?: (line: string) => void;
}

/** Milliseconds until the first byte of each turn, and all statuses other than 200. */
export interface Timing {
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly refused: number;
}

export interface CampaignReport {
  readonly alone: Timing;
  readonly besideSlowReaders: Timing;
  /** Turns with the key of the slow readers, begun at the same moments as those of `besideSlowReaders`. */
  readonly ofSlowKey: Timing;
  /** Number of slow readers that had an answer by the end. */
  readonly slowAnswered: number;
  readonly aloneAgain: Timing;
  readonly besideDocuments: Timing;
  readonly besideRefusals: Timing;
  /** Number of answered requests of the refused clients, and the milliseconds they took. */
  readonly refusals: { readonly answered: number; readonly ms: number };
  /** Growth of memory in KiB per slow reader, in each process. */
  readonly grown: { readonly gateway: number; readonly inference: number };
}

/** KiB in use in the two processes after a full collection. Resident memory would include uncollected garbage, which varied by 150 KiB per reader. */
async function readKibInUse(installation: Installation): Promise<readonly [gateway: number, inference: number]> {
  const pids = installation.pids();
  const read = async (name: string) => {
    const { heapBytes, externalBytes } = await readInUse(pids[name] as number, installation.dataDir);
    return (heapBytes + externalBytes) / 1_024;
  };
  return [await read("gateway"), await read("inference-svc")];
}

const child = (file: string): ChildProcess => fork(fileURLToPath(new URL(file, import.meta.url)));

export async function runNeighboursCampaign(options: NeighboursOptions): Promise<CampaignReport> {
  // Two providers, because one that floods a thousand connections is late for others.
  const providers = [child("./provider.js"), child("./provider.js")];
  const ports = await Promise.all(providers.map(async (provider) => (await once(provider, "message"))[0] as number));
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-neighbours-"));
  const environment = inUseVariables(dataDir);
  const config = configFor(ports, options);
  const installation = await startInstallation({ config, environment, dataDir, embeddedPostgres: true });
  try {
    return await measure(installation, options);
  } finally {
    for (const provider of providers) provider.disconnect();
    await installation.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const configFor = ([fast, word]: readonly number[], { slowReaders, slowKeys }: NeighboursOptions) => `
providers:
  - {id: fast, dialect: chat, base_url: "http://127.0.0.1:${fast}/v1"}
  - {id: word, dialect: chat, base_url: "http://127.0.0.1:${word}/v1"}
models:
  - {id: mock/fast, endpoints: [{provider: fast, upstream_model: fast}]}
  - {id: mock/word, endpoints: [{provider: word, upstream_model: word}]}
limits: {streams_per_key: ${Math.ceil(slowReaders / slowKeys) + 1}}
`;

async function measure(installation: Installation, options: NeighboursOptions): Promise<CampaignReport> {
  const { turns, progress = () => {} } = options;
  await timed(installation, turns);
  const said = (name: string, timing: Timing) => {
    const { p50, p99, refused } = timing;
    progress(`${name}: first byte p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${refused} refused`);
    return timing;
  };
  const port = Number(new URL(installation.baseUrl).port);
  const documents = { port, clients: options.documentClients, requests: [documentRequest], bytesPerSecond: 0 };
  const aloneAgain = said("alone", await timed(installation, turns));
  const [besideDocuments] = await beside(documents, () => timed(installation, turns));
  said(`beside ${options.documentClients} clients that ask for /docs`, besideDocuments);
  const refusedKey = await newKey(installation, "refused", { requests_per_minute: 600 });
  const refused = { port, clients: options.refusedClients, requests: [modelsRequest(refusedKey)], bytesPerSecond: 0 };
  const begunAt = performance.now();
  const [besideRefusals, answered] = await beside(refused, () => timed(installation, turns));
  const refusals = { answered, ms: Math.round(performance.now() - begunAt) };
  said(`beside ${options.refusedClients} clients that go on when they are refused`, besideRefusals);
  progress(`  ${answered} of their requests were answered in ${refusals.ms} ms`);
  const alone = said("alone", await timed(installation, turns));
  const before = await readKibInUse(installation);
  const keys = await Promise.all(Array.from({ length: options.slowKeys }, (_, n) => newKey(installation, `slow ${n}`)));
  const slow = { port, clients: options.slowReaders, requests: keys.map(turnRequest), bytesPerSecond: 4_096 };
  const both = () => Promise.all([timed(installation, turns), timed(installation, turns, keys[0])]);
  const [[besideSlowReaders, ofSlowKey, after], slowAnswered] = await beside(slow, async () => {
    const timings = await both();
    return [...timings, await readKibInUse(installation)] as const;
  });
  const [gateway, inference] = after.map((kib, at) => Math.round((kib - (before[at] ?? 0)) / options.slowReaders));
  const grown = { gateway: gateway ?? 0, inference: inference ?? 0 };
  progress(`  each reader takes ${grown.gateway} KiB of the gateway and ${grown.inference} KiB of inference-svc`);
  said(`beside ${options.slowReaders} slow readers of ${options.slowKeys} keys`, besideSlowReaders);
  said("of a key with slow readers", ofSlowKey);
  return {
    alone,
    besideSlowReaders,
    ofSlowKey,
    slowAnswered,
    aloneAgain,
    besideDocuments,
    besideRefusals,
    refusals,
    grown,
  };
}

const modelsRequest = (key: string) =>
  `GET /api/v1/models HTTP/1.1\r\nhost: sluice\r\nauthorization: Bearer ${key}\r\n\r\n`;

const documentRequest = "GET /docs HTTP/1.1\r\nhost: sluice\r\n\r\n";

function turnRequest(key: string): string {
  const body = JSON.stringify({ model: "mock/fast", input: "Hi", stream: true });
  const fields = `authorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return `POST /api/v1/responses HTTP/1.1\r\nhost: sluice\r\n${fields}\r\n\r\n${body}`;
}

/** Runs a measurement from the crowd's first answer on. @returns its result, and the number of answers to the crowd */
async function beside<Result>(crowd: Crowd, run: () => Promise<Result>): Promise<readonly [Result, number]> {
  const process = child("./crowd.js");
  let answered = 0;
  const begun = new Promise<void>((resolve) => {
    process.on("message", (count: number) => {
      answered = count;
      if (count > 0) resolve();
    });
  });
  process.send(crowd);
  try {
    await begun;
    return [await run(), answered];
  } finally {
    process.kill("SIGKILL");
    await once(process, "exit");
  }
}

async function newKey(installation: Installation, name: string, limits: object = {}): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name, ...limits }),
  });
  return ((await answer.json()) as { readonly key: string }).key;
}

async function timed(installation: Installation, turns: number, key = installation.apiKey): Promise<Timing> {
  const times: number[] = [];
  let refused = 0;
  for (let count = 0; count < turns; count++) {
    const began = performance.now();
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "mock/word", input: "Hi", stream: true }),
    });
    times.push(performance.now() - began);
    if (answer.status !== 200) refused++;
    await answer.text();
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] as number;
  return { mean: times.reduce((sum, time) => sum + time, 0) / times.length, p50: at(0.5), p99: at(0.99), refused };
}
