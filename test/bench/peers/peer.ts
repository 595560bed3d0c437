/** What the bench knows of another gateway: how it is installed, started and asked, and what it does meanwhile. */
import type { ServerProgram } from "../running.ts";

/** Where a server may write, and what it is to serve. */
export interface ServerPlace {
  readonly folder: string;
  readonly port: number;
  readonly upstreamPort: number;
  /** Names that requests will ask for. */
  readonly models: readonly string[];
}

export interface ProxyProgram extends ServerProgram {
  /** Authorization of the requests; any value when absent. */
  readonly key?: string;
  /** Headers that requests to this server carry in addition. */
  readonly headers?: Readonly<Record<string, string>>;
  /** It may send other deltas than the upstream did. */
  readonly changesDeltas?: true;
}

export interface Proxy {
  /** @throws with how to install it where it is not installed */
  program(place: ServerPlace): ProxyProgram;
}

/** What costs a gateway time on each request, as far as it does it. */
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

/** What the tables say of a gateway. */
export interface Described {
  readonly name: string;
  readonly version: string;
  /** The setting that its documentation asks for in production, as far as it changes what is measured. */
  readonly setting: string;
  readonly features: Readonly<Record<FeatureId, string>>;
}

export interface Peer extends Proxy, Described {
  /** Installs the version into a folder that exists and is empty. @throws with what the installer said */
  install(folder: string): Promise<void>;
}
