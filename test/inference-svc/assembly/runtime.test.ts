/** State that survives a reload of the configuration file, and state that does not. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { CallLedger } from "@sluice/inference-svc/models/ledger/ledger.js";
import type { Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import { DocumentReaders } from "@sluice/inference-svc/content/files/documents/readers.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { CurrentConfig } from "@sluice/inference-svc/engine/current-config.js";
import { Runtime } from "@sluice/inference-svc/assembly/runtime.js";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import { testRequest, testConfig, unlimitedBudget, runTestTurn } from "../asking.ts";

describe("a replaced configuration file", () => {
  let upstream: Upstream;
  let records: EndpointRecords;
  let config: CurrentConfig;
  let runtime: Runtime;

  const file = (changes: { apiKey?: string; prompt?: string; tier?: string; second?: boolean } = {}) => {
    const { apiKey = "k1", prompt = "1", tier = "default", second = false } = changes;
    const endpoints = [{ provider: "acme", tier, pricing: { prompt, completion: "4" } }];
    return testConfig({
      providers: [{ id: "acme", dialect: "chat", base_url: `${upstream.url}/v1`, api_keys: [apiKey] }],
      models: [{ id: "acme/large-2", endpoints }, ...(second ? [{ id: "acme/more", endpoints }] : [])],
    });
  };
  const endpoint = (): Endpoint => config.catalog.find("acme/large-2")?.model.endpoints[0] as Endpoint;

  const log = { info: () => {}, warn: () => {}, error: () => {} };

  beforeAll(async () => {
    upstream = await startUpstream([chatStream("Hello")]);
  });
  beforeEach(async () => {
    await runtime?.close();
    records = new EndpointRecords();
    const ledger: CallLedger = {
      open: (_, __, onStarted) => {
        queueMicrotask(() => onStarted(undefined));
        return { span: undefined, note: () => {}, close: () => {} };
      },
    };
    const budgets = { reserve: () => Promise.resolve(unlimitedBudget), begin: () => () => {} };
    const watchDetector = () => () => {};
    const watchWeb = () => () => {};
    const watchSandbox = () => () => {};
    const watchMcp = () => () => {};
    const documents = new DocumentReaders();
    config = new CurrentConfig(file());
    runtime = new Runtime(
      {
        version: "0.0.0",
        records,
        ledger,
        budgets,
        documents,
        watchDetector,
        watchWeb,
        watchSandbox,
        watchMcp,
        secret: "s".repeat(32),
        log,
      },
      config,
    );
  });
  afterAll(async () => {
    await runtime.close();
    await upstream.stop();
  });

  async function runRequest(model = "acme/large-2"): Promise<void> {
    const { fault } = await runTestTurn(runtime.turn, testRequest({ models: [model] }));
    expect(fault).toBeUndefined();
  }

  test("keeps the connections of a provider with unchanged settings", async () => {
    await runRequest();
    await eventually(() => upstream.openSockets === 1);
    runtime.replace(file({ second: true, prompt: "2" }));
    await runRequest("acme/more");
    expect(upstream.openSockets).toBe(1);
    expect(upstream.requests.at(-1)?.headers.authorization).toBe("Bearer k1");
  });

  test("closes the connections of a changed provider, and sends its new key", async () => {
    await runRequest();
    await eventually(() => upstream.openSockets === 1);
    runtime.replace(file({ apiKey: "k2" }));
    await eventually(() => upstream.openSockets === 0);
    await runRequest();
    expect(upstream.requests.at(-1)?.headers.authorization).toBe("Bearer k2");
  });

  test.each<[string, Parameters<typeof file>[0], boolean]>([
    ["another price", { prompt: "2" }, true],
    ["another model beside it", { second: true }, true],
    ["another key of its provider", { apiKey: "k2" }, false],
    ["another tier", { tier: "priority" }, false],
  ])("with %s keeps the endpoint's measurements: %j %p", (_, changes, kept) => {
    const record = records.get(endpoint());
    runtime.replace(file(changes));
    expect(records.find(endpoint()) === record).toBe(kept);
  });
});
