/** The chat completions operation. */
import { chatExamples, chunkExample, completionExample } from "../examples/chat.ts";
import { chatCompletion, chatChunk } from "../chat/answer.ts";
import { chatRequestShape } from "../chat/request.ts";
import { errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { turnHeaders } from "./headers.ts";
import { eventStream, example, json, operation } from "@sluice/proto/contract/operations/operation.js";

/** Rules of chat completions that JSON Schema cannot express. */
const beyondTheSchema = [
  "A model is needed: `model` or `models` names it.",
  "A message of role `tool` names a call before it by `tool_call_id`, one of role `function` the last call of its name without a result.",
  "`max_tokens` and `max_completion_tokens` agree where both are given, and so do `reasoning_effort` and `reasoning.effort`; `functions` is not combined with `tools`; `top_logprobs` needs `logprobs: true`.",
  "Server tools have the form that they have at `POST /responses`, and its rules; a tool of an unknown `type` is refused. Tools whose calls the client answers by items of their own (computer, shells, apply_patch, MCP with approvals, subagents that inherit functions) need `POST /responses`.",
  "`type` stands beside `function`, `custom` and `json_schema`, not in them.",
  "`reasoning_details` of an answer go back unchanged in its assistant message, so that the provider recognizes its own reasoning.",
];

export const createChatCompletion = operation({
  path: "/chat/completions",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Answer chat messages",
  description:
    "Takes a request in the format of chat completions, and does with it what `POST /responses` does: routing, guardrails, plugins, limits, " +
    "budgets and errors are the same. A failure after the beginning of a stream is a chunk with `error` and the `finish_reason` " +
    '"error".\n\nRules beyond the schema:\n\n' +
    beyondTheSchema.map((rule) => `- ${rule}`).join("\n"),
  headers: turnHeaders,
  body: json(chatRequestShape, chatExamples),
  answer: {
    description: "The completion, or its chunks.",
    content: [
      json(chatCompletion, example(completionExample)),
      eventStream(
        chatChunk,
        example(chunkExample, "The data of one event"),
        "Each event is a `data:` line with one JSON object of this schema; `data: [DONE]` comes last.",
      ),
    ],
  },
  // A chat completion never conflicts with another request, so there is no status 409.
  statuses: errorStatuses.filter((status) => status !== 409),
});
