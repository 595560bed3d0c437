/** A provider for the warm-up, with a constant answer in the format of chat completions. */
import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loopback } from "@sluice/proto/lib/warm-up/peer.js";

const usage = { prompt_tokens: 212, completion_tokens: 24, total_tokens: 236 };
const word = " another";
const words = 5;

const head = { id: "chatcmpl-1", created: 1_760_000_000, model: "echo" };

const message = { role: "assistant", content: word.repeat(words) };
const plainAnswer = { ...head, object: "chat.completion" };

/** Two answers with different members, because V8 specializes code for object shapes. */
const wholeAnswers: readonly string[] = [
  { ...plainAnswer, choices: [{ index: 0, message, finish_reason: "stop" }], usage },
  {
    ...plainAnswer,
    choices: [{ index: 0, message: { ...message, refusal: null }, logprobs: null, finish_reason: "stop" }],
    usage: {
      ...usage,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    service_tier: "default",
    system_fingerprint: null,
  },
].map((answer) => JSON.stringify(answer));

const event = (fields: object): string =>
  `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}\n\n`;

const choice = (delta: object, finishReason: string | null): string =>
  event({ choices: [{ index: 0, delta, finish_reason: finishReason }] });

const firstEvent = choice({ role: "assistant", content: "" }, null);
const wordEvent = choice({ content: word }, null);
const lastEvents = `${choice({}, "stop")}${event({ choices: [], usage })}data: [DONE]\n\n`;

export interface ProviderPeer {
  readonly baseUrl: string;
  close(): void;
}

export async function openProviderPeer(): Promise<ProviderPeer> {
  let requests = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => answer(response, requests++, body.includes('"stream":true')));
  });
  server.listen(0, loopback);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://${loopback}:${port}/v1`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(response: ServerResponse, number: number, isStream: boolean): void {
  if (!isStream) {
    response.setHeader("content-type", "application/json");
    return void response.end(wholeAnswers[number % wholeAnswers.length]);
  }
  response.setHeader("content-type", "text/event-stream");
  response.write(firstEvent);
  let left = words;
  // Sends each word in a separate turn of the event loop, like a real model.
  const next = () => {
    if (left-- === 0) return void response.end(lastEvents);
    response.write(wordEvent);
    setImmediate(next);
  };
  next();
}
