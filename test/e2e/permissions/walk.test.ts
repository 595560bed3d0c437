/** Permissions hold for each published tool, at each published place of a request, and for each plugin, through every door. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { textReply } from "../../support/tool-replies.ts";
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { followReference, leastValue, schemaFields } from "../../support/schema-walk.ts";
import { type DoorAnswer, type DoorWay, waysInto } from "./doors.ts";
import { type Permissions, newKey } from "./keys.ts";
import {
  type ToolCase,
  contractTypes,
  mcpUrl,
  prefix,
  publishedTypes,
  serverToolNames,
  toolCases,
  toolFieldNames,
} from "./tool-cases.ts";

let upstream: Upstream;
let installation: Installation;
let ways: readonly DoorWay[];
/** Keys by the server tool or the list that they may not use, and one key that may use all. */
let keys: ReadonlyMap<string | undefined, string>;

/** The list for what a tool uses, checked in addition to the list of tools. */
const listOf: Readonly<Record<string, string>> = {
  bash: "sandbox",
  code_interpreter: "sandbox",
  shell: "sandbox",
  file_search: "vector_stores",
  mcp: "mcp_servers",
  web_search: "search_engines",
};
const lists = [...new Set(Object.values(listOf))];

const wayNames = [
  "/responses/dry-run",
  "/responses/input_tokens",
  "/responses",
  "/responses/compact",
  "/chat/completions",
  "/messages",
  "/messages/count_tokens",
  "WebSocket",
  "RunTurn",
  "CreateResponse",
  "DryRun",
  "CountTokens",
] as const;

beforeAll(async () => {
  upstream = await startUpstream([textReply("fine")], { isLenient: true });
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/outer, endpoints: [{provider: acme}]}
  - {id: acme/painter, output_modalities: [image], endpoints: [{provider: acme}]}
model_aliases: [{match: n1, model: acme/outer}]
compat: {tool_type_aliases: ["${prefix}"]}
internal_models: {advisor: {model: acme/outer}, image: {model: acme/painter}}
mcp: {allow: ["${mcpUrl}"], servers: {n1: {url: "${upstream.url}"}}}
file_search: {stores: {n1: {base_url: "${upstream.url}/v1"}}}
sandbox: {base_url: "${upstream.url}", api_key: k}
search: {engines: {searxng: {base_url: "${upstream.url}"}, tavily: {api_key: k}}}
limits: {streams_per_key: 1000}
`,
  });
  ways = waysInto(installation);
  const keyWithout = async (left: string | undefined) => {
    const { key } = await newKey(installation, {
      permissions: { server_tools: serverToolNames.filter((name) => name !== left) },
    });
    return [left, key] as const;
  };
  const keyWithEmpty = async (list: string) =>
    [list, (await newKey(installation, { permissions: { [list]: [] } })).key] as const;
  keys = new Map(await Promise.all([...[undefined, ...serverToolNames].map(keyWithout), ...lists.map(keyWithEmpty)]));
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

/** Doors that only count or summarize: they run no search, so a search without a named engine needs no permission for one. */
const searchless = /token|compact/i;

/**
 * The door that is tested with every form of a tool. Others are tested with the minimal form, and doors without a path only with tools that are
 * not nested.
 */
const wholeWay = "/responses/dry-run";
const isNarrow = (name: string): boolean => !name.startsWith("/") || name.endsWith("compact");

const parallel = 8;

/** Runs the work for each item, with some items at a time. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const run = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, run));
}

/** All places for tools, and the places at which some door accepted a tool. */
const places = new Set<string>();
const exercised = new Set<string>();

/** Whether the list refuses the request. A search within another tool is 400 when the key may use no engine. */
const isRefusedBy = (list: string | undefined, { status, text }: DoorAnswer): boolean =>
  (status === 403 && text.includes(`(permissions.${list})`)) ||
  (list === "search_engines" && status === 400 && text.includes("web_search is not available"));

const wayNamed = (name: string): DoorWay => ways.find((way) => way.name === name) as DoorWay;

describe.each(wayNames)("at the door %s", (name) => {
  test("a key is refused each tool it may not use, wherever the request has it, and no other key is refused", async () => {
    const { ask, base, schema } = wayNamed(name);
    const cases = toolCases(schema).filter(
      ({ place, isForm }) => name === wholeWay || !(isForm || (isNarrow(name) && place.includes(".parameters."))),
    );
    const body = ({ body: own }: ToolCase) => ({ ...base, model: "acme/outer", ...own });
    const send = (one: ToolCase, key: string | undefined) => ask(keys.get(key) as string, body(one));
    const before = upstream.requests.length;
    const refused = new Map<ToolCase, { status: number; text: string }>();
    const refusedByList = new Map<ToolCase, { status: number; text: string }>();
    const hosted = cases.filter(({ permission }) => permission !== undefined);
    const listFor = ({ permission = "" }: ToolCase) =>
      permission === "web_search" && searchless.test(name) ? undefined : listOf[permission];
    const listed = hosted.filter((one) => listFor(one) !== undefined && !one.isForm);
    await each(hosted, async (one) => void refused.set(one, await send(one, one.permission)));
    await each(listed, async (one) => void refusedByList.set(one, await send(one, listFor(one))));
    const called = upstream.requests.length - before;
    const wrong: string[] = [];
    for (const { place } of cases) places.add(`${schema} ${place}`);
    await each(cases, async (one) => {
      const { status, text } = await send(one, undefined);
      const denied = refused.get(one);
      const says = `This key may not use the server tool ${one.permission} (permissions.server_tools)`;
      if (status === 403) wrong.push(`${one.label}: refused although it is allowed: ${text}`);
      // A request that the door refuses with any key proves nothing about permissions.
      else if (status !== 400) {
        exercised.add(`${schema} ${one.place}`);
        if (denied && (denied.status !== 403 || !denied.text.includes(says)))
          wrong.push(
            `${one.label}: ${denied.status} ${denied.text.slice(0, 200)}; allowed: ${status} ${text.slice(0, 200)}`,
          );
        const unlisted = refusedByList.get(one);
        if (unlisted && !isRefusedBy(listFor(one), unlisted))
          wrong.push(`${one.label}: without ${listFor(one)} ${unlisted.status} ${unlisted.text.slice(0, 200)}`);
      }
    });
    expect(wrong).toEqual([]);
    expect(called).toBe(0);
  });
});

interface PublishedPlugin {
  readonly id: string;
}

/** The minimal form of each published plugin. */
const publishedPlugins = (list: JsonSchema): readonly PublishedPlugin[] => {
  const { items } = followReference(choiceOf(list)) as { readonly items: JsonSchema };
  return (followReference(items)["anyOf"] as readonly JsonSchema[]).map((each) => leastValue(each) as PublishedPlugin);
};

/** The schema of the list, also when the field may be null instead. */
const choiceOf = (schema: JsonSchema): JsonSchema => {
  const choices = followReference(schema)["anyOf"] as readonly JsonSchema[] | undefined;
  return choices?.find((choice) => "items" in followReference(choice)) ?? schema;
};

/** The door of a way to call it, by the name of the way. */
const doorOf = (name: string): string =>
  name.startsWith("/messages")
    ? "messages"
    : name.startsWith("/chat")
      ? "chat"
      : /^\/|^Web/.test(name)
        ? "responses"
        : "grpc";

test.each(wayNames)("at %s a key is refused each plugin that it may not use, and a forbidden door", async (name) => {
  const { ask, base, schema } = wayNamed(name);
  const body = { ...base, model: "acme/outer" };
  const keyWith = async (permissions: Permissions) => (await newKey(installation, { permissions })).key;
  const before = upstream.requests.length;
  const doors = ["responses", "chat", "messages", "embeddings", "grpc"].filter((door) => door !== doorOf(name));
  const refused = await ask(await keyWith({ doors }), body);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("(permissions.doors)")]);
  const none = await keyWith({ plugins: [] });
  const answers: string[] = [];
  const plugins = schemaFields(schema).filter(({ path }) => path === "plugins");
  const refusals: string[] = [];
  for (const { schema: list } of plugins) {
    for (const plugin of publishedPlugins(list)) {
      const { status, text } = await ask(none, { ...body, plugins: [plugin] });
      answers.push(`${plugin.id}: ${status} ${text.includes(`the plugin ${plugin.id} (permissions.plugins)`)}`);
      refusals.push(`${plugin.id}: 403 true`);
    }
  }
  expect(answers).toEqual(refusals);
  expect(refusals).toHaveLength(plugins.length * Object.keys(pluginContracts).length);
  expect(upstream.requests.length).toBe(before);
  expect((await ask(await keyWith({ doors: [doorOf(name)] }), body)).status).toBe(200);
  if (plugins.length > 0) expect((await ask(none, body)).status).toBe(200);
});

test("every place for tools in the contract is tested at some door", () => {
  expect([...places].filter((place) => !exercised.has(place))).toEqual([]);
});

/** Fields that choose, limit or name tools, or describe calls. A new field is either a place for tools, or is added here. */
const harmless = new Set([
  "allowed_tools",
  "connector_id",
  "disable_parallel_tool_use",
  "function",
  "function_call",
  "inherit_functions",
  "inherited_function_names",
  "max_tool_calls",
  "mcp_server_name",
  "parallel_tool_calls",
  "stop_server_tools_when",
  "tool",
  "toolName",
  "tool_call_id",
  "tool_calls",
  "tool_choice",
  "tool_configuration",
  "tool_name",
  "tool_names",
  "tool_reference",
  "tool_references",
  "tool_use_id",
]);

test("each tool type of the contract is tested, and no other field of a request may hold a tool", () => {
  expect(contractTypes.filter((type) => !publishedTypes.includes(type))).toEqual([]);
  const schemas = ["ResponseRequest", "ChatCompletionRequest", "MessagesRequest"];
  expect(toolFieldNames(schemas).filter((name) => !harmless.has(name))).toEqual([
    "anthropic_tool",
    "functions",
    "mcp_servers",
    "tools",
    "web_search_options",
  ]);
});
