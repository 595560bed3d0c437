/** An installation under attack. Requests are raw bytes, and after every case the same processes must serve a good request. */
import { expect } from "@jest/globals";
import { type Installation, type InstallationOptions, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type HttpAnswer, rawRequest, sendRaw } from "../../support/raw-http.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";

export const jsonHeader = "Content-Type: application/json";
/** Model of a provider scripted by a test; sluice/echo needs no provider. */
export const attackedModel = "acme/large-2";
/** Model of the same provider with the chat dialect. */
export const chatModel = "mart/large-2";

/** Key for the provider only. */
export const providerKey = "pk-9f1c27aa";

export class AttackedInstallation {
  readonly installation: Installation;
  readonly upstream: Upstream;
  readonly #pids: Readonly<Record<string, number>>;

  private constructor(installation: Installation, upstream: Upstream) {
    this.installation = installation;
    this.upstream = upstream;
    this.#pids = installation.pids();
  }

  static async start(options: Pick<InstallationOptions, "inferenceReplicas"> = {}): Promise<AttackedInstallation> {
    const upstream = await startUpstream([chatStream("Hello")]);
    const installation = await startInstallation({
      ...options,
      config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: twin, dialect: echo}
  - {id: acme, dialect: responses, base_url: "${upstream.url}/v1"}
  - {id: mart, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [${providerKey}]}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: ${attackedModel}, endpoints: [{provider: acme}]}
  - {id: ${chatModel}, endpoints: [{provider: mart, pricing: {prompt: "1000000", completion: "1000000"}}]}
  - id: sluice/spread
    endpoints:
      - {provider: sluice, pricing: {prompt: "1", completion: "1"}}
      - {provider: twin, pricing: {prompt: "1", completion: "1"}}
`,
    });
    return new AttackedInstallation(installation, upstream);
  }

  async stop(): Promise<void> {
    await this.installation.stop();
    await this.upstream.stop();
  }

  send(method: string, path: string, headers: readonly string[], body: string | Uint8Array = ""): Promise<HttpAnswer> {
    return sendRaw(this.installation.ports.gateway, rawRequest(method, path, headers, body));
  }

  /** Sends POST /responses with the installation's key. */
  respond(body: object | string | Uint8Array, headers: readonly string[] = [], key = this.installation.apiKey) {
    const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    return this.send("POST", "/api/v1/responses", [`Authorization: Bearer ${key}`, jsonHeader, ...headers], bytes);
  }

  /** Calls an administration operation with the management key. */
  manage(method: string, path: string, body?: unknown, key = this.installation.managementKey): Promise<HttpAnswer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.send(method, `/api/v1${path}`, [`Authorization: Bearer ${key}`, jsonHeader], text);
  }

  async makeKey(): Promise<string> {
    return (parseBody(await this.manage("POST", "/keys", { name: "made" })) as { key: string }).key;
  }

  /** Checks that the same processes still serve a request. Must be called after every case. */
  async stands(): Promise<void> {
    expect(this.installation.pids()).toEqual(this.#pids);
    let status = 503;
    // After an overload, a process may refuse requests for some time.
    await eventually(
      async () => ({ status } = await this.respond({ model: "sluice/echo", input: "x" })).status !== 503,
    );
    expect(status).toBe(200);
  }
}

export const parseBody = ({ body }: HttpAnswer): unknown => JSON.parse(body);

/** Expects the contract's error object, without internal details. */
export function expectFault(answer: HttpAnswer, status: number, message: RegExp = /./): void {
  expect([answer.status, answer.headers["content-type"]]).toEqual([status, "application/json; charset=utf-8"]);
  expect(parseBody(answer)).toMatchObject({ error: { code: status, message: expect.stringMatching(message) } });
  expect(answer.body).not.toMatch(/node_modules|\.js:|at Object|127\.0\.0\.1|ECONN|postgres|sql/i);
}
