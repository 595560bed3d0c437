/** The three services as child processes. Each gets only the settings it needs. */
import { signInVariables } from "@sluice/proto/config/console/sign-in.js";
import { secretVariables, sinkVariables } from "@sluice/proto/config/sinks/sinks.js";
import { get } from "node:http";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ChildService, endChild, spawnChild } from "./child.ts";
import { type Hosts, type Ports, toReachableHost, replicasOf } from "./ports.ts";
import type { Credentials, Secrets } from "./secrets.ts";
import { root } from "./places.ts";
import type { StartLink } from "./start-link.ts";
import type { Settings } from "./settings.ts";
import { spoolFolder } from "./spools.ts";

export interface Service {
  readonly name: string;
  readonly script: string;
  readonly healthPort: number;
  /** Address of the health port. */
  readonly healthHost: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface Installation {
  readonly settings: Settings;
  readonly ports: Ports;
  readonly hosts: Hosts;
  readonly secrets: Secrets;
  readonly keys: Credentials;
  /** Link that signs in to the console once; absent if the gateway accepts other machines. */
  readonly startLink?: StartLink | undefined;
  readonly databaseUrl: string;
  /** Environment variables of the supervisor. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Variables of the machine for every Node process. */
const machine = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"];
/** Variables with secrets: they are passed by name, and only to the services allowed to know them. */
const confined = /^(DATABASE_URL|DATABASE_READ_URL|PG[A-Z]+|SLUICE_BOOTSTRAP_.*|SLUICE_SECRET)$/;

/**
 * Warm-up of a service in milliseconds, unless SLUICE_WARM_UP_MS is set: half as long as elsewhere, because the operator waits for this start. With
 * 750 ms instead of 1,500 the first 200 requests took 1.02 times the processor time and the first 1,000 took 1.06 times, after a start of 2.7 s of
 * processor time for gateway and inference-svc instead of 4.2 (three starts each, alternating, Node 20, 2026-11-29).
 */
const warmUpMs = 750;

/** The program of a room in its bundle, made by `deploy/local/bundle.mjs`. */
const programOf = (room: string, program = "main"): string => join(root, room, "bundle", `${program}.js`);

function common({ settings, hosts, secrets, environment }: Installation, room: string): NodeJS.ProcessEnv {
  const passed = Object.entries(environment).filter(
    ([name]) => (machine.includes(name) || /^(SLUICE|OTEL)_/.test(name)) && !confined.test(name),
  );
  return {
    SLUICE_WARM_UP_MS: String(warmUpMs),
    ...Object.fromEntries(passed),
    SLUICE_CONFIG: settings.config,
    SLUICE_HOST: hosts.gateway,
    SLUICE_INTERNAL_HOST: hosts.internal,
    SLUICE_SERVICE_TOKEN: secrets.serviceToken,
    ...(settings.SLUICE_TLS_DIR !== undefined && { SLUICE_TLS_DIR: join(resolve(settings.SLUICE_TLS_DIR), room) }),
    SLUICE_DRAIN_DELAY_MS: String(settings.SLUICE_DRAIN_DELAY_MS),
    SLUICE_DRAIN_LIMIT_MS: String(settings.SLUICE_DRAIN_LIMIT_MS),
    // Folder in which Node keeps compiled modules: since Node 22.1, a start reuses those of an earlier start.
    NODE_COMPILE_CACHE: join(settings.dataDir, "compile-cache"),
  };
}

/**
 * Variables that sections of the configuration file name for a service. They may have any name, except that of a variable of another service.  @param
 * named finds the names in the configuration file
 */
function namedEnvironment({ settings, environment }: Installation, named: typeof sinkVariables): NodeJS.ProcessEnv {
  const names = named(settings.config, environment).filter((name) => !confined.test(name));
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}

export function adminService(installation: Installation): Service {
  const { ports, hosts, keys, databaseUrl, settings } = installation;
  return {
    name: "admin-svc",
    script: programOf("admin-svc"),
    healthPort: ports.admin_health,
    healthHost: toReachableHost(hosts.internal),
    environment: {
      ...namedEnvironment(installation, sinkVariables),
      ...common(installation, "admin-svc"),
      DATABASE_URL: databaseUrl,
      ...(settings.DATABASE_READ_URL !== undefined && { DATABASE_READ_URL: settings.DATABASE_READ_URL }),
      SLUICE_ADMIN_PORT: String(ports.admin),
      SLUICE_ADMIN_HEALTH_PORT: String(ports.admin_health),
      SLUICE_BOOTSTRAP_MANAGEMENT_KEY: keys.managementKey.value,
      SLUICE_BOOTSTRAP_API_KEY: keys.apiKey.value,
    },
  };
}

export function inferenceServices(installation: Installation): Service[] {
  const { ports, hosts, secrets, settings, environment } = installation;
  // Providers are configured by variables of any name, so inference-svc gets all variables except those of other services.
  const ofOthers = secretVariables(settings.config, environment);
  const passed = Object.entries(environment).filter(([name]) => !confined.test(name) && !ofOthers.has(name));
  return replicasOf(ports, settings.replicas.count).map(({ rpc, health, http }, n) => ({
    name: n === 0 ? "inference-svc" : `inference-svc-${n}`,
    script: programOf("inference-svc"),
    healthPort: health,
    healthHost: toReachableHost(hosts.internal),
    environment: {
      ...Object.fromEntries(passed),
      ...common(installation, "inference-svc"),
      SLUICE_SECRET: secrets.secret.value,
      SLUICE_INFERENCE_PORT: String(rpc),
      SLUICE_INFERENCE_HEALTH_PORT: String(health),
      ...(http !== undefined && { SLUICE_INFERENCE_HTTP_PORT: String(http) }),
      SLUICE_ADMIN_ADDRESS: `${toReachableHost(hosts.internal)}:${ports.admin}`,
      SLUICE_PACKAGES_DIR: settings.packagesDir,
      SLUICE_ECHO: settings.SLUICE_ECHO,
      SLUICE_SPOOL_DIR: spoolFolder(settings.dataDir, n),
    },
  }));
}

export function gatewayService(installation: Installation): Service {
  const { ports, hosts, settings, startLink, environment } = installation;
  const replicas = replicasOf(ports, settings.replicas.count);
  return {
    name: "gateway",
    script: programOf("gateway"),
    healthPort: ports.gateway_health,
    healthHost: toReachableHost(hosts.internal),
    environment: {
      ...namedEnvironment(installation, signInVariables),
      ...common(installation, "gateway"),
      ...(startLink && { SLUICE_CONSOLE_LINK: startLink.variable }),
      SLUICE_PORT: String(ports.gateway),
      SLUICE_GATEWAY_HEALTH_PORT: String(ports.gateway_health),
      SLUICE_INFERENCE_ADDRESSES: replicas.map(({ rpc }) => `${toReachableHost(hosts.internal)}:${rpc}`).join(","),
      SLUICE_ADMIN_ADDRESS: `${toReachableHost(hosts.internal)}:${ports.admin}`,
      // inference-svc gets this variable together with all others.
      ...(environment["REDIS_URL"] !== undefined && { REDIS_URL: environment["REDIS_URL"] }),
    },
  };
}

/** Gateway and inference-svc in one process, which is ready when both are. */
export function combinedService(installation: Installation): Service {
  const gateway = gatewayService(installation);
  const [inference] = inferenceServices(installation) as [Service];
  const { SLUICE_TLS_DIR: folder } = installation.settings;
  return {
    ...gateway,
    script: programOf("deploy/local", "one-process"),
    environment: {
      ...inference.environment,
      ...gateway.environment,
      ...(folder !== undefined && { SLUICE_TLS_DIR: resolve(folder) }),
    },
  };
}

/**
 * The flags of Node for all services.
 *
 * The young generation has 32 MB at once, twice V8's maximum. With less, objects of a request are often still in use at a collection, so they are copied
 * and promoted: with 16 MB a request of 20 KB took 1.15 times the processor time, a request of 1 KB about the same (Node 20, 2026-11-27). Each process
 * takes some 45 MB more under load.
 *
 * Sixty-four functions may wait for the optimizing compiler, eight times V8's default. The first requests make more of them hot at once than a compiler
 * sharing its processor can handle, and a function without a place runs slowly until it is hot once more. Under other load, with eight, gateway and
 * inference-svc in one process were warm after 11,000 requests under load instead of 3,000, and the first 5,000 requests to two processes, sent one at a
 * time, took 1.15 times the processor time; with an idle processor both took the same (Node 20, 2026-11-27).
 */
export const nodeFlags = [
  "--enable-source-maps",
  "--min-semi-space-size=32",
  "--max-semi-space-size=32",
  "--concurrent-recompilation-queue-length=64",
];

export async function startService(service: Service, log: string, drainLimitMs: number): Promise<ChildService> {
  const { pid, exited, child } = await spawnChild(process.execPath, [...nodeFlags, service.script], {
    log,
    environment: service.environment,
    whenOrphaned: "KILL", // a killed service loses nothing that it has acknowledged, which is in the database, and must free its ports
  });
  return {
    pid,
    exited,
    // The service ends itself at its drain limit; a process still running after that is stuck.
    stop: () => endChild(child, exited, "SIGTERM", drainLimitMs + 5_000),
    kill: () => endChild(child, exited, "SIGKILL", 5_000),
  };
}

/** Waits until /readyz answers 200. */
export async function untilReady(service: Service, signal: AbortSignal): Promise<void> {
  while (!(await isReady(service))) await delay(20, undefined, { signal });
}

function isReady({ healthHost: host, healthPort: port }: Service): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.setTimeout(1_000, () => request.destroy());
    request.on("error", () => resolve(false));
  });
}
