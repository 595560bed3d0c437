/** The ports of a house, and whether they are free: a port in use is told before anything starts. */
import { type Server, createServer } from "node:net";
import type { Settings } from "./settings.ts";

export interface Ports {
  readonly gateway: number;
  readonly gateway_health: number;
  /** Of the first replica; replica n takes it + 100 n. */
  readonly inference: number;
  readonly inference_health: number;
  /** The HTTP/1.1 door; absent when nobody asked for it. */
  readonly inference_http?: number;
  readonly admin: number;
  readonly admin_health: number;
  /** Absent when the operator brings the database. */
  readonly postgres?: number;
}

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

/** The ports of each inference process. */
export function replicasOf({ inference, inference_health, inference_http }: Ports, count: number): ReplicaPorts[] {
  return Array.from({ length: count }, (_, n) => ({
    rpc: inference + n * replicaStep,
    health: inference_health + n * replicaStep,
    ...(inference_http !== undefined && { http: inference_http + n * replicaStep }),
  }));
}

/** @throws naming every port that is taken and the variable that moves it */
export async function requireFree(ports: Ports, replicas: number): Promise<void> {
  const held: Server[] = [];
  const problems: string[] = [];
  // Held until all are checked, so that two variables with the same port are found too.
  for (const [variable, port] of named(ports, replicas)) {
    try {
      held.push(await listen(port));
    } catch (error) {
      problems.push(`port ${port} ${reason(error)}: set ${variable} to another one`);
    }
  }
  for (const server of held) await new Promise((resolve) => server.close(resolve));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

function named(ports: Ports, replicas: number): [variable: string, port: number][] {
  const list: [string, number][] = [
    ["SLUICE_PORT", ports.gateway],
    ["SLUICE_ADMIN_PORT", ports.admin],
    ["SLUICE_GATEWAY_HEALTH_PORT", ports.gateway_health],
    ["SLUICE_ADMIN_HEALTH_PORT", ports.admin_health],
  ];
  for (const [n, { rpc, health, http }] of replicasOf(ports, replicas).entries()) {
    const note = n === 0 ? "" : ` (replica ${n} takes it + ${n * replicaStep})`;
    list.push([`SLUICE_INFERENCE_PORT${note}`, rpc], [`SLUICE_INFERENCE_HEALTH_PORT${note}`, health]);
    if (http !== undefined) list.push([`SLUICE_INFERENCE_HTTP_PORT${note}`, http]);
  }
  if (ports.postgres !== undefined) list.push(["SLUICE_POSTGRES_PORT", ports.postgres]);
  return list;
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    if (port > 65_535) return reject(Object.assign(new Error(), { code: "ERANGE" }));
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, exclusive: true }, () => resolve(server));
  });
}

function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "is in use";
  if (code === "EACCES") return "needs more rights than this user has";
  return `cannot be used (${code})`;
}
