/** Engines whose providers are called by an identity of a cloud; its services are scripted on loopback, and the machine's own variables do not count. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, openEngine, runTestTurn } from "../../asking.ts";

const variables = /^(AWS|GOOGLE|GCE|GCLOUD|CLOUDSDK|METADATA|AZURE|IDENTITY|MSI|IMDS|HOME$|(https?|no)_proxy$)/i;

export interface CloudTest {
  readonly engine: Engine;
  readonly provider: Upstream;
  /** The cloud's service for credentials. */
  readonly issuer: Upstream;
}

/** The parts of one test: everything it opens ends with it. */
export class CloudTests {
  readonly #before = { ...process.env };
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-test-identity-"));
  readonly #upstreams: Upstream[] = [];
  readonly #engines: Engine[] = [];

  constructor() {
    for (const name of Object.keys(process.env)) if (variables.test(name)) delete process.env[name];
    // Unscripted services are unreachable, never on the network of this machine.
    const nowhere = { AWS_EC2_METADATA_DISABLED: "true", METADATA_SERVER_DETECTION: "none", HOME: this.folder };
    Object.assign(process.env, nowhere, { AWS_REGION: "eu-central-1", AZURE_TOKEN_CREDENTIALS: "prod" });
  }

  set(environment: NodeJS.ProcessEnv): void {
    Object.assign(process.env, environment);
  }

  /** @returns the path of a file with this content */
  file(name: string, content: string | object): string {
    const path = join(this.folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  async server(replies: readonly Reply[]): Promise<Upstream> {
    const upstream = await startUpstream(replies);
    this.#upstreams.push(upstream);
    return upstream;
  }

  /** @param providers their endpoints serve one model in this order */
  open(...providers: readonly { readonly id: string; readonly [setting: string]: unknown }[]): Engine {
    const endpoints = providers.map(({ id }) => ({ provider: id, upstream_model: "large-2" }));
    const engine = openEngine(testConfig({ providers, models: [{ id: "acme/large-2", endpoints }] }));
    this.#engines.push(engine);
    return engine;
  }

  async end(): Promise<void> {
    for (const engine of this.#engines) await engine.upstreams.close();
    for (const upstream of this.#upstreams) await upstream.stop();
    rmSync(this.folder, { recursive: true });
    for (const name of Object.keys(process.env)) if (!(name in this.#before)) delete process.env[name];
    Object.assign(process.env, this.#before);
  }
}

/** Requests a whole answer. */
export const requestAnswer = (engine: Engine) => runTestTurn(engine.turn, testRequest({ stream: false }));

export const hourMs = 3_600_000;
export const oneHourLater = (): string => new Date(Date.now() + hourMs).toISOString().replace(/\.\d+/, "");

/** All failure output readable for an operator or a client. */
export const failureOutput = (engine: Engine, fault: unknown): string => {
  const { message, cause, metadata } = (fault ?? {}) as { message?: string; cause?: unknown; metadata?: unknown };
  const chain = (error: unknown): unknown[] =>
    error instanceof Error ? [String(error), error.stack, ...chain(error.cause)] : [];
  return JSON.stringify([message, chain(cause), metadata, engine.warnings, engine.errors]);
};
