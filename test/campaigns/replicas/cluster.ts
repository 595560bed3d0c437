/**
 * Three gateways, three inference processes, two admin-svc, two Postgres and, if installed, two Redis, as separate processes. Every connection
 * between two services passes through a link that can be cut.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCli } from "@sluice/admin-svc/cli.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { Link } from "../../support/link.ts";
import { freePorts } from "../../support/runner/free-ports.ts";
import { eventually } from "../../support/processes.ts";
import { PostgresPair } from "./postgres-pair.ts";
import { RedisPair } from "./redis-pair.ts";
import { ServiceProcess, type ServiceProcessOptions } from "./service-process.ts";

export interface NamedLink {
  readonly name: string;
  readonly link: Link;
}

const host = "127.0.0.1";
const counts = { gateways: 3, inference: 3, admins: 2 } as const;
const secrets = { SLUICE_SERVICE_TOKEN: "t".repeat(64), SLUICE_SECRET: "5".repeat(64) } as const;

export class ReplicaCluster {
  readonly managementKey = mintKey(KeyKind.MANAGEMENT);
  readonly apiKey = mintKey(KeyKind.INFERENCE);
  readonly gateways: readonly ServiceProcess[];
  readonly inference: readonly ServiceProcess[];
  readonly admins: readonly ServiceProcess[];
  readonly links: readonly NamedLink[];
  readonly postgres: PostgresPair;
  /** Undefined if the machine has no Redis. */
  readonly redis: RedisPair | undefined;
  /** Checkout of the older build; undefined if there is only one build. */
  readonly older: string | undefined;
  readonly #wires: Wires;
  readonly #folder: string;

  private constructor(folder: string, { postgres, redis }: Stores, wires: Wires, ports: Ports, older?: string) {
    this.#folder = folder;
    this.older = older;
    this.postgres = postgres;
    this.redis = redis;
    this.links = wires.named;
    this.#wires = wires;
    const common = {
      ...secrets,
      SLUICE_CONFIG: join(folder, "sluice.yaml"),
      SLUICE_WARM_UP_MS: "0",
      SLUICE_DRAIN_LIMIT_MS: "5000",
    };
    const replica = (service: ServiceProcessOptions["service"], n: number, environment: NodeJS.ProcessEnv) => {
      const [port, healthPort] = ports[service][n] as [number, number];
      const name = `${service}-${n}`;
      const log = join(folder, `${name}.log`);
      return new ServiceProcess({ name, service, port, healthPort, log, environment: { ...common, ...environment } });
    };
    this.admins = wires.database.map((link, n) =>
      replica("admin-svc", n, {
        DATABASE_URL: urlVia(postgres.url, link),
        SLUICE_ADMIN_PORT: String(ports["admin-svc"][n]?.[0]),
        SLUICE_ADMIN_HEALTH_PORT: String(ports["admin-svc"][n]?.[1]),
        SLUICE_BOOTSTRAP_MANAGEMENT_KEY: this.managementKey,
        SLUICE_BOOTSTRAP_API_KEY: this.apiKey,
      }),
    );
    this.inference = wires.inferenceToAdmin.map((link, n) =>
      replica("inference-svc", n, {
        SLUICE_INFERENCE_PORT: String(ports["inference-svc"][n]?.[0]),
        SLUICE_INFERENCE_HEALTH_PORT: String(ports["inference-svc"][n]?.[1]),
        SLUICE_ADMIN_ADDRESS: `${host}:${link.port}`,
        SLUICE_SPOOL_DIR: join(folder, `spool-${n}`),
        ...redisVia(wires.inferenceToRedis[n]),
      }),
    );
    this.gateways = wires.gatewayToAdmin.map((link, n) =>
      replica("gateway", n, {
        SLUICE_PORT: String(ports.gateway[n]?.[0]),
        SLUICE_GATEWAY_HEALTH_PORT: String(ports.gateway[n]?.[1]),
        SLUICE_INFERENCE_ADDRESSES: (wires.gatewayToInference[n] as Link[]).map(({ port }) => `${host}:${port}`).join(),
        SLUICE_ADMIN_ADDRESS: `${host}:${link.port}`,
        ...redisVia(wires.gatewayToRedis[n]),
      }),
    );
  }

  /** @param config YAML of the configuration file  @param older checkout of the build with which all processes start; this checkout if undefined */
  static async start(config: string, older?: string): Promise<ReplicaCluster> {
    const folder = mkdtempSync(join(tmpdir(), "sluice-replicas-"));
    writeFileSync(join(folder, "sluice.yaml"), config);
    const stores = { postgres: await PostgresPair.start(folder), redis: await RedisPair.start(folder) };
    const ports = await choosePorts();
    const cluster = new ReplicaCluster(folder, stores, await wire(ports, stores), ports, older);
    try {
      // The first admin-svc creates the schema.
      for (const admin of cluster.admins) await admin.start({ checkout: older });
      const others = [...cluster.inference, ...cluster.gateways];
      await Promise.all(others.map((replica) => replica.start({ checkout: older })));
      await cluster.untilWhole();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get replicas(): readonly ServiceProcess[] {
    return [...this.gateways, ...this.inference, ...this.admins];
  }

  /** Base URL of a gateway's API. */
  baseUrl(gateway: number): string {
    return `http://${host}:${this.gateways[gateway]?.options.port}/api/v1`;
  }

  /** Waits until every gateway sends turns to every inference process, and every process watches the policy. */
  async untilWhole(): Promise<void> {
    const watching = this.gateways.length + this.inference.length;
    await eventually(async () => {
      const pools = await Promise.all(this.gateways.map((gateway) => figure(gateway, "sluice_inference_processes")));
      const watchers = await Promise.all(this.admins.map((admin) => figure(admin, "sluice_policy_watchers")));
      const watched = watchers.reduce((sum, count) => sum + count, 0);
      return pools.every((count) => count === this.inference.length) && watched === watching;
    });
  }

  /**
   * Completes a rollout as documented: processes of the older build restart with this build, and the ledger is repaired.  @returns reasons why the
   * ledger could not be repaired
   */
  async upgrade(): Promise<readonly string[]> {
    if (this.older === undefined) return [];
    for (const replica of [...this.admins, ...this.inference, ...this.gateways]) {
      if (replica.checkout === this.older) await replica.kill().then(() => replica.start());
    }
    const said: string[] = [];
    const output = { write: (text: string) => said.push(text) > 0 };
    const code = await runCli(["ledger", "repair"], {
      databaseUrl: this.postgres.url,
      stdout: output,
      stderr: output,
    });
    return code === 0 ? [] : [`ledger repair ended with ${code}: ${said.join("")}`];
  }

  async failOver(): Promise<void> {
    await this.postgres.failOver(() => {
      for (const link of this.#wires.database) link.retarget({ host, port: this.postgres.port });
    });
  }

  /** Leads new connections to the Redis that accepts writes. */
  followRedis({ port }: RedisPair): void {
    for (const link of [...this.#wires.gatewayToRedis, ...this.#wires.inferenceToRedis]) link.lead({ host, port });
  }

  async stop(): Promise<void> {
    for (const replica of this.replicas) await replica.kill();
    for (const { link } of this.links) await link.cut();
    await this.postgres.stop();
    await this.redis?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

type Ports = Readonly<Record<ServiceProcessOptions["service"], readonly (readonly [number, number])[]>>;

async function choosePorts(): Promise<Ports> {
  const pairs = async (count: number) => {
    const ports = await freePorts(2 * count);
    return Array.from({ length: count }, (_, n) => [ports[2 * n], ports[2 * n + 1]] as [number, number]);
  };
  return {
    gateway: await pairs(counts.gateways),
    "inference-svc": await pairs(counts.inference),
    "admin-svc": await pairs(counts.admins),
  };
}

interface Stores {
  readonly postgres: PostgresPair;
  readonly redis: RedisPair | undefined;
}

interface Wires {
  readonly named: NamedLink[];
  readonly database: readonly Link[];
  readonly inferenceToAdmin: readonly Link[];
  readonly gatewayToAdmin: readonly Link[];
  readonly gatewayToInference: readonly (readonly Link[])[];
  /** Links to Redis; empty without Redis. */
  readonly inferenceToRedis: readonly Link[];
  readonly gatewayToRedis: readonly Link[];
}

async function wire(ports: Ports, { postgres, redis }: Stores): Promise<Wires> {
  const named: NamedLink[] = [];
  const lead = async (name: string, ...to: number[]) => {
    const link = new Link(...to.map((port) => ({ host, port })));
    await link.listen();
    named.push({ name, link });
    return link;
  };
  const admins = ports["admin-svc"].map(([port]) => port);
  /** Half of the links try the second admin-svc first. */
  const adminsFrom = (n: number) => [...admins.slice(n % admins.length), ...admins.slice(0, n % admins.length)];
  const toRedis = (service: ServiceProcessOptions["service"]) =>
    redis ? each(ports[service], (n) => lead(`${service}-${n} to Redis`, redis.port)) : [];
  const each = <To>(from: readonly unknown[], make: (n: number) => Promise<To>) =>
    Promise.all(from.map((_, n) => make(n)));
  return {
    named,
    database: await each(admins, (n) => lead(`admin-svc-${n} to Postgres`, postgres.port)),
    inferenceToAdmin: await each(ports["inference-svc"], (n) =>
      lead(`inference-svc-${n} to admin-svc`, ...adminsFrom(n)),
    ),
    gatewayToAdmin: await each(ports.gateway, (n) => lead(`gateway-${n} to admin-svc`, ...adminsFrom(n))),
    gatewayToInference: await each(ports.gateway, (n) =>
      each(ports["inference-svc"], (m) =>
        lead(`gateway-${n} to inference-svc-${m}`, (ports["inference-svc"][m] as [number, number])[0]),
      ),
    ),
    inferenceToRedis: await toRedis("inference-svc"),
    gatewayToRedis: await toRedis("gateway"),
  };
}

function urlVia(databaseUrl: string, link: Link): string {
  const url = new URL(databaseUrl);
  url.host = `${host}:${link.port}`;
  return url.href;
}

const redisVia = (link: Link | undefined): NodeJS.ProcessEnv =>
  link ? { REDIS_URL: `redis://${host}:${link.port}` } : {};

/** Value of a process's gauge; 0 if the process has none or does not answer. */
async function figure(replica: ServiceProcess, name: string): Promise<number> {
  const text = await replica.metrics().catch(() => "");
  return Number(new RegExp(`^${name}(?:\\{\\S*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
}
