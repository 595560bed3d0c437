/** Services with a price, over HTTP: a response costs the sum of its ledger rows, and a key never pays more than its budget. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { type ProviderCall, fetchGeneration } from "../../support/providers/generation.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { textReply, callReply } from "../../support/tool-replies.ts";

let model: Upstream;
let engine: Upstream;
let store: Upstream;
let sandbox: Upstream;
let crm: Upstream;
let installation: Installation;

beforeAll(async () => {
  [model, engine, store, sandbox, crm] = await Promise.all([
    startUpstream(),
    startUpstream(),
    startUpstream(),
    startUpstream(),
    startUpstream(),
  ]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${model.url}/v1"}
models:
  - {id: acme/one, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
search: {engines: {exa: {api_key: k, base_url: "${engine.url}", pricing: {request: "0.005", page: "0.001"}}}}
file_search: {stores: {docs: {base_url: "${store.url}", pricing: {request: "0.0025"}}}}
sandbox: {base_url: "${sandbox.url}", api_key: k, pricing: {request: "0.03"}}
mcp: {servers: {crm: {url: "${crm.url}/mcp", pricing: {request: "0.000000000001"}}}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([model, engine, store, sandbox, crm].map((each) => each?.stop()));
});

const post = (body: object, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/one", input: "Tea?", ...body }),
  });

interface Told {
  readonly usage: { readonly cost: number; readonly cost_details: { readonly server_tool_cost?: number } };
  readonly service_metadata: { readonly pipeline: readonly Readonly<Record<string, unknown>>[] };
}

const json = (value: unknown): Reply => ({ chunks: [{ json: value }] });
const found = json({ results: [{ url: "https://a.test/1", title: "Tea", highlights: ["Hot."] }] });
const page = "http://93.184.215.14/tea";
const read = json({ results: [{ url: page, title: "Tea", text: "Tea is hot." }], statuses: [] });

test("a response with paid services costs the sum of their rows, to the last digit", async () => {
  model.script([
    callReply({ id: "c1", name: "service_web_search", args: { query: "tea" } }),
    callReply({ id: "c2", name: "service_web_fetch", args: { url: page } }),
    callReply({ id: "c3", name: "file_search", args: { query: "tea" } }),
    callReply({ id: "c4", name: "service_bash", args: { command: "ls" } }),
    callReply({ id: "c5", name: "crm__echo", args: {} }),
    textReply("Hot."),
  ]);
  engine.script([found, read]);
  store.script([json({ data: [] })]);
  sandbox.script([json({ output: [{ stdout: "one", stderr: "", outcome: { type: "exit", exit_code: 0 } }] })]);
  const rpc = (id: number, result: object): Reply => json({ jsonrpc: "2.0", id, result });
  crm.script([
    rpc(1, { supportedVersions: ["2026-07-28"] }),
    rpc(2, { tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
    rpc(3, { content: [{ type: "text", text: "hello" }] }),
  ]);
  const tools = [
    { type: "service:web_search" },
    { type: "service:web_fetch", parameters: { engine: "exa" } },
    { type: "file_search", vector_store_ids: ["docs"] },
    { type: "service:bash" },
    { type: "mcp", server_label: "crm", require_approval: "never" },
  ];
  const response = await post({ tools });
  const body = (await response.json()) as Told;
  expect(response.status).toBe(200);
  expect(body.usage.cost_details.server_tool_cost).toBe(0.038500000001);
  const isPriced = ({ cost_usd: cost }: Readonly<Record<string, unknown>>) => cost !== undefined;
  expect(body.service_metadata.pipeline.filter(isPriced)).toMatchObject([
    { type: "server_tools", name: "search", cost_usd: 0.005, data: { service: "exa", outcome: "answered" } },
    { type: "server_tools", name: "fetch", cost_usd: 0.001, data: { service: "exa" } },
    { type: "server_tools", name: "search", cost_usd: 0.0025, data: { service: "docs" } },
    { type: "server_tools", name: "sandbox", cost_usd: 0.03, data: { service: "sandbox" } },
    { type: "server_tools", name: "mcp", cost_usd: 1e-12, data: { service: "crm" } },
  ]);
  const isWhole = (calls: readonly ProviderCall[]) => calls.length === 11;
  const { total_cost: cost, provider_responses: calls } = await fetchGeneration(installation, response, { isWhole });
  expect(cost).toBe(body.usage.cost);
  expect([...new Set(calls.map(({ provider_name: name }) => name))].toSorted()).toEqual([
    "acme",
    "crm",
    "docs",
    "exa",
    "sandbox",
  ]);
  const paid = samplesOf(await scrape(installation)).filter(({ name }) => name === "sluice_cost_usd_total");
  expect(paid.find(({ labels }) => labels["operation"] === "sandbox")).toMatchObject({
    value: 0.03,
    labels: { model: "sandbox", provider: "sandbox", payer: "key" },
  });
});

test("a search by the web plugin is paid for, and refused when the budget has no room for it", async () => {
  const { stdout } = await installation.admin("keys", "create", "--name", "searching", "--limit", "0.0099", "--json");
  const { key, hash } = JSON.parse(stdout) as { readonly key: string; readonly hash: string };
  model.script([textReply("Hot.")]);
  engine.script([found]);
  const plugins = [{ id: "web", engine: "exa" }];
  const body = { plugins, max_output_tokens: 16 };
  const first = await post(body, key);
  expect(first.status).toBe(200);
  const { usage } = (await first.json()) as Told;
  expect(usage.cost_details.server_tool_cost).toBe(0.005);
  const spent = async () => {
    const shown = await fetch(`${installation.baseUrl}/keys/${hash}`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    return ((await shown.json()) as { readonly data: { readonly usage: number } }).data.usage;
  };
  await eventually(async () => (await spent()) === usage.cost);
  const sent = engine.requests.length;
  const second = await post(body, key);
  expect([second.status, engine.requests.length]).toEqual([402, sent]);
  expect(await second.text()).toContain("Insufficient credits");
  model.script([callReply({ name: "service_web_search", args: { query: "tea" } }), textReply("I cannot know.")]);
  const third = await post({ tools: [{ type: "service:web_search" }], max_output_tokens: 16 }, key);
  expect([third.status, engine.requests.length]).toEqual([200, sent]);
  expect(model.requests.at(-1)?.body).toContain("Insufficient credits");
});
