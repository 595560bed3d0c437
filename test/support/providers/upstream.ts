/**
 * A provider scripted byte by byte, over real sockets.
 *
 * const upstream = await startUpstream([{ chunks: [{ sse: [{ choices: [...] }] }, { bytes: "data: [DONE]\n\n" }] }]);
 * ... base_url: `${upstream.url}/v1` ...
 * await upstream.stop();
 *
 * Replies are sent in order; the last one is repeated. A request invalid for the vendor of its format is refused here, too, and the
 * refusal takes no reply.
 */
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type Refusal, refusalOf } from "./rules/strict.ts";

/** A single write, which has exactly one of `bytes`, `json` and `sse`. */
export interface Chunk {
  readonly bytes?: string | Uint8Array;
  /** A value to send as JSON body. */
  readonly json?: unknown;
  /** Values to send as events, one each: a string is written unchanged, an object with a string `type` gets an event line. */
  readonly sse?: readonly unknown[];
  readonly afterMs?: number;
  /** Delays the write until this promise settles, which is more reliable than a time. */
  readonly after?: Promise<unknown>;
  /** Number of times that the chunk is written; each write waits until the socket has room. */
  readonly repeat?: number;
}

export interface Reply {
  /** HTTP status; 200 by default. */
  readonly status?: number;
  /** Additional headers. The content type follows from the first chunk unless it is given here. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly Chunk[];
  /** Whether the socket is destroyed after the chunks. */
  readonly cut?: boolean;
  /** Whether the answer hangs after the chunks; without chunks, not even its headers are sent. */
  readonly hang?: boolean;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as JSON. */
  readonly json: Record<string, unknown>;
}

export interface Upstream {
  /** http://127.0.0.1:port, or https://localhost:port */
  readonly url: string;
  readonly requests: readonly Received[];
  readonly openSockets: number;
  /** Number of bytes accepted by sockets. */
  readonly bytesWritten: number;
  /** Waits for the next request with its complete body. */
  nextRequest(): Promise<Received>;
  /** Waits until a socket closes. @returns the time, by performance.now() */
  nextClose(): Promise<number>;
  /** Refusals of requests by the rules of their vendor. */
  readonly refusals: readonly Refusal[];
  /** Replaces the remaining replies, by a list or by a function that answers each request. */
  script(replies: readonly Reply[] | ((request: Received) => Reply)): void;
  stop(): Promise<void>;
}

/** Certificate and key in PEM. */
export interface TlsCredentials {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface UpstreamOptions {
  /** Certificate and key of a TLS server. */
  readonly credentials?: TlsCredentials | undefined;
  /** Whether requests that break the rules of their vendor are answered, too. */
  readonly isLenient?: boolean;
  /** Whether OpenAI's rules apply to chat completions and responses. */
  readonly isOpenAi?: boolean;
}

export async function startUpstream(
  replies: readonly Reply[] = [{}],
  options: UpstreamOptions = {},
): Promise<Upstream> {
  const { credentials, isLenient = false, isOpenAi = false } = options;
  let answerTo: (request: Received) => Reply = inOrder(replies);
  const refusals: Refusal[] = [];
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let closedBytes = 0;
  const requestWaiters: ((request: Received) => void)[] = [];
  const closeWaiters: ((time: number) => void)[] = [];

  const respond = (request: IncomingMessage, response: ServerResponse) => {
    void receive(request)
      .then((received) => {
        requests.push(received);
        for (const waiter of requestWaiters.splice(0)) waiter(received);
        const refusal = isLenient ? undefined : refusalOf(received.path, received.body, isOpenAi);
        if (refusal === undefined) return answer(answerTo(received), response);
        refusals.push(refusal);
        return answer({ ...refusal, chunks: [{ json: refusal.json }] }, response);
      })
      // The client may leave at any time.
      .catch(() => response.destroy());
  };
  const server = credentials ? createTlsServer(credentials, respond) : createServer(respond);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      closedBytes += socket.bytesWritten;
      for (const waiter of closeWaiters.splice(0)) waiter(performance.now());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `${credentials ? "https://localhost" : "http://127.0.0.1"}:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    get openSockets() {
      return sockets.size;
    },
    get bytesWritten() {
      return [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, closedBytes);
    },
    nextRequest: () => new Promise((resolve) => requestWaiters.push(resolve)),
    nextClose: () => new Promise((resolve) => closeWaiters.push(resolve)),
    script(next) {
      answerTo = typeof next === "function" ? next : inOrder(next);
    },
    async stop() {
      const closed = new Promise<void>((resolve) => {
        // If the server was stopped before, `close` reports an error, which does not matter here.
        server.close(() => resolve());
      });
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** @returns a function that gives the replies in order, and repeats the last one */
function inOrder(replies: readonly Reply[]): () => Reply {
  const left = [...replies];
  return () => (left.length > 1 ? left.shift() : left[0]) ?? {};
}

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body,
    get json() {
      return JSON.parse(body) as Record<string, unknown>;
    },
  };
}

async function answer(reply: Reply, response: ServerResponse): Promise<void> {
  const chunks = reply.chunks ?? [];
  if (reply.hang === true && chunks.length === 0 && reply.status === undefined) return;
  if (reply.cut === true && chunks.length === 0 && reply.status === undefined) return void response.socket?.destroy();
  const type = chunks[0]?.json === undefined ? "text/event-stream" : "application/json";
  response.writeHead(reply.status ?? 200, { "content-type": type, ...reply.headers });
  response.flushHeaders();
  for (const chunk of chunks) {
    await chunk.after;
    if (chunk.afterMs !== undefined) await wait(chunk.afterMs);
    const bytes = bytesOf(chunk);
    for (let count = chunk.repeat ?? 1; count > 0; count--) await write(response, bytes);
  }
  // The client must receive the written bytes before the socket ends.
  if (reply.cut === true) response.socket?.destroySoon();
  else if (reply.hang !== true) response.end();
}

async function write(response: ServerResponse, bytes: string | Uint8Array): Promise<void> {
  if (response.destroyed) throw new Error("the other side has left");
  if (response.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off("drain", go).off("close", go);
      resolve();
    };
    response.on("drain", go).on("close", go);
  });
}

function bytesOf(chunk: Chunk): string | Uint8Array {
  if (chunk.bytes !== undefined) return chunk.bytes;
  if (chunk.json !== undefined) return JSON.stringify(chunk.json);
  return sse(...(chunk.sse ?? []));
}

/** Events as the text of a stream. */
export const sse = (...events: readonly unknown[]): string => events.map(event).join("");

function event(data: unknown): string {
  if (typeof data === "string") return `data: ${data}\n\n`;
  const type = (data as { type?: unknown } | null)?.type;
  return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

/** A chat completion chunk. */
export const chatChunk = (delta: unknown, finishReason: string | null = null, more: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finishReason }],
  ...more,
});

/** A complete stream of chat completions, with these words as deltas. */
export const chatStream = (...words: readonly string[]): Reply => ({
  chunks: [
    {
      sse: [
        chatChunk({ role: "assistant", content: "" }),
        ...words.map((content) => chatChunk({ content })),
        chatChunk({}, "stop"),
        { choices: [], usage: { prompt_tokens: 12, completion_tokens: words.length, total_tokens: 12 + words.length } },
        "[DONE]",
      ],
    },
  ],
});

/** A complete chat completion. */
export const chatAnswer = (message: unknown, finishReason = "stop", more: object = {}): Reply => ({
  chunks: [
    {
      json: {
        id: "chatcmpl-1",
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason: finishReason }],
        usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
        ...more,
      },
    },
  ],
});

/** A complete response with these items. */
export const responsesAnswer = (...output: readonly object[]): Reply => ({
  chunks: [{ json: { id: "resp_1", object: "response", status: "completed", output } }],
});
