/**
 * Restarts the services of an installation one process after another under load, like a rollout in a cluster. A new gateway takes connections before
 * an old one ends. The supervisor restarts inference processes and admin-svc.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { spawnChild } from "@sluice/local/child.js";
import { freePorts } from "../../support/runner/free-ports.ts";
import { type Installation, startInstallation, untilAllServe } from "../../support/installation.ts";
import { bareEnvironment, eventually, programIn, root } from "../../support/processes.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import { type Backend, Balancer, isReady } from "../../support/balancer.ts";
import { type RollingCounts, RollingLoad } from "./load.ts";

export interface RollingOptions {
  /** Number of restarts of each service. */
  readonly restarts: number;
  readonly requestsPerSecond: number;
  readonly streams: number;
  /** Called after every restart. */
  readonly progress?: (line: string) => void;
}

/** Milliseconds: longer than the balancer needs to notice an unready process, even on a busy machine. */
const drainDelayMs = 2_000;
const replicas = ["inference-svc", "inference-svc-1"];

/** An answer whose stream takes a little more than three seconds. */
const reply: Reply = {
  chunks: [
    { sse: [chatChunk({ content: "a" })] },
    ...Array.from({ length: 30 }, () => ({ sse: [chatChunk({ content: "b" })], afterMs: 100 })),
    { sse: [chatChunk({}, "stop"), "[DONE]"] },
  ],
};

const configOf = ({ url }: Upstream): string => `
providers:
  - {id: built-in, dialect: echo}
  - {id: acme, dialect: chat, base_url: "${url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: built-in}]}
  - {id: acme/large, endpoints: [{provider: acme}]}
limits: {streams_per_key: 10000}
`;

export interface RollingResult extends RollingCounts {
  /** Whether a process reported that it was overloaded: the machine was then too slow for the load, and 503 is the correct answer. */
  readonly wasOverloaded: boolean;
}

export async function runRollingCampaign(options: RollingOptions): Promise<RollingResult> {
  const acme = await startUpstream([reply]);
  const environment = { SLUICE_DRAIN_DELAY_MS: String(drainDelayMs), SLUICE_DRAIN_LIMIT_MS: "60000" };
  const config = configOf(acme);
  const installation = await startInstallation({
    embeddedPostgres: true,
    inferenceReplicas: replicas.length,
    config,
    environment,
  });
  const balancer = await Balancer.start();
  const gateways = new Gateways(installation, balancer);
  try {
    for (let n = 0; n < 2; n++) await gateways.start();
    const counts = await restartAll(installation, gateways, balancer.port, options);
    if (counts.failures.size > 0) for (const line of warningsOf(installation)) options.progress?.(line);
    const wasOverloaded = ["gateways", ...replicas].some((name) => installation.logs(name).includes("overloaded: "));
    return { ...counts, wasOverloaded };
  } finally {
    balancer.stop();
    await gateways.kill();
    await installation.stop();
    await acme.stop();
  }
}

/** The first warning of each kind in the logs, printed if clients have noticed a failure. */
function warningsOf(installation: Installation): string[] {
  const kinds = new Map<string, string>();
  for (const line of ["gateways", "admin-svc", ...replicas].flatMap((name) => installation.logs(name).split("\n"))) {
    if (!/^\{"level":[456]0/.test(line)) continue;
    const { room, msg } = JSON.parse(line) as { room: string; msg: string };
    const kind = `${room} ${msg}`;
    if (!kinds.has(kind)) kinds.set(kind, line);
  }
  return [...kinds.values()];
}

async function restartAll(
  installation: Installation,
  gateways: Gateways,
  port: number,
  { restarts, progress = () => {}, ...load }: RollingOptions,
): Promise<RollingCounts> {
  const clients = new RollingLoad({ ...load, port, key: installation.apiKey });
  const roll: readonly (readonly [string, () => Promise<void>])[] = [
    ...replicas.map((name) => [name, () => restart(installation, name).then(() => gateways.knowAll())] as const),
    ["gateway", () => gateways.replace()],
    ["admin-svc", () => restart(installation, "admin-svc")],
  ];
  for (let n = 1; n <= restarts; n++) {
    for (const [name, once] of roll) {
      await once();
      progress(`${name} ${n}: ${clients.counts.requests} requests, ${clients.counts.failures.size} ways to fail`);
    }
  }
  return clients.stop();
}

async function restart(installation: Installation, name: string): Promise<void> {
  const before = installation.pids()[name] as number;
  process.kill(before, "SIGTERM");
  await eventually(() => ![before, undefined].includes(installation.pids()[name]), 90_000);
  await eventually(() => isReady(healthPortOf(installation, name)));
}

const healthPortOf = ({ ports }: Installation, name: string): number =>
  name === "admin-svc" ? ports.admin_health : ports.inference_health + replicas.indexOf(name) * 100;

interface Gateway extends Backend {
  readonly process: Awaited<ReturnType<typeof spawnChild>>;
}

/** Gateways besides the supervisor's own one, which gets no load. */
class Gateways {
  readonly #installation: Installation;
  readonly #balancer: Balancer;
  readonly #running: Gateway[] = [];

  constructor(installation: Installation, balancer: Balancer) {
    this.#installation = installation;
    this.#balancer = balancer;
  }

  async start(): Promise<void> {
    const { dataDir, ports } = this.#installation;
    const [port, healthPort] = (await freePorts(2)) as [number, number];
    const secrets = JSON.parse(readFileSync(join(dataDir, "secrets.json"), "utf8")) as { service_token: string };
    const child = await spawnChild(process.execPath, [programIn(root, "gateway")], {
      log: join(dataDir, "logs/gateways.log"),
      environment: {
        ...bareEnvironment(),
        SLUICE_PORT: String(port),
        SLUICE_GATEWAY_HEALTH_PORT: String(healthPort),
        SLUICE_INFERENCE_ADDRESSES: replicas.map((_, n) => `127.0.0.1:${ports.inference + n * 100}`).join(),
        SLUICE_ADMIN_ADDRESS: `127.0.0.1:${ports.admin}`,
        SLUICE_CONFIG: join(dataDir, "sluice.yaml"),
        SLUICE_SERVICE_TOKEN: secrets.service_token,
        SLUICE_DRAIN_DELAY_MS: String(drainDelayMs),
      },
      whenOrphaned: "KILL",
    });
    const gateway = { port, healthPort, process: child };
    this.#running.push(gateway);
    await eventually(() => isReady(healthPort));
    await this.#introduce(gateway);
    this.#balancer.add(gateway);
    await eventually(() => this.#balancer.isReady(gateway));
  }

  /**
   * Lets a new gateway learn the key's policy. The only admin-svc here is unreachable during its restart, and an unknown key gets 503 meanwhile; a
   * cluster has two.
   */
  async #introduce({ port }: Gateway): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#installation.apiKey}`,
        "content-type": "application/json",
        connection: "close",
      },
      body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`a new gateway answered ${response.status} ${text}`);
  }

  /** Starts a gateway, then drains the oldest one while the others serve. @throws if the oldest one does not end well */
  async replace(): Promise<void> {
    await this.start();
    const oldest = this.#running.shift() as Gateway;
    oldest.process.child.kill("SIGTERM");
    const how = await oldest.process.exited;
    this.#balancer.remove(oldest);
    if (how !== "exit code 0") throw new Error(`a gateway ended with ${how}`);
  }

  /** Waits until every gateway sends turns to every inference process. In a cluster, minReadySeconds leaves the time for this. */
  async knowAll(): Promise<void> {
    for (const { healthPort } of this.#running) await untilAllServe(healthPort, replicas.length);
  }

  async kill(): Promise<void> {
    for (const { process: ending } of this.#running) {
      ending.child.kill("SIGKILL");
      await ending.exited;
    }
  }
}
