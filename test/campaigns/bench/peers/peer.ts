/** Description of another gateway: its installation, its start, its requests, and its deviations. */
import type { ServerProgram } from "../running.ts";

/** Writable folder of a server, and the models it is to serve. */
export interface ServerAddress {
  readonly folder: string;
  readonly port: number;
  readonly upstreamPort: number;
  /** Names of models that the gateway must serve. */
  readonly models: readonly string[];
}

export interface ProxyProgram extends ServerProgram {
  /** Key in the requests; any value if absent. */
  readonly key?: string;
  /** Additional headers of requests to this server. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the server may send other deltas than the upstream. */
  readonly changesDeltas?: true;
}

export interface Proxy {
  /** @throws with instructions if it is not installed */
  program(place: ServerAddress): ProxyProgram;
}

/** Features for which a gateway spends time on each request. */
export const featureNames = {
  keys: "keys of clients",
  budgets: "budgets and limits",
  records: "a record of each request",
  guardrails: "guardrails",
  metrics: "metrics",
  log: "a log line of each request",
  fallback: "other endpoints when one fails",
} as const;
export type FeatureId = keyof typeof featureNames;

/** A gateway's description in the tables. */
export interface GatewayDescription {
  readonly name: string;
  readonly version: string;
  /** The production settings recommended by the gateway's documentation, as far as they affect the measurements. */
  readonly setting: string;
  readonly features: Readonly<Record<FeatureId, string>>;
}

export interface Peer extends Proxy, GatewayDescription {
  /** Installs the pinned version into an existing, empty folder. @throws with the installer's output */
  install(folder: string): Promise<void>;
}
