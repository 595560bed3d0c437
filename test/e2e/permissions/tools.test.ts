/** Permissions for plugins, tools, MCP servers, vector stores, sandbox and search engines, over HTTP with two inference processes. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type McpService, startSessionServer } from "../../support/providers/mcp-servers.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { callReply, textReply } from "../../support/tool-replies.ts";
import { type Permissions, administer, newKey } from "./keys.ts";

let upstream: Upstream;
let server: McpService;
let installation: Installation;

beforeAll(async () => {
  [upstream, server] = await Promise.all([startUpstream(), startSessionServer()]);
  installation = await startInstallation({
    inferenceReplicas: 2,
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: native, dialect: responses, base_url: "${upstream.url}/v1"}
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/native, endpoints: [{provider: native}]}
  - {id: acme/claude, endpoints: [{provider: claude}]}
  - {id: acme/outer, endpoints: [{provider: acme}]}
  - {id: "acme/outer-live:online", endpoints: [{provider: acme}]}
  - {id: acme/other, endpoints: [{provider: acme}]}
  - {id: acme/painter, output_modalities: [image], endpoints: [{provider: acme}]}
internal_models: {advisor: {model: acme/other}, image: {model: acme/painter}}
mcp: {allow: ["${new URL(server.url).origin}"], servers: {own: {url: "${server.url}"}}}
file_search: {stores: {handbook: {base_url: "${upstream.url}/v1"}, contracts: {base_url: "${upstream.url}/v1"}}}
sandbox: {base_url: "${upstream.url}", api_key: k}
search: {engines: {searxng: {base_url: "${upstream.url}"}, tavily: {api_key: k}}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([upstream?.stop(), server?.stop()]);
});

const keyWith = async (permissions: Permissions) => (await newKey(installation, { permissions })).key;

const post = (key: string, path: string, body: object) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/outer", ...body }),
  });

const ask = (key: string, body: object, path = "/responses") => post(key, path, { input: "Hi", ...body });

const mcp = (fields: object = {}) => ({ type: "mcp", server_label: "own", require_approval: "never", ...fields });
const subagent = (parameters: object) => ({ type: "service:subagent", parameters });
const user = { type: "message", role: "user", content: "Hi" };
/** An input in which a search of the client has found the tools. */
const foundByClient = (...tools: readonly object[]) => [
  user,
  { type: "tool_search_call", call_id: "call_1", arguments: { query: "q" }, execution: "client" },
  { type: "tool_search_output", call_id: "call_1", tools, execution: "client" },
];
const parameters = { type: "object", properties: {} };
/** A function in Anthropic's own form. */
const typed = (anthropic: object) => ({ type: "function", name: "look", parameters, anthropic_tool: anthropic });
const typedSearch = typed({ type: "web_search_20250305", name: "web_search" });
const panel = { analysis_models: ["acme/other"], model: "acme/outer" };

const refusals: readonly (readonly [what: string, Permissions, body: object, list: string, value: string])[] = [
  [
    "a server tool",
    { server_tools: ["datetime"] },
    { tools: [{ type: "service:web_fetch" }] },
    "server_tools",
    "web_fetch",
  ],
  [
    "a server tool brought by an item",
    { server_tools: [] },
    { input: [user, { type: "additional_tools", role: "developer", tools: [{ type: "service:datetime" }] }] },
    "server_tools",
    "datetime",
  ],
  [
    "a server tool found by the client's own search",
    { server_tools: [] },
    { input: foundByClient({ type: "service:datetime" }) },
    "server_tools",
    "datetime",
  ],
  [
    "a search found by the client's own search, at a provider that has one",
    { server_tools: [] },
    { model: "acme/claude", input: foundByClient({ type: "web_search" }) },
    "server_tools",
    "web_search",
  ],
  [
    "the search of a provider found by the client's own search",
    { search_engines: [] },
    { model: "acme/native", input: foundByClient({ type: "web_search" }) },
    "search_engines",
    "searxng",
  ],
  [
    "an MCP server found by the client's own search",
    { mcp_servers: ["crm"] },
    { model: "acme/native", input: foundByClient(mcp()) },
    "mcp_servers",
    "own",
  ],
  ...(
    [
      ["search", { server_tools: [] }, { type: "web_search_20250305", name: "web_search" }, "web_search"],
      ["fetch", { server_tools: ["web_search"] }, { type: "web_fetch_20250910", name: "web_fetch" }, "web_fetch"],
      ["code execution", { server_tools: ["web_*"] }, { type: "code_execution_20250825" }, "code_interpreter"],
      ["MCP tools", { server_tools: ["web_*"] }, { type: "mcp_toolset", mcp_server_name: "crm" }, "mcp"],
      ["later tools", { server_tools: ["web_*"] }, { type: "later_20290101", name: "later" }, "later"],
    ] as const
  ).map(
    ([what, permissions, tool, value]) =>
      [
        `Anthropic's ${what} in a function`,
        permissions,
        { model: "acme/claude", tools: [typed(tool)] },
        "server_tools",
        value,
      ] as const,
  ),
  [
    "Anthropic's search in a function, as an engine",
    { search_engines: ["tavily"] },
    { model: "acme/claude", tools: [typedSearch] },
    "search_engines",
    "native",
  ],
  [
    "Anthropic's search in a namespace",
    { server_tools: [] },
    { model: "acme/claude", tools: [{ type: "namespace", name: "all", description: "All", tools: [typedSearch] }] },
    "server_tools",
    "web_search",
  ],
  [
    "Anthropic's code execution in a function",
    { sandbox: [] },
    { model: "acme/claude", tools: [typed({ type: "code_execution_20250825", name: "code_execution" })] },
    "sandbox",
    "code_interpreter",
  ],
  [
    "a part of an MCP server to Anthropic",
    { mcp_servers: ["crm/read_*"] },
    { model: "acme/claude", tools: [typed({ type: "mcp_toolset", mcp_server_name: "crm" })] },
    "mcp_servers",
    "crm",
  ],
  [
    "another of Anthropic's tools as the version of an allowed one",
    { server_tools: ["code_interpreter"] },
    {
      model: "acme/claude",
      tools: [{ type: "code_interpreter", container: { type: "auto" }, anthropic_type: "web_search_20250305" }],
    },
    "server_tools",
    "web_search",
  ],
  [
    "a tool of a subagent",
    { server_tools: ["subagent"] },
    { tools: [subagent({ tools: [{ type: "service:datetime" }] })] },
    "server_tools",
    "datetime",
  ],
  [
    "a model of a subagent",
    { models: ["acme/outer"] },
    { tools: [subagent({ model: "acme/other" })] },
    "models",
    "acme/other",
  ],
  [
    "the model of an advisor",
    { models: ["acme/outer"] },
    { tools: [{ type: "service:advisor" }] },
    "models",
    "acme/other",
  ],
  [
    "a model that makes images",
    { models: ["acme/outer"] },
    { tools: [{ type: "image_generation" }] },
    "models",
    "acme/painter",
  ],
  [
    "the panel of the tool fusion",
    { models: ["acme/outer"] },
    { tools: [{ type: "service:fusion", parameters: { analysis_models: ["acme/other"], model: "acme/outer" } }] },
    "models",
    "acme/other",
  ],
  [
    "a tool that the tool fusion names",
    { server_tools: ["fusion"] },
    { tools: [{ type: "service:fusion", parameters: { ...panel, tools: [{ type: "service:datetime" }] } }] },
    "server_tools",
    "datetime",
  ],
  [
    "a tool that the plugin fusion names",
    { server_tools: [] },
    { model: "service/fusion", plugins: [{ id: "fusion", ...panel, tools: [{ type: "service:datetime" }] }] },
    "server_tools",
    "datetime",
  ],
  [
    "a model of a provider that makes images",
    { models: ["acme/native"] },
    { model: "acme/native", tools: [{ type: "image_generation", model: "gpt-image-1" }] },
    "models",
    "gpt-image-1",
  ],
  ["an MCP server", { mcp_servers: ["crm"] }, { tools: [mcp()] }, "mcp_servers", "own"],
  ["any MCP server", { server_tools: ["datetime"] }, { tools: [mcp()] }, "server_tools", "mcp"],
  [
    "a tool of an MCP server",
    { mcp_servers: ["own/echo"] },
    { tools: [mcp({ allowed_tools: ["echo", "slow"] })] },
    "mcp_servers",
    "own/slow",
  ],
  [
    "a tool of an MCP server by a filter",
    { mcp_servers: ["o*/e*"] },
    { tools: [mcp({ allowed_tools: { tool_names: ["slow"] } })] },
    "mcp_servers",
    "own/slow",
  ],
  [
    "a vector store",
    { vector_stores: ["handbook"] },
    { tools: [{ type: "file_search", vector_store_ids: ["handbook", "contracts"] }] },
    "vector_stores",
    "contracts",
  ],
  [
    "code in the sandbox",
    { sandbox: ["shell"] },
    { tools: [{ type: "code_interpreter", container: { type: "auto" } }] },
    "sandbox",
    "code_interpreter",
  ],
  [
    "a named search engine",
    { search_engines: ["tavily"] },
    { tools: [{ type: "service:web_search", parameters: { engine: "searxng" } }] },
    "search_engines",
    "searxng",
  ],
  [
    "the search engine in parameters beside another",
    { search_engines: ["searxng"] },
    { tools: [{ type: "service:web_search", engine: "searxng", parameters: { engine: "tavily" } }] },
    "search_engines",
    "tavily",
  ],
  [
    "the search engine beside another in parameters",
    { search_engines: ["searxng"] },
    { tools: [{ type: "web_search", engine: "tavily", parameters: { engine: "searxng" } }] },
    "search_engines",
    "tavily",
  ],
  [
    "the engine that reads pages beside another",
    { search_engines: ["searxng"] },
    { tools: [{ type: "service:web_fetch", engine: "service", parameters: { engine: "exa" } }] },
    "search_engines",
    "exa",
  ],
  [
    "the search of a provider",
    { search_engines: ["tavily"] },
    { model: "acme/native", tools: [{ type: "service:web_search", parameters: { engine: "native" } }] },
    "search_engines",
    "native",
  ],
  [
    "a search brought by an item, at a provider that has one",
    { search_engines: ["exa"] },
    {
      model: "acme/native",
      input: [user, { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] }],
    },
    "search_engines",
    "searxng",
  ],
  ["every search engine", { search_engines: [] }, { tools: [{ type: "web_search" }] }, "search_engines", "searxng"],
  [
    "the engines of a plugin",
    { search_engines: ["native"] },
    { plugins: [{ id: "web", engine: "tavily" }] },
    "search_engines",
    "tavily",
  ],
  ["the default engine of a plugin", { search_engines: [] }, { plugins: [{ id: "web" }] }, "search_engines", "searxng"],
  ["a plugin", { plugins: ["web"] }, { plugins: [{ id: "response-healing" }] }, "plugins", "response-healing"],
  ["a variant with a plugin", { plugins: [] }, { model: "acme/outer:online" }, "plugins", "web"],
  ["a router", { plugins: ["web"] }, { model: "service/auto" }, "plugins", "auto-router"],
];

describe("a key with permission lists for tools and plugins", () => {
  test.each(refusals)("is refused %s, in a turn and in a dry run", async (_, permissions, body, list, value) => {
    const key = await keyWith(permissions);
    const before = [upstream.requests.length, server.requests.length];
    for (const path of ["/responses", "/responses/dry-run"]) {
      const answer = await ask(key, body, path);
      const { error } = (await answer.json()) as { error: object };
      expect([path, answer.status, error]).toEqual([
        path,
        403,
        expect.objectContaining({
          message: expect.stringMatching(new RegExp(`^This key may not use .* ${value} \\(permissions\\.${list}\\)$`)),
          metadata: { error_type: "permission_denied", permission: `permissions.${list}`, value },
        }),
      ]);
    }
    expect([upstream.requests.length, server.requests.length]).toEqual(before);
  });

  test("is refused an MCP server by its address, whose origin is its name", async () => {
    const { origin } = new URL(server.url);
    const body = { tools: [mcp({ server_url: server.url })] };
    const refused = await ask(await keyWith({ mcp_servers: ["own"] }), body, "/responses/dry-run");
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining(`MCP server ${origin} `)]);
    expect((await ask(await keyWith({ mcp_servers: [origin] }), body, "/responses/dry-run")).status).toBe(200);
  });

  test("may use the tools and plugins of its lists", async () => {
    const key = await keyWith({
      server_tools: ["file_search", "code_interpreter", "web_search", "mcp", "datetime"],
      vector_stores: ["hand*"],
      sandbox: ["code_interpreter"],
      search_engines: ["tavily"],
      mcp_servers: ["own"],
      plugins: ["response-healing", "web"],
    });
    const tools = [
      { type: "file_search", vector_store_ids: ["handbook"] },
      { type: "code_interpreter", container: { type: "auto" } },
      { type: "web_search" },
      { type: "service:datetime" },
      mcp(),
    ];
    const plugins = [{ id: "response-healing" }, { id: "web" }];
    const answer = await ask(key, { tools, plugins }, "/responses/dry-run");
    const receipt = await answer.text();
    // The default engine is not allowed, so the other engine is used.
    expect([answer.status, /"engine":"(\w+)"/.exec(receipt)?.[1]]).toEqual([200, "tavily"]);
  });

  test("is not sent to a provider that could use more tools than its lists allow", async () => {
    const { origin } = new URL(server.url);
    const tools = [{ type: "web_search" }, mcp({ server_url: server.url })];
    const typesFor = async (permissions: Permissions) => {
      const body = { model: "acme/native", tools, debug: { echo_upstream_body: true } };
      const answer = await ask(await keyWith(permissions), body, "/responses/dry-run");
      const { upstream_body: sent } = (await answer.json()) as { upstream_body?: { tools: { type: string }[] } };
      return sent?.tools.map(({ type }) => type);
    };
    expect(await typesFor({ search_engines: ["*"], mcp_servers: [origin] })).toEqual(["web_search", "mcp"]);
    expect(await typesFor({ search_engines: ["tavily"], mcp_servers: [`${origin}/echo`] })).toEqual([
      "function",
      "function",
    ]);
  });

  test("may use tools of the client, whatever its lists", async () => {
    const key = await keyWith({ server_tools: [], sandbox: [], plugins: [] });
    const tools = [
      { type: "function", name: "look", parameters },
      ...["bash_20250124", "text_editor_20250728", "computer_20250124", "memory_20250818", "custom"].map((type) => ({
        ...typed({ type }),
        name: type,
      })),
      { type: "local_shell" },
      { type: "apply_patch" },
    ];
    const input = foundByClient({ type: "function", name: "find", parameters });
    const answer = await ask(key, { tools, input }, "/responses/dry-run");
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
  });

  test("offers a model only the allowed tools of an MCP server, also from a list sent back by the client", async () => {
    const key = await keyWith({ mcp_servers: ["own/echo"] });
    upstream.script([callReply({ name: "own__slow", args: {} }), textReply("No.")]);
    await ask(key, { tools: [mcp()] });
    expect(server.asked()).not.toContain("tools/call");
    const sent = JSON.stringify(upstream.requests.at(-1)?.json);
    expect([sent.includes('"own__echo"'), /"function":\{[^}]*"own__slow"/.test(sent)]).toEqual([true, false]);
    const list = {
      type: "mcp_list_tools",
      id: "mcpl_1",
      server_label: "own",
      tools: [{ name: "slow", input_schema: {} }],
    };
    upstream.script([callReply({ name: "own__slow", args: {} }), textReply("No.")]);
    await ask(key, { input: [user, list, user], tools: [mcp()] });
    expect(server.asked()).not.toContain("tools/call");
  });

  test("may use a model whose own name ends like the variant of a plugin", async () => {
    const body = { model: "acme/outer-live:online" };
    expect((await ask(await keyWith({ plugins: [] }), body, "/responses/dry-run")).status).toBe(200);
  });

  test("is served by the models of a fusion without the usual tools that it may not use", async () => {
    const analysis = { consensus: [], contradictions: [], partial_coverage: [], unique_insights: [], blind_spots: [] };
    const answers = [textReply("A part."), textReply(JSON.stringify(analysis)), textReply("The whole.")];
    const fusion = expect.objectContaining({ type: "service:fusion", status: "completed", failed_models: [] });
    const outputFor = async (permissions: Permissions, body: object) => {
      const answer = await ask(await keyWith(permissions), body);
      return ((await answer.json()) as { output?: object[] }).output;
    };
    upstream.script([callReply({ name: "service_fusion", args: {} }), ...answers]);
    const tools = [{ type: "service:fusion", parameters: panel }];
    expect(await outputFor({ server_tools: ["fusion"] }, { tools })).toContainEqual(fusion);
    const plugins = [{ id: "fusion", ...panel }];
    for (const permissions of [{ server_tools: [] }, { search_engines: [] }]) {
      upstream.script(answers);
      expect(await outputFor(permissions, { model: "service/fusion", plugins })).toContainEqual(fusion);
    }
  });

  test.each<[string, object]>([
    ["/chat/completions", { messages: [user], web_search_options: {} }],
    [
      "/chat/completions",
      {
        messages: [user],
        tools: [{ type: "function", function: { ...typedSearch, type: undefined } }],
      },
    ],
    [
      "/messages",
      {
        messages: [{ role: "user", content: "Hi" }],
        max_tokens: 9,
        tools: [{ type: "web_search_20250305", name: "web_search" }],
      },
    ],
  ])("is refused the search of %s, in the format of this door", async (path, body) => {
    const answer = await post(await keyWith({ server_tools: ["datetime"] }), path, body);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("(permissions.server_tools)")]);
  });

  test("is refused a forbidden tool over a WebSocket", async () => {
    const headers = { authorization: `Bearer ${await keyWith({ server_tools: [] })}` };
    const client = new SocketClient(installation.ports.gateway, headers);
    await once(client.socket, "open");
    const events = await client.ask({ model: "acme/outer", input: "Hi", tools: [{ type: "service:datetime" }] });
    expect(events.at(-1)).toMatchObject({ type: "error", status: 403 });
    client.socket.close();
  });
});

test("a change of tool permissions is in force on the next request in every process", async () => {
  const { key, hash } = await newKey(installation, { permissions: { server_tools: ["*"] } });
  const statuses = () =>
    Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const body = { tools: [{ type: "service:datetime" }], session_id: `session-${index}` };
        return (await ask(key, body, "/responses/dry-run")).status;
      }),
    );
  expect(new Set(await statuses())).toEqual(new Set([200]));
  for (const [server_tools, status] of [
    [[], 403],
    [["datetime"], 200],
    [["web_*"], 403],
  ] as const) {
    await administer(installation, "PATCH", `/keys/${hash}`, { permissions: { server_tools } });
    expect(new Set(await statuses())).toEqual(new Set([status]));
  }
});
