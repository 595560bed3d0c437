/** Permissions hold for each published tool, at each published place of a request, through every door. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { textReply } from "../../support/tool-replies.ts";
import { type DoorWay, waysInto } from "./doors.ts";
import { newKey } from "./keys.ts";
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
/** Keys by the server tool that they may not use, and one that may use all. */
let keys: ReadonlyMap<string | undefined, string>;

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
  keys = new Map(await Promise.all([undefined, ...serverToolNames].map(keyWithout)));
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

/** The way that gets every form of a tool; the others get the least one, and those without paths no nested ones. */
const wholeWay = "/responses/dry-run";
const isNarrow = (name: string): boolean => !name.startsWith("/") || name.endsWith("compact");

const parallel = 8;

/** Runs the work over a list, some at a time. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const run = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, run));
}

/** All places for tools, and those that took one. */
const places = new Set<string>();
const exercised = new Set<string>();

const wayNamed = (name: string): DoorWay => ways.find((way) => way.name === name) as DoorWay;

describe.each(wayNames)("at %s", (name) => {
  test("a key is refused each tool that it may not use, wherever the request has it, and no other key is", async () => {
    const { ask, base, schema } = wayNamed(name);
    const cases = toolCases(schema).filter(
      ({ place, isForm }) => name === wholeWay || !(isForm || (isNarrow(name) && place.includes(".parameters."))),
    );
    const body = ({ body: own }: ToolCase) => ({ ...base, model: "acme/outer", ...own });
    const send = (one: ToolCase, key: string | undefined) => ask(keys.get(key) as string, body(one));
    const before = upstream.requests.length;
    const refused = new Map<ToolCase, { status: number; text: string }>();
    const hosted = cases.filter(({ permission }) => permission !== undefined);
    await each(hosted, async (one) => void refused.set(one, await send(one, one.permission)));
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
      }
    });
    expect(wrong).toEqual([]);
    expect(called).toBe(0);
  });
});

test("every place for tools takes one at some door", () => {
  expect([...places].filter((place) => !exercised.has(place))).toEqual([]);
});

/** Fields that choose, limit or name tools, or tell of calls. A new one is a place for tools, or joins these. */
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

test("each type of the contract is a case, and no other field of a request may hold a tool", () => {
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
