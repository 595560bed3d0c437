/** Names with dots and slashes, as in MCP servers, at each door and for each format: the client only ever sees its own names. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Received, type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { toolDialects } from "../../support/tool-dialects.ts";

let upstream: Upstream;
let installation: Installation;

type Dialect = keyof typeof toolDialects;
const dialects = Object.keys(toolDialects) as readonly Dialect[];

beforeAll(async () => {
  upstream = await startUpstream();
  const providers = dialects.map((id) => {
    const { provider, path } = toolDialects[id];
    return `  - ${JSON.stringify({ id, base_url: `${upstream.url}${path}`, ...provider })}`;
  });
  const models = dialects.map((id) => `  - {id: t/${id}, endpoints: [{provider: ${id}, upstream_model: m}]}`);
  installation = await startInstallation({ config: ["providers:", ...providers, "models:", ...models].join("\n") });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const own = "github.search/code";
const description = "Searches.";
const parameters = { type: "object", properties: { q: { type: "string" } } };

interface Door {
  readonly path: string;
  readonly body: object;
}

const doors: Readonly<Record<string, Door>> = {
  responses: {
    path: "/responses",
    body: {
      input: [
        { role: "user", content: "Hi" },
        { type: "function_call", call_id: "call_9", name: own, arguments: "{}" },
        { type: "function_call_output", call_id: "call_9", output: "none" },
      ],
      tools: [{ type: "function", name: own, description, parameters }],
      tool_choice: { type: "function", name: own },
    },
  },
  chat: {
    path: "/chat/completions",
    body: {
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_9", type: "function", function: { name: own, arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_9", content: "none" },
      ],
      tools: [{ type: "function", function: { name: own, description, parameters } }],
      tool_choice: { type: "function", function: { name: own } },
    },
  },
  messages: {
    path: "/messages",
    body: {
      max_tokens: 64,
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "call_9", name: own, input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_9", content: "none" }] },
      ],
      tools: [{ name: own, description, input_schema: parameters }],
      tool_choice: { type: "tool", name: own },
    },
  },
};

const sentNames: Readonly<Record<Dialect, string>> = {
  chat: "github_search_code",
  messages: "github_search_code",
  gemini: "github.search_code",
  converse: "github_search_code",
};

const rows = Object.keys(doors).flatMap((door) =>
  dialects.flatMap((dialect) => [false, true].map((stream) => [door, dialect, stream] as const)),
);

test.each(rows)(
  "through the door %s a model behind %s gets an acceptable tool name, streamed: %s",
  async (door, dialect, stream) => {
    const { path, body } = doors[door] as Door;
    const { call } = toolDialects[dialect];
    const sentName = sentNames[dialect];
    upstream.script([call(sentName, { q: "cup" }, stream)]);
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${installation.apiKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: `t/${dialect}`, stream, ...body }),
    });
    const answer = await response.text();
    expect([response.status, answer]).toEqual([200, expect.stringContaining(`"name":"${own}"`)]);
    const told = (upstream.requests.at(-1) as Received).body;
    expect(told).not.toContain(own);
    // In the tools, in the history, and in the choice if the format names the tool there.
    expect(told.split(`"${sentName}"`).length - 1).toBeGreaterThanOrEqual(3);
    expect(answer).not.toContain(`"${sentName}"`);
    expect(answer).toContain(`repaired: sent as ${sentName}, because`);
  },
);
