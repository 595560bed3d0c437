/** Ports and listen addresses of all processes, and a check that reports ports in use before anything starts. */
import { type Server, createServer } from "node:net";
import type { Settings } from "./settings.ts";

export interface Ports {
  readonly gateway: number;
  readonly gateway_health: number;
  /** Port of the first replica; replica n has this number + 100 n. */
  readonly inference: number;
  readonly inference_health: number;
  /** HTTP/1.1 port of inference-svc; absent unless it is configured. */
  readonly inference_http?: number;
  readonly admin: number;
  readonly admin_health: number;
  /** Port of Postgres; absent if DATABASE_URL names a database. */
  readonly postgres?: number;
}

/** Listen addresses of ports. */
export interface Hosts {
  /** Listen address of the gateway's port for clients. */
  readonly gateway: string;
  /** Listen address of all other ports; Postgres always listens on 127.0.0.1 only. */
  readonly internal: string;
}

const loopback = "127.0.0.1";

/** @param inFile value of `host` in the configuration file */
export const hostsOf = (settings: Settings, inFile: string | undefined): Hosts => ({
  gateway: settings.SLUICE_HOST ?? inFile ?? loopback,
  internal: settings.SLUICE_INTERNAL_HOST,
});

/** Address for connections from this machine to a listening address. */
export function toReachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return loopback;
  return host.includes(":") ? `[${host}]` : host;
}

/** Whether a listen address lets other machines connect. */
export const acceptsOtherMachines = (host: string): boolean => !/^(127\.|::1$|localhost$)/.test(host);

export const baseUrlOf = (ports: Ports, hosts: Hosts) =>
  `http://${toReachableHost(hosts.gateway)}:${ports.gateway}/api/v1`;

const replicaStep = 100;

export function portsOf(settings: Settings): Ports {
  return {
    gateway: settings.SLUICE_PORT,
    gateway_health: settings.SLUICE_GATEWAY_HEALTH_PORT,
    inference: settings.SLUICE_INFERENCE_PORT,
    inference_health: settings.SLUICE_INFERENCE_HEALTH_PORT,
    ...(settings.SLUICE_INFERENCE_HTTP_PORT !== undefined && { inference_http: settings.SLUICE_INFERENCE_HTTP_PORT }),
    admin: settings.SLUICE_ADMIN_PORT,
    admin_health: settings.SLUICE_ADMIN_HEALTH_PORT,
    ...(settings.DATABASE_URL === undefined && { postgres: settings.SLUICE_POSTGRES_PORT }),
  };
}

export interface ReplicaPorts {
  readonly rpc: number;
  readonly health: number;
  readonly http?: number;
}

/** Ports of each inference service. @param count number of inference processes; with 0, inference-svc in the gateway's process has the first ports */
export function replicasOf({ inference, inference_health, inference_http }: Ports, count: number): ReplicaPorts[] {
  return Array.from({ length: Math.max(1, count) }, (_, n) => ({
    rpc: inference + n * replicaStep,
    health: inference_health + n * replicaStep,
    ...(inference_http !== undefined && { http: inference_http + n * replicaStep }),
  }));
}

/** @throws an error with every port in use or given twice, and the variables to change it */
export async function requireFree(ports: Ports, hosts: Hosts, replicas: number): Promise<void> {
  const held: Server[] = [];
  const problems: string[] = [];
  for (const [port, [first, ...others]] of byPort(named(ports, hosts, replicas))) {
    if (first === undefined) continue;
    if (others.length > 0) {
      const variables = [first, ...others].map(({ variable }) => variable);
      problems.push(`${variables.join(" and ")} name the same port ${port}: set all but one of them to another one`);
    }
    try {
      held.push(await listen(port, first.host));
    } catch (error) {
      problems.push(`port ${port} ${reason(error)}: set ${first.variable} to another one`);
    }
  }
  for (const server of held) await new Promise((resolve) => server.close(resolve));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

interface NamedPort {
  readonly variable: string;
  readonly port: number;
  readonly host: string;
}

function byPort(list: readonly NamedPort[]): ReadonlyMap<number, readonly NamedPort[]> {
  const found = new Map<number, NamedPort[]>();
  for (const each of list) found.set(each.port, [...(found.get(each.port) ?? []), each]);
  return found;
}

function named(ports: Ports, hosts: Hosts, replicas: number): NamedPort[] {
  const host = hosts.internal;
  const list: NamedPort[] = [
    { variable: "SLUICE_PORT", port: ports.gateway, host: hosts.gateway },
    { variable: "SLUICE_ADMIN_PORT", port: ports.admin, host },
    { variable: "SLUICE_GATEWAY_HEALTH_PORT", port: ports.gateway_health, host },
    { variable: "SLUICE_ADMIN_HEALTH_PORT", port: ports.admin_health, host },
  ];
  for (const [n, { rpc, health, http }] of replicasOf(ports, replicas).entries()) {
    const note = n === 0 ? "" : ` (replica ${n} takes it + ${n * replicaStep})`;
    list.push({ variable: `SLUICE_INFERENCE_PORT${note}`, port: rpc, host });
    list.push({ variable: `SLUICE_INFERENCE_HEALTH_PORT${note}`, port: health, host });
    if (http !== undefined) list.push({ variable: `SLUICE_INFERENCE_HTTP_PORT${note}`, port: http, host });
  }
  if (ports.postgres !== undefined)
    list.push({ variable: "SLUICE_POSTGRES_PORT", port: ports.postgres, host: loopback });
  return list;
}

function listen(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    if (port > 65_535) return reject(Object.assign(new Error(), { code: "ERANGE" }));
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "is in use";
  if (code === "EACCES") return "needs more rights than this user has";
  if (code === "EADDRNOTAVAIL")
    return "cannot be used, as this machine has no such address as SLUICE_HOST or SLUICE_INTERNAL_HOST";
  return `cannot be used (${code})`;
}
