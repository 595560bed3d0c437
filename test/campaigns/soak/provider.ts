/** A provider on raw sockets, scripted by the path of a request. It remembers nothing about finished requests, of which there may be any number. */
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import {
  type SocketFailure,
  httpChunk,
  lastChunk,
  parseCompletePath,
  streamHead,
} from "../../support/providers/faulty-provider.ts";
import { chatChunk, sse } from "../../support/providers/upstream.ts";

export interface Provider {
  /** URL such as http://127.0.0.1:port; the first part of a path names a script. */
  readonly url: string;
  /** Number of open sockets. */
  readonly sockets: number;
  /** Reports that the client has read something of the answer to the request with this tag. */
  seen(tag: string): void;
  stop(): Promise<void>;
}

export async function startSoakProvider(acts: Readonly<Record<string, SocketFailure>>): Promise<Provider> {
  const open = new Set<Socket>();
  const waiting = new Map<string, () => void>();
  const server = createServer((socket) => {
    open.add(socket);
    let text = "";
    let tag = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const path = parseCompletePath(text);
      if (path === undefined) return;
      waiting.delete(tag);
      tag = /soak-\d+/.exec(text)?.[0] ?? "";
      text = "";
      const seen = new Promise<void>((resolve) => waiting.set(tag, resolve));
      acts[path.split("/")[1] ?? ""]?.(socket, seen);
    });
    // Sluice may close the connection at any time.
    socket.on("error", () => {});
    socket.on("close", () => {
      open.delete(socket);
      waiting.delete(tag);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get sockets() {
      return open.size;
    },
    seen: (tag) => waiting.get(tag)?.(),
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

const delta = httpChunk(sse(chatChunk({ content: " another" })));
const head = Buffer.concat([Buffer.from(streamHead), httpChunk(sse(chatChunk({ role: "assistant", content: "" })))]);
const usage = { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32 };
const tail = Buffer.concat([
  httpChunk(sse(chatChunk({}, "stop"), { choices: [], usage }, "[DONE]")),
  Buffer.from(lastChunk),
]);

/** A well-behaved stream of one second. */
export const pacedStream: SocketFailure = (socket) => {
  let left = 20;
  socket.write(head);
  const timer = setInterval(() => {
    if (socket.writable && left-- > 0) return void socket.write(delta);
    clearInterval(timer);
    if (socket.writable) socket.write(tail);
  }, 50);
};

const longAnswer = Buffer.concat([head, ...Array.from({ length: 2_000 }, () => delta), tail]);

/** An answer larger than the socket buffers, so it blocks without a reader. */
export const longAnswerAct: SocketFailure = (socket) => void socket.write(longAnswer);
