/** Parsed server tools, and answers of providers that call them. */
import type { HostedTool } from "@sluice/inference-svc/turn/request.js";
import { type Reply, chatAnswer, chatChunk } from "./providers/upstream.ts";

export const hosted = (kind: string, parameters: object = {}, spelling = kind): HostedTool => ({
  type: "hosted",
  kind,
  spelling,
  json: JSON.stringify({ type: spelling, parameters }),
});

export const datetime = (parameters: object = {}, spelling = "service:datetime"): HostedTool =>
  hosted("service:datetime", parameters, spelling);

export interface Call {
  readonly name?: string;
  readonly args?: unknown;
  readonly id?: string;
}

export const toolCalls = (calls: readonly Call[]) =>
  calls.map(({ name = "service_datetime", args = {}, id }, index) => ({
    index,
    id: id ?? `call_${index}`,
    type: "function",
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));

export const callReply = (...calls: readonly Call[]): Reply =>
  chatAnswer({ role: "assistant", content: null, tool_calls: toolCalls(calls) }, "tool_calls");

export const callReplyStream = (words: string, ...calls: readonly Call[]): Reply => ({
  chunks: [
    {
      sse: [
        ...(words === "" ? [] : [chatChunk({ role: "assistant", content: words })]),
        ...toolCalls(calls).map((call) => chatChunk({ tool_calls: [call] })),
        chatChunk({}, "tool_calls"),
        { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
        "[DONE]",
      ],
    },
  ],
});

export const textReply = (content: string): Reply => chatAnswer({ role: "assistant", content });
