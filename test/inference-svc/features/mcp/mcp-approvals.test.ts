/** Calls of MCP tools that wait for approval, over two requests with nothing stored between them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { mcp } from "@sluice/proto/config/mcp.js";
import { type McpService, startSessionServer } from "../../../support/providers/mcp-servers.ts";
import { textReply, callReply } from "../../../support/tool-replies.ts";
import { functionTool, newScope } from "../../asking.ts";
import { guardrailOf, redactFilter } from "../guardrails/gating.ts";
import { ToolInstallation, finishedItems } from "../../agent-loop/calling-tools.ts";
import { echoCall, mcpTool } from "./mcp-tools.ts";

let server: McpService;
let installation: ToolInstallation;

beforeAll(async () => {
  server = await startSessionServer();
  installation = await ToolInstallation.open({ mcp: mcp.parse({ allow: [new URL(server.url).origin] }) });
});
afterAll(async () => {
  await installation?.stop();
  await server?.stop();
});
beforeEach(() => void server.requests.splice(0));

const question: InputItem = { type: "message", role: "user", content: "Say hello." };
const entry = (fields: object = {}) => mcpTool({ server_url: server.url, require_approval: undefined, ...fields });

/** Runs the first request; its call waits. */
async function first(tools = [entry()]) {
  installation.outer.script([callReply(echoCall), textReply("not asked for")]);
  const testScope = newScope();
  const { events, fault } = await installation.run({ input: [question], tools }, testScope);
  expect(fault).toBeUndefined();
  return { items: finishedItems(events), asked: testScope };
}

/** Runs the next request, with the client's decision. */
async function next(items: readonly InputItem[], testScope = newScope()) {
  installation.outer.script([textReply("It is done.")]);
  const { events, fault } = await installation.run({ input: [question, ...items], tools: [entry()] }, testScope);
  return { items: finishedItems(events), fault, messages: installation.sent("outer").messages };
}

const decision = (items: readonly InputItem[], approve: boolean, reason?: string): InputItem => ({
  type: "mcp_approval_response",
  approval_request_id: items.find(({ type }) => type === "mcp_approval_request")?.["id"],
  approve,
  ...(reason && { reason }),
});

test("by default every MCP call waits for approval, and the response ends with it", async () => {
  const { items, asked } = await first();
  expect(items).toMatchObject([
    { type: "mcp_list_tools" },
    { type: "mcp_approval_request", server_label: "crm", name: "echo", arguments: '{"text":"hello"}' },
  ]);
  expect(items).toHaveLength(2);
  expect(server.asked()).not.toContain("tools/call");
  expect(asked.scope.trace.stages.at(-1)?.data).toMatchObject({ stop_reason: "approval" });
});

describe("the next request after an MCP approval request", () => {
  test("with an approval makes the call before calling the model, and does not list the tools again", async () => {
    const { items } = await first();
    server.requests.splice(0);
    const after = await next([...items, decision(items, true)]);
    expect(after.items).toMatchObject([
      { type: "mcp_call", status: "completed", output: "You said hello.", approval_request_id: items[1]?.id },
      { type: "message" },
    ]);
    expect(server.asked()).not.toContain("tools/list");
    expect(after.messages.slice(1)).toMatchObject([
      { role: "assistant", tool_calls: [{ function: { name: "crm__echo", arguments: '{"text":"hello"}' } }] },
      { role: "tool", content: expect.stringContaining("You said hello.") },
    ]);
  });

  test("with a denial makes no call, and the model reads the reason", async () => {
    const { items } = await first();
    const after = await next([...items, decision(items, false, "Not today.")]);
    expect(after.items).toMatchObject([{ type: "message" }]);
    expect(server.asked()).not.toContain("tools/call");
    expect(after.messages.at(-1)?.content).toContain("does not want the call to be made: Not today.");
  });

  test("without a decision makes no call", async () => {
    const { items } = await first();
    const after = await next([...items, { type: "message", role: "user", content: "Well?" }]);
    expect(server.asked()).not.toContain("tools/call");
    expect(JSON.stringify(after.messages)).toContain("it was not made");
  });

  test("after an answer does not repeat the call, with its item or without it", async () => {
    const { items } = await first();
    const after = await next([...items, decision(items, true)]);
    for (const made of [after.items, after.items.filter(({ type }) => type === "message")]) {
      server.requests.splice(0);
      const later = await next([...items, decision(items, true), ...made, question]);
      expect(later.fault).toBeUndefined();
      expect(server.asked().filter((each) => each !== "DELETE")).toEqual([]);
      expect(later.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
    }
  });

  test("without the MCP tool makes no call", async () => {
    const { items } = await first();
    installation.outer.script([textReply("Then not.")]);
    const input = [question, ...items, decision(items, true)];
    await installation.run({ input, tools: [entry({ allowed_tools: ["add"] })] });
    expect(server.asked()).not.toContain("tools/call");
    expect(installation.sent("outer").messages.at(-1)?.content).toContain("there is no such tool any more");
  });

  test("sends the server only text permitted by the output rules", async () => {
    const { items } = await first();
    const guardrail = guardrailOf([redactFilter("hello", "<m>")]);
    await next([...items, decision(items, true)], newScope({ guardrail }));
    const sent = server.requests.find(({ message }) => message?.method === "tools/call")?.message?.params;
    expect(sent).toMatchObject({ arguments: { text: expect.not.stringContaining("hello") } });
  });
});

test("MCP tools without approval and functions of the client run next to a waiting call", async () => {
  const tools = [entry({ require_approval: { never: { tool_names: ["add"] } } }), functionTool({ name: "f" })];
  installation.outer.script([
    callReply(echoCall, { name: "crm__add", args: { a: 1, b: 2 } }, { name: "f" }),
    textReply("x"),
  ]);
  const { events } = await installation.run({ input: [question], tools });
  expect(finishedItems(events)).toMatchObject([
    { type: "mcp_list_tools" },
    { type: "mcp_call", name: "add", output: "3" },
    { type: "mcp_approval_request", name: "echo" },
    { type: "function_call", name: "f" },
  ]);
});

test.each([
  ["never", false],
  ["always", true],
  [{ never: { read_only: true } }, false],
  [{ never: { read_only: false } }, true],
  [{ never: { tool_names: ["echo"] }, always: { tool_names: ["echo"] } }, true],
  [{ always: { tool_names: ["add"] } }, true],
  [{ never: {} }, true],
])(
  "the setting require_approval %j of an MCP server decides whether a call waits: %s",
  async (require_approval, waits) => {
    const { items } = await first([entry({ require_approval })]);
    expect(items.some(({ type }) => type === "mcp_approval_request")).toBe(waits);
  },
);
