/** Services with a price, over sockets: what the turn pays, what its ledger row shows, and that nothing is sent without a budget for it. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Budgets } from "@sluice/inference-svc/models/ledger/budget.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { McpServers } from "@sluice/inference-svc/features/mcp/client.js";
import { Sandbox } from "@sluice/inference-svc/features/sandbox/client.js";
import type { HostedTool } from "@sluice/inference-svc/turn/request.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { type Call, textReply, callReply, hosted } from "../../support/tool-replies.ts";
import {
  type TestScope,
  type TurnResult,
  type Engine,
  testRequest,
  newScope,
  unlimitedBudget,
  openEngine,
  openUnlimitedMeter,
  runTestTurn,
} from "../asking.ts";
import { mcpTool } from "../features/mcp/mcp-tools.ts";

let model: Upstream;
let service: Upstream;
let engine: Engine;
let testScope: TestScope;

beforeEach(async () => {
  [model, service] = await Promise.all([startUpstream(), startUpstream()]);
  testScope = newScope();
  engine = open();
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([model.stop(), service.stop()]);
});

const price = "0.000000000007";
const timeoutMs = 400;

function open(budgets: Pick<Budgets, "reserve"> = { reserve: () => Promise.resolve(unlimitedBudget) }): Engine {
  const pricing = { request: price };
  const reached = { base_url: service.url, api_key: "k", pricing };
  return openEngine(
    configSchema.parse({
      providers: [{ id: "acme", dialect: "chat", base_url: `${model.url}/v1` }],
      models: [{ id: "acme/large-2", endpoints: [{ provider: "acme", pricing: { prompt: "1", completion: "2" } }] }],
      search: { engines: { exa: { ...reached, timeout_ms: timeoutMs, pricing: { ...pricing, page: price } } } },
      file_search: { stores: { docs: { ...reached, timeout_ms: timeoutMs } } },
      sandbox: reached,
      mcp: { servers: { crm: { url: service.url, pricing } } },
    }),
    new EndpointRecords(),
    noPackages,
    budgets,
  );
}

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });
const rpc = (id: number, result: object): Reply => json({ jsonrpc: "2.0", id, result });

interface Story {
  readonly tool: HostedTool;
  readonly call: Call;
  readonly row: object;
  /** Replies of the service before the reply to the call. */
  readonly before: readonly Reply[];
  readonly answer: Reply;
}

const page = "http://93.184.215.14/tea";
const fileTool = { type: "file_search", vector_store_ids: ["docs"] };
const stories: Readonly<Record<string, Story>> = {
  "a search": {
    tool: hosted("service:web_search"),
    call: { name: "service_web_search", args: { query: "tea" } },
    row: { operation: "search", model: "search/exa", provider: "exa" },
    before: [],
    answer: json({ results: [{ url: "https://a.test/1", title: "Tea", highlights: ["Hot."] }] }),
  },
  "a page": {
    tool: hosted("service:web_fetch", { engine: "exa" }),
    call: { name: "service_web_fetch", args: { url: page } },
    row: { operation: "fetch", model: "fetch/exa", provider: "exa" },
    before: [],
    answer: json({ results: [{ id: "1", url: page, title: "Tea", text: "Tea is hot." }], statuses: [] }),
  },
  "a file search": {
    tool: { type: "hosted", kind: "file_search", spelling: "file_search", json: JSON.stringify(fileTool) },
    call: { name: "file_search", args: { query: "tea" } },
    row: { operation: "search", model: "file_search/docs", provider: "docs" },
    before: [],
    answer: json({ data: [] }),
  },
  "a run": {
    tool: hosted("service:bash"),
    call: { name: "service_bash", args: { command: "ls" } },
    row: { operation: "sandbox", model: "sandbox", provider: "sandbox" },
    before: [],
    answer: json({ output: [{ stdout: "one", stderr: "", outcome: { type: "exit", exit_code: 0 } }] }),
  },
  "an MCP call": {
    tool: mcpTool({}),
    call: { name: "crm__echo", args: {} },
    row: { operation: "mcp", model: "mcp/crm", provider: "crm" },
    before: [
      rpc(1, { supportedVersions: ["2026-07-28"] }),
      rpc(2, { tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
    ],
    answer: rpc(3, { content: [{ type: "text", text: "hello" }] }),
  },
};

const start = ({ tool, call }: Story): Promise<TurnResult> => {
  model.script([callReply(call), textReply("Well.")]);
  return runTestTurn(engine.turn, testRequest({ tools: [tool], stream: false }), testScope);
};

/** The ledger row of the call: rows end in the order of their beginning, since the model waits for the service. */
const row = () => {
  const index = engine.opened.findIndex(({ operation }) => operation !== "turn");
  return index === -1 ? undefined : { ...engine.opened[index], ...engine.closed[index] };
};

const ledgerSum = () => engine.closed.reduce((sum, { costUsd = "0" }) => sum + parsePico(costUsd), 0n);
const cost = () => testScope.scope.trace.usage?.cost;
const total = () => {
  const { input = 0n, output = 0n, serverTools = 0n } = cost() ?? {};
  return input + output + serverTools;
};
const stage = (name: unknown) => testScope.scope.trace.stages.findLast((each) => each.name === name);

describe.each(Object.entries(stories))("the metered service %s", (_, story) => {
  const { operation } = story.row as { operation: string };

  test("is paid for an answer", async () => {
    service.script([...story.before, story.answer]);
    const { fault } = await start(story);
    expect(fault).toBeUndefined();
    expect(row()).toMatchObject({
      ...story.row,
      payer: "key",
      status: "completed",
      httpStatus: 200,
      costUsd: price,
      isEstimated: false,
    });
    expect(row()?.generationId).toBe(testScope.scope.generationId);
    expect(row()?.turnId).not.toBe(testScope.scope.turnId);
    expect([cost()?.serverTools, total()]).toEqual([7n, ledgerSum()]);
    expect(stage(operation)).toMatchObject({ type: "server_tools", cost_usd: 7e-12, data: { outcome: "answered" } });
  });

  test("is not paid for a failure", async () => {
    service.script([...story.before, { status: 503 }]);
    expect((await start(story)).fault).toBeUndefined();
    expect(row()).toMatchObject({ ...story.row, status: "failed", httpStatus: 502, isEstimated: false });
    expect(row()?.costUsd).toBeUndefined();
    expect([cost()?.serverTools, total()]).toEqual([0n, ledgerSum()]);
    expect(stage(operation)).toMatchObject({ cost_usd: 0, data: { outcome: "failed" } });
  });

  test("is paid for a call whose client has left, by an estimate", async () => {
    service.script([...story.before, { hang: true }]);
    const ending = start(story);
    for (let left = story.before.length; left >= 0; left--) await service.nextRequest();
    testScope.abort.abort(new Error("left"));
    expect((await ending).fault).toBeDefined();
    expect(row()).toMatchObject({
      ...story.row,
      status: "cancelled",
      httpStatus: 499,
      costUsd: price,
      isEstimated: true,
    });
    expect(total()).toBe(ledgerSum());
  });

  test("gets no call without a budget, and the model gets the reason", async () => {
    const says = "Insufficient credits: the budget of this key, 1 USD, is spent";
    const refused = new Fault(FaultReason.PAYMENT_REQUIRED, says);
    const reserve = (_scope: unknown, amount: bigint) =>
      amount === 7n ? Promise.reject(refused) : Promise.resolve(unlimitedBudget);
    await engine.upstreams.close();
    engine = open({ reserve });
    testScope = newScope({ hasBudget: true });
    service.script([...story.before, story.answer]);
    expect((await start(story)).fault).toBeUndefined();
    expect(service.requests.length).toBe(story.before.length);
    expect(row()).toBeUndefined();
    const messages = model.requests.at(-1)?.json["messages"] as { role: string; content: string }[];
    expect(messages.find(({ role }) => role === "tool")?.content).toBe(JSON.stringify({ error: says }));
    expect([cost()?.serverTools, total()]).toEqual([0n, ledgerSum()]);
  });
});

/** The reply takes longer than the service's limit, or never ends. */
const endless: Readonly<Record<string, Reply>> = {
  silence: { hang: true },
  "an answer of a million values": { chunks: [{ bytes: Buffer.from("[],".repeat(250_000)), repeat: 4 }] },
  "an answer of 5 MiB": { chunks: [{ bytes: Buffer.alloc(1024 * 1024, "x"), repeat: 5 }] },
};

describe.each(["a search", "a page", "a file search"])("an uncertain call of the metered service %s", (name) => {
  test.each(Object.entries(endless))("with %s is paid for, by an estimate", async (_, reply) => {
    const story = stories[name] as Story;
    service.script([reply]);
    expect((await start(story)).fault).toBeUndefined();
    expect(row()).toMatchObject({ ...story.row, status: "failed", costUsd: price, isEstimated: true });
    expect([cost()?.serverTools, total()]).toEqual([7n, ledgerSum()]);
  });
});

test("a sandbox run without an answer in time is paid for, by an estimate", async () => {
  service.script([{ hang: true }]);
  const settings = { base_url: service.url, api_key: "k", pricing: { request: price } };
  const log = { warn: () => {} };
  const parts = { version: "0", watch: () => () => {}, meter: openUnlimitedMeter(), now: () => performance.now(), log };
  const sandbox = new Sandbox(settings, parts);
  const container = { tenant: "t", id: "c", networkPolicy: undefined, memoryLimit: undefined, sleepAfterSeconds: 1 };
  const caller = { scope: testScope.scope, signal: testScope.scope.signal };
  const running = sandbox.run(container, { language: "shell", commands: ["ls"], timeoutMs: 1 }, caller);
  await expect(running).rejects.toThrow("the sandbox does not answer");
  expect(testScope.scope.trace.usage).toMatchObject({ estimated: true, cost: { serverTools: 7n } });
  await sandbox.close();
});

test("an MCP call without an answer in time is paid for, by an estimate", async () => {
  service.script([rpc(1, { supportedVersions: ["2026-07-28"] }), { hang: true }]);
  const settings = configSchema.parse({
    providers: [],
    models: [],
    mcp: { servers: { crm: { url: service.url, pricing: { request: price } } } },
  }).mcp;
  const parts = { version: "0", watch: () => () => {}, meter: openUnlimitedMeter(), log: { warn: () => {} } };
  const servers = new McpServers(settings, { ...parts, resolve: () => Promise.resolve(["127.0.0.1"]) });
  const address = servers.find("crm");
  if (address === undefined) throw new Error("not found");
  const session = servers.open(address);
  const { signal } = testScope.scope;
  const call = servers.call(address, { scope: testScope.scope, signal }, (onSent) =>
    session.request("tools/call", { name: '"echo"' }, { signal, limitMs: 1_000, onSent }),
  );
  await expect(call).rejects.toThrow("no answer in 1 s");
  expect(testScope.scope.trace.usage).toMatchObject({ estimated: true, cost: { serverTools: 7n } });
  session.close();
});
