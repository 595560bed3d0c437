/** Description of another gateway: its installation, start, requests and quirks. */
import type { ServerProgram } from "../running.ts";

/** Writable folder of a server, and the models it is to serve. */
export interface ServerAddress {
  readonly folder: string;
  readonly port: number;
  readonly upstreamPort: number;
  /** Model names used in requests. */
  readonly models: readonly string[];
}

export interface ProxyProgram extends ServerProgram {
  /** Authorization of the requests; any value when absent. */
  readonly key?: string;
  /** Additional headers of requests to this server. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The server may send other deltas than the upstream. */
  readonly changesDeltas?: true;
}

export interface Proxy {
  /** @throws with how to install it where it is not installed */
  program(place: ServerAddress): ProxyProgram;
}

/** Features that cost a gateway time on each request. */
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
  /** The production setting recommended by its documentation, as far as it affects the measurements. */
  readonly setting: string;
  readonly features: Readonly<Record<FeatureId, string>>;
}

export interface Peer extends Proxy, GatewayDescription {
  /** Installs the version into an existing, empty folder. @throws with the installer's output */
  install(folder: string): Promise<void>;
}
