/** A provider that counts calls by the text of the first message. On request, it ends an answer only at a client's signal. */
import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { chatChunk, sse } from "../../support/providers/upstream.ts";

/** Text of every answer. */
export const answerText = "first second";
const answerMs = 20;
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };

export interface CountingProvider {
  readonly url: string;
  /** Number of calls by text. */
  readonly calls: ReadonlyMap<string, number>;
  /** Holds answers to this text back, until the returned function is called. */
  hold(text: string): () => void;
  stop(): Promise<void>;
}

export async function startCountingProvider(): Promise<CountingProvider> {
  const calls = new Map<string, number>();
  const held = new Map<string, Promise<void>>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly stream?: boolean;
        readonly messages: readonly { readonly content: string }[];
      };
      const text = body.messages[0]?.content ?? "";
      calls.set(text, (calls.get(text) ?? 0) + 1);
      const isOver = Promise.all([wait(answerMs), held.get(text)]);
      void (body.stream === true ? stream(response, isOver) : answer(response, isOver));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    hold(text) {
      let release = () => {};
      held.set(text, new Promise((resolve) => (release = resolve)));
      return () => {
        held.delete(text);
        release();
      };
    },
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function stream(response: ServerResponse, isOver: Promise<unknown>): Promise<void> {
  const [first = "", second = ""] = answerText.split(/(?= )/);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(sse(chatChunk({ content: first })));
  await isOver;
  response.end(sse(chatChunk({ content: second }), chatChunk({}, "stop"), { choices: [], usage }, "[DONE]"));
}

async function answer(response: ServerResponse, isOver: Promise<unknown>): Promise<void> {
  await isOver;
  const message = { role: "assistant", content: answerText };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "chatcmpl-1", object: "chat.completion", choices, usage }));
}
