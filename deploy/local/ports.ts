/** The ports of a house, and whether they are free: a port in use is told before anything starts. */
import { type Server, createServer } from "node:net";
import type { Settings } from "./settings.ts";

export interface InferencePorts {
  readonly rpc: number;
  readonly health: number;
  readonly http?: number;
}

export interface Ports {
  readonly gateway: number;
  readonly gateway_health: number;
  readonly admin: number;
  readonly admin_health: number;
  /** One entry a replica. */
  readonly inference: readonly InferencePorts[];
  /** Absent when the operator brings the database. */
  readonly postgres?: number;
}

/** Replica n takes the ports of the first + 100 n. */
const replicaStep = 100;

export function portsOf(settings: Settings): Ports {
  const http = settings.SLUICE_INFERENCE_HTTP_PORT;
  const replicas = Array.from({ length: settings.SLUICE_INFERENCE_REPLICAS }, (_, n) => n * replicaStep);
  return {
    gateway: settings.SLUICE_PORT,
    gateway_health: settings.SLUICE_GATEWAY_HEALTH_PORT,
    admin: settings.SLUICE_ADMIN_PORT,
    admin_health: settings.SLUICE_ADMIN_HEALTH_PORT,
    inference: replicas.map((offset) => ({
      rpc: settings.SLUICE_INFERENCE_PORT + offset,
      health: settings.SLUICE_INFERENCE_HEALTH_PORT + offset,
      ...(http !== undefined && { http: http + offset }),
    })),
    ...(settings.DATABASE_URL === undefined && { postgres: settings.SLUICE_POSTGRES_PORT }),
  };
}

/** @throws naming every port that is taken and the variable that moves it */
export async function requireFree(ports: Ports): Promise<void> {
  const held: Server[] = [];
  const problems: string[] = [];
  // Held until all are checked, so that two variables with the same port are found too.
  for (const [variable, port] of named(ports)) {
    try {
      held.push(await listen(port));
    } catch (error) {
      problems.push(`port ${port} ${reason(error)}: set ${variable} to another one`);
    }
  }
  for (const server of held) await new Promise((resolve) => server.close(resolve));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

function named(ports: Ports): [variable: string, port: number][] {
  return [
    ["SLUICE_PORT", ports.gateway],
    ["SLUICE_ADMIN_PORT", ports.admin],
    ...inference("SLUICE_INFERENCE_PORT", ports, ({ rpc }) => rpc),
    ...inference("SLUICE_INFERENCE_HTTP_PORT", ports, ({ http }) => http),
    ["SLUICE_GATEWAY_HEALTH_PORT", ports.gateway_health],
    ["SLUICE_ADMIN_HEALTH_PORT", ports.admin_health],
    ...inference("SLUICE_INFERENCE_HEALTH_PORT", ports, ({ health }) => health),
    ...(ports.postgres === undefined ? [] : ([["SLUICE_POSTGRES_PORT", ports.postgres]] as [string, number][])),
  ];
}

function inference(
  variable: string,
  ports: Ports,
  pick: (replica: InferencePorts) => number | undefined,
): [string, number][] {
  return ports.inference.flatMap((replica, n) => {
    const port = pick(replica);
    if (port === undefined) return [];
    return [[n === 0 ? variable : `${variable} (replica ${n} takes it + ${n * replicaStep})`, port]];
  });
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
