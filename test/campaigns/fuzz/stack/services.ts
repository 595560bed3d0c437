/** Web servers and models that give the same answer to the same request. */
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { answerMcp } from "../../../support/providers/mcp-answer.ts";

export interface Services {
  readonly origin: string;
  stop(): Promise<void>;
}

export async function startServices(): Promise<Services> {
  const server: Server = createServer((request, response) => {
    void answerTo(request).then(([type, body]) => response.writeHead(200, { "content-type": type }).end(body));
  });
  // A connection that the server closes during a request would fail in one of the two stacks only.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((stopped) => {
      server.close(() => stopped());
      server.closeAllConnections();
    });
  return { origin, stop };
}

async function answerTo(request: IncomingMessage): Promise<readonly [type: string, body: string]> {
  const { url = "", headers } = request;
  const json = (value: unknown) => ["application/json", JSON.stringify(value)] as const;
  if (url.startsWith("/page")) return ["text/plain", `A secret of Alice ${url}`];
  if (url.startsWith("/vector_stores/")) {
    const content = [{ type: "text", text: "A secret of Alice" }];
    return json({ data: [{ file_id: "f", filename: "a.pdf", score: 1, content }] });
  }
  if (url.startsWith("/search")) {
    const result = (at: number) => ({
      url: `http://${headers.host}/page${at}`,
      title: "T",
      content: "A secret of Alice",
    });
    return json({ results: [result(0), result(1)] });
  }
  const body = await text(request);
  if (url.startsWith("/mcp")) return json(answerMcp(body));
  if (url === "/v1/runs") return json(runOf(body));
  if (url.endsWith("/responses")) return responseTo(body);
  return json(url.startsWith("/analyze") ? namesIn(body) : replyTo(body));
}

/** A model that answers with the number of its tools. */
function responseTo(body: string): readonly [type: string, body: string] {
  const { stream, tools = [] } = JSON.parse(body) as { readonly stream?: boolean; readonly tools?: readonly unknown[] };
  const said = `A secret and ${tools.length} tools`;
  const part = { type: "output_text", text: said, annotations: [] };
  const message = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [part] };
  const response = {
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "s",
    output: [message],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  if (stream !== true) return ["application/json", JSON.stringify(response)];
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...message, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...place, delta: said },
    { type: "response.output_text.done", ...place, text: said },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: 0, item: message },
    { type: "response.completed", response },
  ];
  return [
    "text/event-stream",
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  ];
}

/** A sandbox in which the same program always prints the same; some programs exceed their time. */
function runOf(body: string): unknown {
  const { commands } = JSON.parse(body) as { readonly commands: readonly string[] };
  const outcome = commands.length > 1 ? { type: "timeout" } : { type: "exit", exit_code: 0 };
  return { output: [{ stdout: "A secret of Alice\u001b[31m", stderr: "theorem", truncated: false, outcome }] };
}

/** Finds a name, like an analyzer of Presidio. */
function namesIn(body: string): unknown {
  const { text: said } = JSON.parse(body) as { readonly text: string };
  const start = said.indexOf("Alice");
  return start === -1 ? [] : [{ entity_type: "PERSON", start, end: start + 5, score: 0.9 }];
}

/** A model that judges texts, classifies requests, or predicts a sufficient model. */
function replyTo(body: string): unknown {
  const broken = body.includes("secret");
  const content = body.includes("capability_boundary")
    ? { crux: "", primary_rule: "S1", capability_boundary: "supported", p_solve: broken ? 0.2 : 0.9 }
    : body.includes("You sort requests")
      ? { task: broken ? "math" : "code", difficulty: broken ? 4 : 1 }
      : { evidence: "", verdict: broken ? "broken" : "followed", probability: broken ? 0.9 : 0.1 };
  return {
    id: "c",
    object: "chat.completion",
    model: "judge",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: JSON.stringify(content) } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}
