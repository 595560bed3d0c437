/** The MCP server over the data of the console, with the official clients of both revisions of the protocol. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  Client as SessionlessClient,
  StreamableHTTPClientTransport as SessionlessTransport,
} from "@modelcontextprotocol/client";
import { Client as SessionClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SessionTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Installation, startInstallation } from "../../support/installation.ts";

let installation: Installation;
let url: URL;
beforeAll(async () => {
  installation = await startInstallation();
  url = new URL("/mcp/admin", installation.baseUrl);
  const headers = { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "sluice/echo", input: "Hello" });
  expect((await fetch(`${installation.baseUrl}/responses`, { method: "POST", headers, body })).status).toBe(200);
});
afterAll(() => installation?.stop());

interface Tool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: object; readonly required?: readonly string[] | undefined };
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

interface Connected {
  tools(): Promise<readonly Tool[]>;
  call(name: string, given?: object): Promise<{ readonly isError: boolean; readonly text: string }>;
  close(): Promise<void>;
}

type Connect = (key: string, headers?: Readonly<Record<string, string>>) => Promise<Connected>;

const requestInit = (key: string, headers = {}) => ({ headers: { authorization: `Bearer ${key}`, ...headers } });
function textOf(result: object) {
  const { content, isError } = result as {
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
  };
  return { isError: isError === true, text: content.map(({ text }) => text).join("") };
}

const connectWithSession: Connect = async (key, headers) => {
  const client = new SessionClient({ name: "test", version: "1" });
  await client.connect(new SessionTransport(url, { requestInit: requestInit(key, headers) }));
  return {
    tools: async () => (await client.listTools()).tools as readonly Tool[],
    call: async (name, given = {}) => textOf(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  };
};

const connectWithoutSession: Connect = async (key, headers) => {
  const client = new SessionlessClient({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new SessionlessTransport(url, { requestInit: requestInit(key, headers) }));
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return {
    tools: async () => (await client.listTools()).tools as readonly Tool[],
    call: async (name, given = {}) => textOf(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  };
};

describe.each<[string, Connect]>([
  ["with the handshake of 2025", connectWithSession],
  ["without a session, as of 2026-07-28", connectWithoutSession],
])("the MCP server for a client %s", (_revision, connect) => {
  test("has a tool for each operation that reads, and none that changes or shows prompts", async () => {
    const client = await connect(installation.managementKey);
    const tools = await client.tools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["getUsageSeries", "listGenerations", "getGeneration", "listKeys", "listAudit"]),
    );
    expect(
      names.filter((name) => !/^(?:get|list|find|verify|count)/.test(name) || name === "getGenerationContent"),
    ).toEqual([]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(JSON.stringify(tools)).not.toContain("$ref");
    expect(tools.find(({ name }) => name === "getKey")?.inputSchema).toMatchObject({ required: ["hash"] });
    await client.close();
  });

  test("reads the records of the key's workspace, and reports the reason of a refusal", async () => {
    const client = await connect(installation.managementKey);
    const series = await client.call("getUsageSeries", { by: "model", step: "hour" });
    expect(JSON.parse(series.text)).toMatchObject({ totals: [{ value: "sluice/echo", requests: 1 }] });
    expect(await client.call("getUsageSeries", { by: "colour" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("by: "),
    });
    expect(await client.call("getKey", {})).toEqual({ isError: true, text: "hash: required" });
    expect(await client.call("getKey", { hash: "x" })).toEqual({ isError: true, text: "Key not found" });
    expect(await client.call("deleteKey", { hash: "x" })).toMatchObject({ isError: true });
    await client.close();
  });
});

test("a management key of the account reads the workspace named in its MCP header", async () => {
  const { stdout } = await installation.admin("workspaces", "create", "--name", "other");
  await installation.admin("keys", "create", "--name", "theirs", "--workspace", "other");
  const account = JSON.parse(
    (await installation.admin("keys", "create", "--management", "--account", "--name", "a", "--json")).stdout,
  ) as {
    readonly key: string;
  };
  const client = await connectWithSession(account.key, { "x-sluice-workspace": stdout.trim() });
  expect(JSON.parse((await client.call("listKeys")).text)).toMatchObject({
    data: [{ name: "theirs" }],
    total_count: 1,
  });
  await client.close();
});

test.each<[string, () => RequestInit, number, string]>([
  ["without a key", () => ({}), 401, "Missing Authentication header"],
  ["with an API key", () => requestInit(installation.apiKey), 403, "Only management keys can use this MCP server"],
  ["with a body that is no JSON", () => requestInit(installation.managementKey), 400, "body"],
])("an MCP request %s is refused", async (_kind, init, status, message) => {
  const { headers, ...rest } = init();
  const response = await fetch(url, {
    ...rest,
    method: "POST",
    headers: {
      ...(headers as Record<string, string>),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: "{",
  });
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(message)]);
});
