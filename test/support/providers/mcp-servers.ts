/** MCP servers for tests: those of the official SDK in both revisions of the protocol, and a scripted one. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as SessionServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { McpServer as SessionlessServer, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface McpMessage {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: unknown; readonly [field: string]: unknown };
}

export interface McpRequest {
  readonly http: string;
  readonly headers: IncomingHttpHeaders;
  /** The JSON-RPC message; undefined for a request without a body. */
  readonly message: McpMessage | undefined;
}

export interface McpService {
  /** URL of the endpoint. */
  readonly url: string;
  readonly requests: McpRequest[];
  /** Methods of the received messages in order; DELETE for the end of a session. */
  asked(): readonly string[];
  /** Resolves once this method was called. */
  until(asked: string): Promise<void>;
  /** Resolves once the client closes a connection with a request. */
  untilCut(): Promise<number>;
  /** Lets waiting calls of the tool `slow` continue. */
  release(): void;
  stop(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse, message: McpMessage | undefined) => Promise<void>;

const nameOf = ({ http, message }: McpRequest): string => message?.method ?? http;

async function serve(handle: Handler, release = () => {}): Promise<McpService> {
  const requests: McpRequest[] = [];
  const waiters: (() => void)[] = [];
  const cuts: ((time: number) => void)[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const message = body === "" ? undefined : (JSON.parse(body) as McpMessage);
      requests.push({ http: request.method ?? "", headers: request.headers, message });
      for (const waiter of waiters.splice(0)) waiter();
      response.on("close", () => {
        if (!response.writableFinished) for (const cut of cuts.splice(0)) cut(performance.now());
      });
      await handle(request, response, message);
    })().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const asked = () => requests.map(nameOf);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    asked,
    release,
    async until(wanted) {
      while (!asked().includes(wanted)) await new Promise<void>((resolve) => waiters.push(resolve));
    },
    untilCut: () => new Promise((resolve) => cuts.push(resolve)),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Registers the tools that each of the SDK's servers has. */
function toolsOf(server: Pick<SessionServer, "registerTool">, slow: () => Promise<void>): void {
  const said = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
  server.registerTool(
    "echo",
    { description: "Says it again.", inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
    ({ text: words }) => said(`You said ${words}.`),
  );
  server.registerTool("add", { description: "Adds.", inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) =>
    said(String(a + b)),
  );
  server.registerTool("fail", { description: "Fails.", inputSchema: {} }, () => {
    throw new Error("out of paper");
  });
  server.registerTool("slow", { description: "Takes its time.", inputSchema: {} }, async () => {
    await slow();
    return said("Done.");
  });
}

function gate(): { readonly open: () => void; readonly wait: () => Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, wait: () => opened };
}

/** Starts a server of the revisions up to 2025-11-25. @param forgets number of sessions that are forgotten after their first request */
export async function startSessionServer(forgets = 0): Promise<McpService> {
  const { open, wait } = gate();
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  let left = forgets;
  const handle: Handler = async (request, response, message) => {
    const id = String(request.headers["mcp-session-id"] ?? "");
    let transport = sessions.get(id);
    if (transport && left > 0 && message?.method === "tools/call") {
      left--;
      sessions.delete(id);
      transport = undefined;
    }
    if (transport === undefined && id !== "") {
      const error = { code: -32_001, message: "Session not found" };
      response.writeHead(404, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
    }
    if (transport === undefined) {
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, created),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      transport = created;
      const server = new SessionServer({ name: "sessions", version: "1" });
      toolsOf(server, wait);
      await server.connect(transport);
    }
    await transport.handleRequest(request, response, message);
  };
  return serve(handle, open);
}

/** Starts a server of revision 2026-07-28 only. */
export async function startSessionlessServer(): Promise<McpService> {
  const { open, wait } = gate();
  const handler = createMcpHandler(
    () => {
      const server = new SessionlessServer({ name: "sessionless", version: "1" });
      toolsOf(server as unknown as SessionServer, wait);
      return server;
    },
    { legacy: "reject" },
  );
  const node = toNodeHandler(handler);
  return serve((request, response, message) => node(request as Parameters<typeof node>[0], response, message), open);
}

export interface ScriptedReply {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of the answer. A list is written piece by piece, as fast as it is read. */
  readonly body?: string | Iterable<string>;
  /** Whether the server sends nothing more, and keeps the connection open. */
  readonly hang?: boolean;
  /** Whether the connection is closed in the middle of the answer. */
  readonly cut?: boolean;
}

export const toMcpResult = (message: McpMessage, value: object): ScriptedReply => ({
  body: JSON.stringify({ jsonrpc: "2.0", id: message.id, result: value }),
});

/** @param answer answers each message; if undefined, the answer is that of a session server with one tool, `echo` */
export const startScriptedServer = (answer: (message: McpMessage) => ScriptedReply | undefined): Promise<McpService> =>
  serve(async (request, response, message) => {
    if (message === undefined) return void response.writeHead(200).end();
    const {
      status = 200,
      type = "application/json",
      headers,
      body = "",
      hang,
      cut,
    } = answer(message) ?? usual(message);
    response.writeHead(status, { "content-type": type, ...headers });
    for (const piece of typeof body === "string" ? [body] : body) {
      if (response.destroyed) return;
      if (!response.write(piece)) await drained(response);
    }
    if (cut) response.destroy();
    else if (!hang) response.end();
    request.resume();
  });

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const over = () => {
      response.off("drain", over).off("close", over);
      resolve();
    };
    response.on("drain", over).on("close", over);
  });

const echo = { name: "echo", description: "Says it again.", inputSchema: { type: "object" } };

function usual(message: McpMessage): ScriptedReply {
  switch (message.method) {
    case "initialize":
      return toMcpResult(message, {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      });
    case "tools/list":
      return toMcpResult(message, { tools: [echo] });
    case "tools/call":
      return toMcpResult(message, { content: [{ type: "text", text: "said" }] });
    default:
      return message.id === undefined ? { status: 202 } : { status: 400, body: "" };
  }
}
