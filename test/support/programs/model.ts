/**
 * A scripted model that behaves as an agent expects: it calls the tools of a task one after another, each when the conversation contains the result
 * of the previous one, and then says its last words. Other requests, such as the one for a title, get a short text.
 */
import { claudeMessage, claudeStream } from "../providers/anthropic.ts";
import {
  type Received,
  type Reply,
  chatAnswer,
  chatChunk,
  chatStream,
  responsesAnswer,
} from "../providers/upstream.ts";

export interface ToolStep {
  /** Name of the tool. */
  readonly name: string;
  readonly input: object;
}

interface Format {
  readonly path: RegExp;
  /** Number of tool results in a request. */
  readonly results: (json: Received["json"]) => number;
  readonly call: (step: ToolStep, number: number) => Reply;
  readonly text: (words: string, isStream: boolean) => Reply;
}

const items = (value: unknown): readonly Record<string, unknown>[] => (Array.isArray(value) ? value : []);

const chat: Format = {
  path: /\/chat\/completions$/,
  results: ({ messages }) => items(messages).filter(({ role }) => role === "tool").length,
  call: ({ name, input }, number) => {
    const call = {
      index: 0,
      id: `call_${number}`,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    };
    return {
      chunks: [{ sse: [chatChunk({ role: "assistant", tool_calls: [call] }), chatChunk({}, "tool_calls"), "[DONE]"] }],
    };
  },
  text: (words, isStream) => (isStream ? chatStream(words) : chatAnswer({ role: "assistant", content: words })),
};

export const thoughtSignature = "c2lnbmVk";
const messages: Format = {
  path: /\/messages$/,
  results: ({ messages: turns }) =>
    items(turns)
      .flatMap(({ content }) => items(content))
      .filter(({ type }) => type === "tool_result").length,
  call: ({ name, input }, number) =>
    claudeStream(
      [
        [
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "I go on." },
          { type: "signature_delta", signature: thoughtSignature },
        ],
        [
          { type: "tool_use", id: `toolu_${number}`, name, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(input) },
        ],
      ],
      "tool_use",
    ),
  text: (words, isStream) =>
    isStream
      ? claudeStream([
          [
            { type: "text", text: "" },
            { type: "text_delta", text: words },
          ],
        ])
      : claudeMessage([{ type: "text", text: words }]),
};

function responsesStream(item: object): Reply {
  const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
  const usage = { input_tokens: 900, output_tokens: 30, total_tokens: 930 };
  const events = [
    { type: "response.created", response },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, status: "completed", output: [item], usage } },
  ];
  return { chunks: [{ sse: events }] };
}

const responses: Format = {
  path: /\/responses$/,
  results: ({ input }) => items(input).filter(({ type }) => String(type).endsWith("_call_output")).length,
  call: ({ name, input }, number) =>
    responsesStream({
      type: "function_call",
      id: `fc_${number}`,
      call_id: `call_${number}`,
      name,
      arguments: JSON.stringify(input),
      status: "completed",
    }),
  text: (words, isStream) => {
    const content = [{ type: "output_text", text: words, annotations: [] }];
    const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content };
    return isStream ? responsesStream(message) : responsesAnswer(message);
  },
};

/** Dialects of the scripted model. */
export const programDialects = ["chat", "messages", "responses"] as const;
export type ModelDialect = (typeof programDialects)[number];
const formats: readonly Format[] = [chat, messages, responses];

function formatOf(request: Received): Format | undefined {
  const [path = ""] = request.path.split("?");
  return formats.find((each) => each.path.test(path));
}

const notFound = ({ path }: Received): Reply => ({
  status: 404,
  chunks: [{ json: { error: { message: `there is no ${path}` } } }],
});

/** Whether a request belongs to the task: it has the tool of the first step. */
const hasTool = ({ json }: Received, [step]: readonly ToolStep[]): boolean =>
  step === undefined || JSON.stringify(json["tools"] ?? []).includes(JSON.stringify(step.name));

/** @param words text of the model @returns its answer in the format of the request */
export function replyInText(request: Received, words: string): Reply {
  const format = formatOf(request);
  return format ? format.text(words, request.json["stream"] === true) : notFound(request);
}

/** @param steps tools called by the model @param last last words of the model @returns a function to answer each request to the provider */
export const scriptedModel =
  (steps: readonly ToolStep[], last: string) =>
  (request: Received): Reply => {
    const format = formatOf(request);
    if (!format) return notFound(request);
    if (!hasTool(request, steps)) return replyInText(request, "A title");
    const number = format.results(request.json);
    const step = steps[number];
    return step ? format.call(step, number) : replyInText(request, last);
  };
