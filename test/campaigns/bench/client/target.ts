/** The server under load, with the form of its requests and answers. */
import { type Script, hasJsonAnswer, modelOf } from "../script.ts";
import { longRequest } from "./long-request.ts";

/** Formats of requests. Sluice accepts all of them; `chat` is the format of the upstream, and the only one of the pipe. */
export type Format = "responses" | "chat" | "messages";

export interface LoadTarget {
  readonly port: number;
  readonly format: Format;
  readonly key: string;
  /** Path before `/v1`; empty by default. */
  readonly base?: string;
  /** The server may send other deltas than the upstream: a guardrail cuts the text at other places, and some servers add a delta. */
  readonly changesDeltas?: true;
  /** Additional headers of requests to this server. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A text that occurs exactly once in each delta of a stream. */
export const deltaMarkers: Readonly<Record<Format, Buffer>> = {
  responses: Buffer.from("event: response.output_text.delta\n"),
  chat: Buffer.from('"delta":{"content":'),
  messages: Buffer.from("event: content_block_delta\n"),
};

/** A text that occurs once in a successful stream, and never in a failed one. */
export const successMarkers: Readonly<Record<Format, Buffer>> = {
  responses: Buffer.from("event: response.completed\n"),
  chat: Buffer.from('"finish_reason":"stop"'),
  messages: Buffer.from("event: message_stop\n"),
};

const instructions =
  "You are the assistant of a platform team. Answer in short sentences and name the service that you talk about. " +
  "Never invent a figure: say that you do not know it.";
const question =
  "Our gateway forwards requests to several providers. Since this morning some answers begin late, though the provider's own dashboard " +
  "shows nothing unusual. We have compared two regions, both with the same configuration, and only one of them is affected. The log says " +
  "that the connection was opened in time. Which three things would you look at first, in which order, and what would each of them tell us? " +
  "Assume that we can read metrics of the gateway, of the service behind it and of the network between them, that we can repeat a single " +
  "request by hand, and that we do not want to restart anything before we have understood what is happening. Keep it under two hundred words.";

const paths: Readonly<Record<Format, string>> = {
  responses: "responses",
  chat: "chat/completions",
  messages: "messages",
};

/** Token limit, which Anthropic's format requires; no answer of the mock upstream reaches it. */
const max_tokens = 4_096;

export interface RequestForm {
  /** Text by which the upstream recognises the request. */
  readonly tag?: string;
  /** Whether the request has 20 KB, not 1 KB. */
  readonly long?: boolean;
}

export function buildRequestBody(
  { format }: LoadTarget,
  script: Script,
  { tag, long = false }: RequestForm = {},
): string {
  const model = modelOf(script);
  const stream = !hasJsonAnswer(script);
  if (long) {
    const limits = format === "messages" ? { max_tokens } : {};
    return JSON.stringify({ model, stream, ...limits, ...longRequest[format] });
  }
  const text = tag === undefined ? question : `${question} tag:${tag}`;
  if (format === "responses") {
    const input = [{ type: "message", role: "user", content: [{ type: "input_text", text }] }];
    return JSON.stringify({ model, instructions, input, stream });
  }
  const user = { role: "user", content: text };
  if (format === "messages")
    return JSON.stringify({ model, system: instructions, messages: [user], stream, max_tokens });
  const messages = [{ role: "system", content: instructions }, user];
  return JSON.stringify({ model, messages, stream, ...(stream && { stream_options: { include_usage: true } }) });
}

/** A whole HTTP/1.1 request, ready for the socket. */
export function requestBytes(target: LoadTarget, script: Script, form?: RequestForm): Buffer {
  const body = buildRequestBody(target, script, form);
  const path = `${target.base ?? ""}/v1/${paths[target.format]}`;
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${target.port}`,
    `authorization: Bearer ${target.key}`,
    "content-type: application/json",
    ...Object.entries(target.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
